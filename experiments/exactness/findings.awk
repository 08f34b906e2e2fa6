# Prints the tables of the report: awk -F , -v table=claims|findings -f findings.awk exactness.csv
# Each case is represented by its last line, which has the most draws.
NR > 1 {
    case_ = $1 "," $2 "," $3
    if (!(case_ in seen)) {
        seen[case_]
        order[++n] = case_
    }
    draws[case_] = $5
    tv[case_, $4] = $6
    first[case_, $4] = $8
    expected[case_] = $7
    expected_first[case_] = $9
}
END {
    n_methods = split("sbs sbs-again resample commit beam-sample", method, " ")
    for (i = 1; i <= n; i++)
        for (m = 1; m <= n_methods; m++) {
            if (!((order[i], method[m]) in tv))
                continue
            distance = tv[order[i], method[m]]
            if (table == "findings")
                printf "%s,%s,%d,%.4f,%.4f,%.4f,%.4f\n", order[i], method[m], draws[order[i]], distance,
                    expected[order[i]], first[order[i], method[m]], expected_first[order[i]]
            if (m <= 2) {
                exact++
                exact_held += distance < 1.5 * expected[order[i]]
            } else {
                biased++
                biased_held += distance > 2 * expected[order[i]]
            }
        }
    if (table == "claims") {
        print "the sets of sbs are as near as those of an exact sampler (at most 1.5 times its expected distance)," exact_held + 0 "," exact + 0
        print "the sets of a shortcut are not (over twice that distance)," biased_held + 0 "," biased + 0
    }
}
