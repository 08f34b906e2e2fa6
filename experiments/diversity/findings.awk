# Compares the paper's claims with diversity.csv; table is equal, best or claims.
#
# equal   compares each point of diverse beam search with Stochastic Beam Search at equal diversity,
#         whose curve is interpolated between temperatures; points outside of the curve are left out
# best    the maximum BLEU of k translations for each temperature
# claims  how often the paper's claims held
NR == 1 {
    for (i = 1; i <= NF; i++)
        at[$i] = i
    next
}

{
    method = $at["method"]
    k = $at["k"]
    level = method == "diverse" ? $at["strength"] : $at["temperature"]
    if (!(k in seen_k)) {
        seen_k[k] = 1
        ks[++n_ks] = k
    }
    i = ++n[method, k]
    levels[method, k, i] = level
    diversity[method, k, i] = $at["diversity"]
    mean[method, k, i] = $at["bleu_mean"]
    max[method, k, i] = $at["bleu_max"]
    place[method, k, level] = i
}

function claim(text, held, cases) {
    print text "," held + 0 "," cases + 0
}

function between(x, x0, x1, y0, y1) {
    return x1 == x0 ? (y0 + y1) / 2 : y0 + (y1 - y0) * (x - x0) / (x1 - x0)
}

function equal_diversity(k, i, j, x, x0, x1, m, b) {
    for (i = 1; i <= n["diverse", k]; i++) {
        x = diversity["diverse", k, i]
        for (j = 1; j < n["sbs", k]; j++) {
            x0 = diversity["sbs", k, j]
            x1 = diversity["sbs", k, j + 1]
            if (x < x0 || x > x1)
                continue
            m = between(x, x0, x1, mean["sbs", k, j], mean["sbs", k, j + 1])
            b = between(x, x0, x1, max["sbs", k, j], max["sbs", k, j + 1])
            if (table == "equal")
                printf "%d,%s,%.3f,%.2f,%.2f,%+.2f,%.2f,%.2f,%+.2f\n", k,
                    levels["diverse", k, i], x, mean["diverse", k, i], m, m - mean["diverse", k, i],
                    max["diverse", k, i], b, b - max["diverse", k, i]
            cases++
            mean_held += m > mean["diverse", k, i]
            max_held += b > max["diverse", k, i]
            break
        }
    }
}

function best_of_k(k, i, j, s, level) {
    for (i = 1; i <= n["sbs", k]; i++) {
        level = levels["sbs", k, i]
        j = place["beam", k, level]
        s = place["sample", k, level]
        if (table == "best")
            printf "%d,%s,%.2f,%.2f,%+.2f,%.2f,%.3f,%.3f\n", k, level, max["beam", k, j],
                max["sbs", k, i], max["sbs", k, i] - max["beam", k, j], max["sample", k, s],
                diversity["beam", k, j], diversity["sbs", k, i]
        if (level < 0.5) {
            low++
            near += max["sbs", k, i] > max["beam", k, j] - 1
            above += max["sbs", k, i] > max["sample", k, s]
            wider += diversity["sbs", k, i] > diversity["beam", k, j]
        }
    }
}

END {
    for (i_k = 1; i_k <= n_ks; i_k++) {
        equal_diversity(ks[i_k])
        best_of_k(ks[i_k])
    }
    if (table == "claims") {
        equal = "at equal diversity SBS has a higher "
        low_t = "for T < 0.5 the maximum BLEU of SBS is "
        claim(equal "mean BLEU than diverse beam search", mean_held, cases)
        claim(equal "maximum BLEU than diverse beam search", max_held, cases)
        claim(low_t "at most 1 point below that of beam search", near, low)
        claim(low_t "above that of sampling with replacement", above, low)
        claim("for T < 0.5 SBS is more diverse than beam search", wider, low)
    }
}
