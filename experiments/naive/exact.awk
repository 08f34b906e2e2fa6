# Computes the exact shares of sampling without replacement on the chain of model.awk, by quadrature:
#   awk -v m=10 -v k=5 -v len=4 -v rare1=0.01 -v rare2=0.001 -f exact.awk
# prints "inclusion of u", "inclusion of v" and "some two share their first token".
#
# Let every sequence ring at an exponential time with its probability as rate; the first k to ring are
# the sample. A sequence of rate r is among them if fewer than k others rang before it:
#   integral of r exp(-r t) P(N(t) < k) dt,
# where N(t) is a sum of independent indicators. No two share their first token if the k-th ring at t is
# the first of its group, k - 1 other groups have rung once and the rest not at all.

# Multiplies the polynomial p of degree below k by (a + b x)^n, cut at degree k - 1.
function times(p, a, b, n,    i, j, q, c, log_choose) {
    log_choose = 0
    for (i = 0; i < k; i++) {
        if (i > n || (a <= 0 && i < n) || (b <= 0 && i > 0))
            c[i] = 0
        else
            c[i] = exp(log_choose + (i < n ? (n - i) * log(a) : 0) + (i > 0 ? i * log(b) : 0))
        if (i < n)
            log_choose += log((n - i) / (i + 1))
    }
    for (i = k - 1; i >= 0; i--) {
        q = 0
        for (j = 0; j <= i; j++)
            q += p[j] * c[i - j]
        p[i] = q
    }
}

function one(p,    i) {
    for (i = 0; i < k; i++)
        p[i] = 0
    p[0] = 1
}

# Returns P(fewer than k of the others rang by t); the sequence of rate `self` is left out.
function few(t, self,    p, j, q, sum) {
    one(p)
    for (j = 0; j < len; j++) {
        q = exp(-rate[j] * t)
        times(p, q, 1 - q, copies[j] * m)
    }
    q = exp(-(rare1 + rare2 - self) * t)
    times(p, q, 1 - q, 1)
    sum = 0
    for (j = 0; j < k; j++)
        sum += p[j]
    return sum
}

# Returns the density at t of the k-th ring, with all k in groups of their own.
function apart(t,    p, j, none, once, a, b, density) {
    none = exp(-group * t)
    once = 0
    for (j = 0; j < len; j++)
        once += copies[j] * (exp(-(group - rate[j]) * t) - none)
    a = exp(-rare1 * t)
    b = exp(-rare2 * t)
    one(p)
    times(p, none, once, m - 1)
    times(p, a, 1 - a, 1)
    times(p, b, 1 - b, 1)
    density = m * group * none * p[k - 1]
    one(p)
    times(p, none, once, m)
    times(p, b, 1 - b, 1)
    density += rare1 * a * p[k - 1]
    one(p)
    times(p, none, once, m)
    times(p, a, 1 - a, 1)
    return density + rare2 * b * p[k - 1]
}

BEGIN {
    group = (1 - rare1 - rare2) / m
    copies[0] = 1
    rate[0] = group * 0.9 ^ (len - 1)
    for (j = 1; j < len; j++) {
        copies[j] = copies[j - 1] * (len - j) / j
        rate[j] = rate[j - 1] / 9
    }
    # Simpson's rule in log t: t from 1e-9 to 1e6.
    steps = steps ? steps : 400
    low = log(1e-9)
    width = (log(1e6) - low) / steps
    for (i = 0; i <= steps; i++) {
        t = exp(low + i * width)
        weight = (i == 0 || i == steps ? 1 : i % 2 ? 4 : 2) * width / 3 * t
        in1 += weight * rare1 * exp(-rare1 * t) * few(t, rare1)
        in2 += weight * rare2 * exp(-rare2 * t) * few(t, rare2)
        alone += weight * apart(t)
    }
    printf "%.10g %.10g %.10g\n", in1, in2, 1 - alone
}
