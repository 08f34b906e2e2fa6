# Turns lines of JSON, flat objects as sbeam prints them, into lines of CSV:
#   awk -v keys=method,k,bleu_mean -f fields.awk
# A key that is missing or null becomes an empty field. -v digits=6 shortens long numbers to 6 digits.
BEGIN { n_keys = split(keys, key, ",") }

function value(name, rest) {
    if (!match($0, "\"" name "\":"))
        return ""
    rest = substr($0, RSTART + RLENGTH)
    if (sub(/^"/, "", rest))
        sub(/"[,}].*/, "", rest)
    else
        sub(/[,}].*/, "", rest)
    if (digits > 0 && rest ~ /^[-+0-9.e]+$/ && length(rest) > digits)
        return sprintf("%." digits "g", rest)
    return rest == "null" ? "" : rest
}

{
    line = value(key[1])
    for (i = 2; i <= n_keys; i++)
        line = line "," value(key[i])
    print line
}
