# Reduces lines of complete,samples,sampled_rows,model_rows, one for each sentence, to a line of means.
# The rows of sbs are those that it evaluated; those of reject are what its samples cost one by one.
{
    rows[NR] = method == "reject" ? $3 : $4
    samples += method == "reject" ? $2 : k
    total += rows[NR]
    evaluated += $4
    censored += $1 == "false"
}
END {
    for (i = 2; i <= NR; i++) {
        x = rows[i]
        for (j = i - 1; j > 0 && rows[j] > x; j--)
            rows[j + 1] = rows[j]
        rows[j + 1] = x
    }
    median = NR % 2 ? rows[(NR + 1) / 2] : (rows[NR / 2] + rows[NR / 2 + 1]) / 2
    printf "%s,%d,%s,%d,%d,%.6g,%.6g,%.6g,%.6g,%s\n", method, k, temperature, NR, censored,
        samples / NR, total / NR, median, evaluated / NR, seconds
}
