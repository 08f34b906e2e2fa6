# Prints the tables of the report: awk -F , -v table=claims|findings -f findings.awk evaluations.csv
NR > 1 {
    key = $2 "," $3 "," $4
    if ($1 == "sbs")
        order[++n] = key
    cold[key] = $3 <= 0.25
    rows[$1, key] = $8
    evaluated[$1, key] = $10
    samples[$1, key] = $7
    given_up[key] = $6 "/" $5
    ms[$1, key] = 1000 * ($11 - $12) / $5
    if ($1 == "sbs")
        sbs_rows[$2] = sbs_rows[$2] " " $8
}
END {
    for (i = 1; i <= n; i++) {
        key = order[i]
        if (table == "findings")
            printf "%s,%.0f,%.0f,%.0f,%s,%.0f,%.1f,%.1f\n", key, rows["sbs", key], samples["reject", key],
                rows["reject", key], given_up[key], evaluated["reject", key], ms["sbs", key], ms["reject", key]
        if (cold[key]) {
            n_cold++
            rows_held += rows["reject", key] > rows["sbs", key]
            time_held += ms["reject", key] > ms["sbs", key]
        }
    }
    for (k in sbs_rows) {
        n_ks++
        n_rows = split(sbs_rows[k], list, " ")
        least = most = list[1]
        for (i = 2; i <= n_rows; i++) {
            least = list[i] < least ? list[i] : least
            most = list[i] > most ? list[i] : most
        }
        flat_held += most < 1.2 * least
    }
    if (table == "claims") {
        print "the rows of sbs hardly depend on T (largest below 1.2 times the smallest)," flat_held + 0 "," n_ks + 0
        print "for T <= 0.25 rejection one sample after the other needs more rows than sbs," rows_held + 0 "," n_cold + 0
        print "for T <= 0.25 rejection takes longer than sbs (common prefixes evaluated once)," time_held + 0 "," n_cold + 0
    }
}
