# Prints the total variation between the sets that a method draws and sampling without replacement:
#   awk -F '\t' -v k=2 -v marks='1000 10000' -f distance.awk LEAVES DRAWS
# LEAVES is a draw of every leaf, DRAWS the draws, both -f tsv. After each number of draws in `marks` it
# prints a line: draws, TV of sets, its expectation for an exact sampler, and both for the first sequence.

# Computes the probability of every set of k leaves: the sum over its orders (Plackett-Luce).
function add_orders(depth, left, probability, set,    i) {
    if (depth == k) {
        law[set] += probability
        return
    }
    for (i = 1; i <= n; i++)
        if (substr(set, i, 1) == "0")
            add_orders(depth + 1, left - p[i], probability * p[i] / left,
                substr(set, 1, i - 1) "1" substr(set, i + 1))
}

# Returns log Gamma(x), x >= 1, by Stirling's series from 10 on; its error is below 1e-12.
function log_gamma(x,    shift, tail) {
    for (shift = 0; x < 10; x++)
        shift -= log(x)
    tail = (1 / 12 - (1 / 360 - (1 / 1260 - 1 / 1680 / x ^ 2) / x ^ 2) / x ^ 2) / x
    return shift + (x - 0.5) * log(x) - x + 0.91893853320467274 + tail
}

# Returns the mean of |X - Nq|, X binomial (N, q), by De Moivre's formula.
function mean_deviation(N, q,    m, log_choose) {
    if (q <= 0 || q >= 1)
        return 0
    m = int(N * q) + 1
    if (m > N)
        m = N
    log_choose = log_gamma(N + 1) - log_gamma(m + 1) - log_gamma(N - m + 1)
    return 2 * m * exp(log_choose + m * log(q) + (N - m + 1) * log(1 - q))
}

function report(    set, i, tv, floor, tv1, floor1) {
    tv = floor = tv1 = floor1 = 0
    for (set in law) {
        tv += abs(count[set] / draws - law[set])
        floor += mean_deviation(draws, law[set]) / draws
    }
    for (set in count)
        if (!(set in law))
            tv += count[set] / draws
    for (i = 1; i <= n; i++) {
        tv1 += abs(first[i] / draws - p[i])
        floor1 += mean_deviation(draws, p[i]) / draws
    }
    printf "%d,%.6g,%.6g,%.6g,%.6g\n", draws, tv / 2, floor / 2, tv1 / 2, floor1 / 2
}

function abs(x) {
    return x < 0 ? -x : x
}

BEGIN {
    n_marks = split(marks, mark, " ")
    for (i = 1; i <= n_marks; i++)
        is_mark[mark[i]]
}
FNR == 1 {
    file++
    if (file == 2) {
        none = sprintf("%0" n "d", 0)
        add_orders(0, total, 1, none)
    }
    next
}
file == 1 {
    number[$14] = ++n
    p[n] = exp($9)
    total += p[n]
    next
}
{
    i = number[$14]
    if ($8 == 1) {
        set = none
        first[i]++
    }
    set = substr(set, 1, i - 1) "1" substr(set, i + 1)
    if ($8 == k) {
        count[set]++
        if (++draws in is_mark)
            report()
    }
}
