# Prints a chain whose likely sequences branch at every step and whose rare ones do not:
#   awk -v m=10 -v rare1=0.01 -v rare2=0.001 -f model.awk
# The first token is u or v, which are rare, or one of m others, which are equally likely. u is always
# followed by u and v by v; any other token by x with probability 0.9 or y with 0.1, and so on. So a
# sequence of only u has the probability of its first token at any length.
function row(token,    i, line) {
    line = ""
    for (i = 1; i <= n; i++)
        line = line (i > 1 ? "," : "") (probability[token, i] + 0)
    return "[" line "]"
}
BEGIN {
    n = m + 5
    name[m + 1] = "u"; name[m + 2] = "v"; name[m + 3] = "x"; name[m + 4] = "y"; name[n] = "</s>"
    for (i = 1; i <= m; i++) {
        name[i] = "a" i
        probability["start", i] = sprintf("%.17g", (1 - rare1 - rare2) / m)
    }
    probability["start", m + 1] = rare1
    probability["start", m + 2] = rare2
    for (i = 1; i < n; i++) {
        probability[i, m + 3] = 0.9
        probability[i, m + 4] = 0.1
    }
    for (i = m + 1; i <= m + 2; i++) {
        probability[i, m + 3] = probability[i, m + 4] = 0
        probability[i, i] = 1
    }
    printf "{\"format\":\"sbeam-chain\",\"vocab\":["
    for (i = 1; i <= n; i++)
        printf "%s\"%s\"", (i > 1 ? "," : ""), name[i]
    printf "],\"eos\":\"</s>\",\"start\":%s,\"next\":{", row("start")
    for (i = 1; i < n; i++)
        printf "%s\"%s\":%s", (i > 1 ? "," : ""), name[i], row(i)
    print "}}"
}
