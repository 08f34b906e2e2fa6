# Prints the tables of the report: awk -F , -v table=claims|findings -f findings.awk rare.csv siblings.csv
FNR == 1 {
    file++
    next
}
file == 1 {
    key = $2 "," $4 "," $3
    if ($1 == "sbs")
        order[++n] = key
    exact[key] = $10
    share[$1, key] = $7
    # If few or none were seen, the standard error is that of the exact share.
    se[key] = sqrt($10 * (1 - $10) / $5)
    length_of[key] = $3
}
file == 2 && $1 == "commit" {
    groups++
    apart += $5 == 0
}
file == 2 && $1 == "sbs" {
    siblings++
    siblings_held += ($5 - $7) ^ 2 <= 16 * ($7 * (1 - $7) / $4 + 1e-18)
}
END {
    for (i = 1; i <= n; i++) {
        key = order[i]
        if (table == "findings") {
            printf "%s,%.4g,%.4g", key, exact[key], share["sbs", key]
            printf ",%.4g,%.3g", share["resample", key], share["resample", key] / exact[key]
            printf ",%.4g,%.3g\n", share["commit", key], share["commit", key] / exact[key]
        }
        sbs_held += (share["sbs", key] - exact[key]) ^ 2 <= 16 * se[key] ^ 2
        if (length_of[key] > 1) {
            longer++
            resample_held += share["resample", key] < exact[key] - 4 * se[key]
        }
    }
    if (table == "claims") {
        print "sbs holds a rare sequence as often as the exact law (within 4 standard errors)," sbs_held + 0 "," n
        print "sbs holds two sequences of one first token as often as the exact law (within 4 standard errors)," siblings_held + 0 "," siblings
        print "beyond length 1 resample holds a rare sequence less often (by over 4 standard errors)," resample_held + 0 "," longer
        print "no two sequences of commit share their first token," apart + 0 "," groups
    }
}
