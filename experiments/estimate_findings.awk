# Compares the paper's claims with truth.csv and estimates.csv, read in this order. table is findings
# (standard deviations at some k) or claims (in how many cases each claim held).
FNR == 1 {
    file++
    next
}

file == 1 {
    case_of[++n_cases] = $1 SUBSEP $2
    truth[$1, $2] = $5
    truth_se[$1, $2] = $6
}

file == 2 {
    bias[$1, $2, $3, $4] = $9
    rmse[$1, $2, $3, $4] = $10
    sd[$1, $2, $3, $4] = $11
    draws[$1, $2, $3, $4] = $5
    if ($4 > most)
        most = $4
    if ($3 == "beam")
        beams[++n_beams] = $1 SUBSEP $2 SUBSEP $3 SUBSEP $4
}

function ratio(a, b) {
    return b > 0 ? sprintf("%.2g", a / b) : ""
}

function claim(text, held, cases) {
    print text "," held + 0 "," cases + 0
}

# Returns how far from the truth an estimate may be, by its own noise and that of the truth. A
# millionth is added because the model's rows have single precision and sum to 1 only up to rounding.
function allowed(c, se) {
    return 4 * sqrt(se ^ 2 + truth_se[c] ^ 2) + 1e-6 * truth[c]
}

# Returns whether a mean over draws is the truth, within that distance.
function agrees(c, estimator, k, most_bias) {
    most_bias = allowed(c, sd[c, estimator, k] / sqrt(draws[c, estimator, k]))
    return bias[c, estimator, k] <= most_bias && -bias[c, estimator, k] <= most_bias
}

function row(c, k, part, mc, sbs, normalised) {
    split(c, part, SUBSEP)
    mc = sd[c, "mc", k]
    sbs = sd[c, "sbs", k]
    normalised = sd[c, "sbs-normalised", k]
    if (table == "findings")
        printf "%d,%s,%d,%.5g,%.2g,%.3g,%.3g,%.3g,%s,%.2g,%s\n", part[1], part[2], k, truth[c],
            truth_se[c], mc, sbs, normalised, ratio(normalised, mc), bias[c, "sbs-normalised", k],
            ratio(rmse[c, "sbs-normalised", k], rmse[c, "mc", k])
    if (part[2] <= 0.2) {
        low++
        lower += normalised < mc
    }
    if (part[2] == 0.5) {
        middle++
        similar += normalised <= 1.5 * mc && mc <= 1.5 * normalised
        no_worse += normalised <= 1.5 * mc
    }
    n_rows++
    tamed += normalised < sbs
}

END {
    if (most >= 250)
        n_ks = split("10 50 250", ks, " ")
    else
        n_ks = split("5 " most, ks, " ")
    for (i = 1; i <= n_cases; i++) {
        for (j = 1; j <= n_ks; j++)
            row(case_of[i], ks[j])
        agree_mc += agrees(case_of[i], "mc", most)
        agree_sbs += agrees(case_of[i], "sbs", most)
        agree_normalised += agrees(case_of[i], "sbs-normalised", most)
    }
    for (i = 1; i <= n_beams; i++) {
        split(beams[i], part, SUBSEP)
        below += bias[beams[i]] <= allowed(part[1] SUBSEP part[2], 0)
    }
    if (table == "claims") {
        where = " (4 standard errors and a millionth)"
        claim("for T <= 0.2 normalised SBS has a smaller standard deviation than MC", lower, low)
        claim("at T = 0.5 the two standard deviations are within a factor of 1.5", similar, middle)
        claim("at T = 0.5 that of normalised SBS is at most 1.5 times that of MC", no_worse, middle)
        claim("normalised SBS has a smaller standard deviation than SBS unnormalised", tamed, n_rows)
        claim("at the largest k the mean of MC is the truth" where, agree_mc, n_cases)
        claim("at the largest k the mean of SBS is the truth" where, agree_sbs, n_cases)
        claim("at the largest k the mean of normalised SBS is the truth" where, agree_normalised,
            n_cases)
        claim("beam search without normalisation is never above the truth" where, below, n_beams)
    }
}
