# Counts the draws (-f tsv) that hold a rare sequence, and those with two sequences of one first token.
# at_most: if none was seen, the probability above which seeing none had a chance below 5 %.
NR > 1 {
    if ($8 == 1) {
        n++
        split("", seen)
        shared = 0
    }
    first = $14
    sub(/ .*/, "", first)
    if (first == "u")
        count[1]++
    if (first == "v")
        count[2]++
    if (first in seen && !shared)
        n_shared += shared = 1
    seen[first]
}
END {
    split(rare, p, " ")
    split(exact, law, " ")
    for (i = 1; i <= 2; i++) {
        share = count[i] / n
        se = sqrt(share * (1 - share) / n)
        printf "rare,%s,%d,%d,%g,%d,%d,%.6g,%.3g,%s,%.8g,%.6g,%.3g\n", method, k, len, p[i], n,
            count[i], share, se, (count[i] ? "" : 3 / n), law[i], share / law[i], se / law[i]
    }
    share = n_shared / n
    printf "siblings,%s,%d,%d,%d,%.6g,%.3g,%.8g\n", method, k, len, n, share,
        sqrt(share * (1 - share) / n), law[3]
}
