# Cases of sbeam estimate: estimates from draws. Sourced by run.sh, whose functions it uses.
usage "estimate: neither --f nor --values" estimate
usage "estimate: both" estimate --f length --values numbers
usage "estimate: an unknown function" estimate --f magic
usage "estimate: a file for draws" estimate --f length draws.jsonl
usage "estimate: values from standard input" estimate --values -
usage "estimate: BLEU without references" estimate --f bleu
usage "estimate: references without BLEU" estimate --f length --ref refs
usage "estimate: a tokeniser without BLEU" estimate --f length --tokenize char
usage "estimate: an unknown tokeniser" estimate --f bleu --ref refs --tokenize klingon
usage "estimate: a truth without summary" estimate --f length --truth 3
usage "estimate: a truth that is no number" estimate --f length --summary --truth soon
usage "estimate: an infinite truth" estimate --f length --summary --truth inf
usage "estimate: an exact truth of given numbers" estimate --values numbers --summary --truth exact
usage "estimate: a model without need" estimate --f length -m "$fig1"
for curve in 0 0..3 5..3 1.. ..3 1..2..3 x 1-3 '' 1..10000001 11111111111111111111111111..3; do
    usage "estimate: --curve '$curve'" estimate --f length --curve "$curve"
done
usage "estimate: an unknown format" estimate --f length -f tsv

"$sbeam" draw -m "$fig1" -k 3 --seed 1 --draws 2 -f jsonl >draws
run "$sbeam" estimate --f entropy
exits 0 "estimate: no draws, no estimates"
lines 0 "estimate: nothing at all"
feed "$(sed 's/[%\\]/&&/g' draws)\n" "$sbeam" estimate --f entropy -f jsonl
exits 0 "estimate"
lines 4 "estimate: two estimators for each draw"
number_pattern='-?[0-9.e-]+'
prints "^\{\"stream\":0,\"temperature\":1,\"draw\":1,\"estimator\":\"sbs\",\"k\":3,\"estimate\":$number_pattern,\"se\":$number_pattern,\"ess\":$number_pattern,\"mc_equivalent\":$number_pattern,\"weight_sum\":$number_pattern,\"ci_low\":$number_pattern,\"ci_high\":$number_pattern\}\$" \
    "estimate: keys in their order"
# The length is 3 on this tree, whatever is drawn.
"$sbeam" estimate --f length <draws >out 2>err
prints '"estimator":"sbs-normalised","k":3,"estimate":3,"se":0,.*"mc_equivalent":null' \
    "estimate: a constant"

# One draw holds those of every smaller k, bit for bit, with the same numbers in the text.
for model in "$fig1" "$chain" "$arpa"; do
    for method in sbs sample; do
        given=(-m "$model" --method "$method" --seed 5 --draws 3 -T "0.7,1" --max-len 9 -f jsonl)
        "$sbeam" draw "${given[@]}" -k 11 | "$sbeam" estimate --f entropy --curve 1..11 | sort >curve
        for k in 1 2 3 4 5 6 7 8 9 10 11; do
            "$sbeam" draw "${given[@]}" -k $k | "$sbeam" estimate --f entropy
        done | sort >apart
        [ -s apart ] && same apart curve "estimate: --curve is that of separate runs: $method, ${model##*/}"
    done
done

"$sbeam" draw -m "$fig1" --method beam -k 4 -f jsonl >searched
"$sbeam" estimate --f entropy --curve 1..9 <searched >out 2>err
lines 2 "estimate: a beam has its own k alone"
prints '"estimator":"beam-normalised","k":4,"estimate":[0-9.]+,"se":null,"ess":null,"mc_equivalent":null' \
    "estimate: a beam has no standard error"
"$sbeam" estimate --f entropy --curve 5..9 <searched >out 2>err
lines 0 "estimate: a beam outside of the curve is left out"

"$sbeam" draw -m "$fig1" -k 9 --seed 1 -f jsonl >all
"$sbeam" estimate --f entropy --curve 8..12 --sacrifice <all >out 2>err
[ "$(grep -c '"se":0,' out)" -eq 8 ] && [ "$(wc -l <out)" -eq 10 ]
report $? "estimate: what is exhausted is exact, and has nothing to sacrifice"
"$sbeam" estimate --f entropy --curve 4..12 <draws >out 2>err
code=$?
exits 1 "estimate: a curve beyond the draw"
says 'standard input:1: the draw has 3 sequences, but --curve begins at 4' "estimate: and why"
"$sbeam" estimate --f entropy --curve 3..12 <draws >out 2>err
lines 4 "estimate: a curve ends with the draw"
"$sbeam" estimate --f entropy --curve 1..3 --sacrifice <draws | head -n 4 >out
[ "$(cut -d , -f 5 out | tr -d '\n')" = '"k":2"k":2"k":3"k":3' ]
report $? "estimate: --sacrifice has no k = 1"
"$sbeam" draw -m "$fig1" -k 1 --seed 1 -f jsonl | "$sbeam" estimate --f entropy --sacrifice >out 2>err
code=$?
exits 1 "estimate: nothing left after the sacrifice"

"$sbeam" draw -m "$fig1" -k 3 --seed 1 --draws 2 --no-kappa -f jsonl >bare
"$sbeam" estimate --f entropy <bare >out 2>err
code=$?
exits 1 "estimate: draws without kappa"
says 'standard input:1: the draw has no "kappa", .* without --no-kappa, or give --sacrifice' \
    "estimate: what to do without kappa"
"$sbeam" estimate --f entropy --curve 1..2 <bare >bare-curve
"$sbeam" estimate --f entropy --curve 1..2 <draws >curve
same bare-curve curve "estimate: shorter prefixes do not need it"
"$sbeam" estimate --f entropy --sacrifice <bare >bare-curve
"$sbeam" estimate --f entropy --sacrifice <draws >curve
same bare-curve curve "estimate: nor does the sacrifice"
for method in diverse resample reject commit beam-sample; do
    "$sbeam" draw -m "$fig1" -k 2 --method $method --seed 1 -f jsonl |
        "$sbeam" estimate --f length >out 2>err
    code=$?
    exits 1 "estimate: no estimator for $method"
    says "standard input:1: there is no estimator for method $method: " "estimate: it says so: $method"
done

printf '1\n2.5\r\n3e0\n 4\n5\n-6\n' >numbers
"$sbeam" estimate --values numbers --curve 1 <draws >out 2>err
prints '"draw":1,"estimator":"sbs-normalised","k":1,"estimate":4,"se":null' "estimate: values of one's own"
refuse_values() { # refuse_values CONTENT PATTERN NAME
    # shellcheck disable=SC2059
    printf "$1" >numbers
    "$sbeam" estimate --values numbers <draws >out 2>err
    code=$?
    exits 1 "estimate: $3"
    says "$2" "estimate: where: $3"
}
refuse_values '1\n2\n3\n4\n5\n' 'numbers:5: the values end here' "too few values"
refuse_values '1\n2\n3\n4\n5\n6\n7\n' 'numbers:7: the draws have only 6 sequences' "too many values"
refuse_values '1\nNaN\n3\n4\n5\n6\n' "numbers:2: not a finite number: 'NaN'" "a value that is no number"
refuse_values '1\n2\n1e999\n4\n5\n6\n' "numbers:3: not a finite number: '1e999'" "an infinite value"
refuse_values '1\n2\n3 4\n4\n5\n6\n' "numbers:3: not a finite number: '3 4'" "two values on a line"
refuse_values '1\n\n3\n4\n5\n6\n' "numbers:2: not a finite number: ''" "an empty line of values"
run "$sbeam" estimate --values missing
exits 1 "estimate: a file of values that is not there"

sed 's/"kappa":[^,]*/"kappa":NaN/' draws >broken
"$sbeam" estimate --f length <broken >out 2>err
code=$?
exits 1 "estimate: NaN in a record"
says 'standard input:1: invalid JSON' "estimate: where NaN is"
sed '2s/"log_p":[^,]*/"log_p":0.5/' draws | "$sbeam" estimate --f length >out 2>err
code=$?
exits 1 "estimate: a probability above 1"
says 'standard input:2: log-probability 1 is 0.5' "estimate: where it is"
lines 2 "estimate: the draws before it are there"
sed 's/"g":[^,]*/"g":-9/' draws | "$sbeam" estimate --f length --curve 1 >out 2>err
says 'standard input:1: sequence 2: not in the order' "estimate: draws that were shuffled"
# Sequences 1 and 2 in the other order, kappa and the last in place.
sed -E 's/(\{"text"[^}]*\}),(\{"text"[^}]*\}),/\2,\1,/' draws >broken
for given in --curve=3 --sacrifice; do
    "$sbeam" estimate --f length "$given" <broken >out 2>err
    says 'standard input:1: sequence 2: not in the order' "estimate: two that were exchanged: $given"
done
sed 's/"kappa":[^,]*/"kappa":9/' draws | "$sbeam" estimate --f length >out 2>err
says 'standard input:1: "kappa" is above' "estimate: a threshold of another draw"
sed 's/"k":3/"k":4/' draws | "$sbeam" estimate --f length >out 2>err
says 'standard input:1: there are 3 sequences, but "k" is 4' "estimate: draws that were cut"
sed 's/"method":"sbs"/"method":"sample"/;s/"exhausted":false/"exhausted":true/;s/"kappa":[^,]*/"kappa":null/' draws |
    "$sbeam" estimate --f length --curve 1..9 >out 2>err
[ "$(wc -l <out)" -eq 6 ] && [ ! -s err ]
report $? "estimate: independent samples are never exhausted"

printf '0 1 1\n\n0 1 0 0\t0 1 1\n' >refs
"$sbeam" draw -m "$fig1" -k 9 -f jsonl - <<<'' >one
"$sbeam" estimate --f bleu --ref refs --tokenize none <one >out 2>err
prints '"estimator":"sbs","k":9,"estimate":[1-9][0-9.]+,"se":0,' "estimate: expected BLEU"
sed 's/"stream":0/"stream":1/' one | "$sbeam" estimate --f bleu --ref refs >out 2>err
code=$?
exits 1 "estimate: a segment without reference"
sed 's/"stream":0/"stream":3/' one | "$sbeam" estimate --f bleu --ref refs >out 2>err
code=$?
exits 1 "estimate: a stream without references"
says 'standard input:1: .*refs' "estimate: which file is too short"
sed 's/"text":[^,]*,//' one | "$sbeam" estimate --f bleu --ref refs >out 2>err
says 'standard input:1: .*"text" is missing' "estimate: BLEU of no text"
run "$sbeam" estimate --f bleu --ref missing
exits 1 "estimate: references that are not there"

# 1, 2, 3, 4 and 10: places 0.1 and 3.9 between them, sqrt((4 + 1 + 0 + 1 + 49) / 5) from 3, and
# sqrt((9 + 4 + 1 + 0 + 36) / 4) from their mean 4, which has the error sqrt(12.5 / 5).
"$sbeam" draw -m "$fig1" -k 1 --method sample --draws 5 --seed 2 -f jsonl >five
printf '4\n2\n10\n1\n3\n' >numbers
"$sbeam" estimate --values numbers --summary <five >out 2>err
prints '^\{"stream":0,"temperature":1,"estimator":"mc","k":1,"draws":5,"mean":4,"p025":1.1,"p975":9.(4|39999)[0-9]*,"bias":null,"rmse":null,"sd":3.5355339059327[0-9]*,"se_mean":1.581138830084[0-9]*\}$' \
    "estimate: a summary"
"$sbeam" estimate --values numbers --summary --truth 3 <five >out 2>err
prints '"bias":1,"rmse":3.31662479035' "estimate: bias and RMSE"
cat searched draws <("$sbeam" draw -m "$fig1" -k 3 --seed 1 -T 0.5 --method sample -f jsonl) |
    "$sbeam" estimate --f length --summary --curve 3..4 >out 2>err
[ "$(cut -d , -f 2-4 out | tr -dc 'a-z0-9.\n-' | tr '\n' ' ')" = 'temperature0.5estimatormck3 temperature1estimatorsbsk3 temperature1estimatorsbs-normalisedk3 temperature1estimatorbeamk4 temperature1estimatorbeam-normalisedk4 ' ]
report $? "estimate: the order of a summary"
cat draws draws | "$sbeam" estimate --f length --summary >out 2>err
code=$?
exits 1 "estimate: the same draw twice"
says 'draw 0 of stream 0 at temperature 1 gives sbs at k = 3 twice' "estimate: which draw is there twice"
lines 0 "estimate: and nothing is written"

# A draw of everything is exact, whatever the settings: its bias against the enumeration is rounding.
printf 'a a b\na b\n' >refs
exact() { # exact NAME OPTION...
    local name=$1
    shift
    for f in entropy length bleu; do
        local given=()
        [ $f = bleu ] && given=(--ref refs --tokenize none)
        "$sbeam" draw -m "$chain" -k 100000 -T 0.4,1 --seed 1 -f jsonl "$@" - <<<$'\nb' |
            "$sbeam" estimate --f $f "${given[@]}" --summary --truth exact -m "$chain" >out 2>err
        [ "$(wc -l <out)" -eq 8 ] && [ ! -s err ] &&
            sed 's/.*"bias":\([^,]*\),"rmse":\([^,}]*\)[,}].*/\1 \2/' out |
            awk '{ if ($1 ^ 2 + $2 ^ 2 > 1e-18 || $1 == "null") exit 1 }'
        report $? "estimate: the exact truth of $f: $name"
    done
}
exact "a length limit" --max-len 5
exact "what is left of a row" --max-len 5 --top-k 2 --top-p 0.95 --min-p 0.01
exact "a token that is banned, and a shortest length" --max-len 4 --min-len 2 --ban b
exact "an end in mid-text" --max-len 6 --stop 'a a' --stop b
"$sbeam" draw -m "$fig1" -k 3 --seed 1 --draws 4000 -f jsonl |
    "$sbeam" estimate --f entropy --summary --truth exact -m "$fig1" >out 2>err
prints '"estimator":"sbs","k":3,"draws":4000,.*"bias":-?0.0[0-9]' "estimate: the mean is near the truth"
cat draws <(sed 's/"temperature":1,/&"max_len":2,/;s/"draw":[01]/"draw":7/' draws | head -n 1) |
    "$sbeam" estimate --f length --summary --truth exact -m "$fig1" >out 2>err
code=$?
exits 1 "estimate: one stream with two truths"
says 'standard input:3: the input or the settings are not those of an earlier draw' "estimate: why not"
"$sbeam" draw -m "$arpa" -k 3 --seed 1 -f jsonl |
    "$sbeam" estimate --f length --summary --truth exact -m "$arpa" >out 2>err
code=$?
exits 1 "estimate: a model that is too large to enumerate"
says 'too many sequences to enumerate; give the truth as a number' "estimate: what to do then"
sed 's/"temperature":1,/&"top_p":7,/' draws |
    "$sbeam" estimate --f length --summary --truth exact -m "$fig1" >out 2>err
code=$?
exits 1 "estimate: a setting out of range"
says 'standard input:1: .*top-p' "estimate: which setting"
sed 's/"temperature":1,/&"ban":["zebra"],/' draws |
    "$sbeam" estimate --f length --summary --truth exact -m "$fig1" >out 2>err
says "standard input:1: \"ban\": the model has no token 'zebra'" "estimate: a token of another model"
if [ -e /dev/full ]; then
    "$sbeam" estimate --f length <draws >/dev/full 2>err
    code=$?
    exits 1 "estimate: a full disk"
fi
usage "estimate: --max-len without a model" estimate --f length --max-len 3
"$sbeam" draw -m "$chain" -k 3 --max-len 4 --draws 3 --seed 1 -f jsonl >draws
"$sbeam" estimate --f length --summary --truth exact -m "$chain" <draws >first
sed 's/"max_len":4,//' draws | "$sbeam" estimate --f length --summary --truth exact -m "$chain" --max-len 4 >out 2>err
same first out "estimate: --max-len for draws that do not say"
refuse_values '1\n0x10\n3\n4\n5\n6\n' "numbers:2: not a finite number: '0x10'" "a hexadecimal value"

# --- intervals and the text format ---
"$sbeam" draw -m "$chain" -k 12 --max-len 9 --seed 5 --draws 2 -T 0.7,1 -f jsonl >draws
"$sbeam" estimate --f entropy --curve 1..12 <draws >out 2>err
sed -E 's/.*"estimate":([^,]*),"se":([^,]*),.*"ci_low":([^,]*),"ci_high":([^,]*)}/\1 \2 \3 \4/' out |
    awk 'function far(x, y) { return (x - y) ^ 2 > 1e-24 * (1 + x ^ 2) }
        $2 == "null" { none++; if ($3 != "null" || $4 != "null") bad = 1; next }
        far($3, $1 - 1.959963984540054 * $2) || far($4, $1 + 1.959963984540054 * $2) { bad = 1 }
        END { exit bad || none != 8 || NR != 96 }'
report $? "estimate: intervals of 95 %, none without a standard error"

narrow() { # narrow WIDTH NAME: the text in out keeps to the width, and its columns end together
    awk -v width="$1" '{ gsub(/…/, "~") }
        length > width { bad = 1 }
        /^estimator/ { ends = length; next }
        /^(mc|sbs|beam)(-normalised)? .*[-0-9.]$/ && !/  T / && length != ends { bad = 1 }
        END { exit bad || !ends }' out
    report $? "estimate: text in $1 columns: $2"
}
# agrees KEYS NAME: the last columns of the tables in out are the numbers of these keys in the lines
# of the file exact, to half a unit of their last digit; "-" stands for null.
agrees() {
    grep -E '^(mc|sbs|beam)(-normalised)? ' out | grep -v '  T ' | paste - exact | awk -F '\t' -v keys="$1" '
        {
            n_cells = split($1, cells, " +")
            n = split(keys, key, " ")
            for (i = 1; i <= n; i++) {
                match($2, "\"" key[i] "\":[^,}]*")
                x = substr($2, RSTART + length(key[i]) + 3, RLENGTH - length(key[i]) - 3)
                shown = cells[n_cells - n + i]
                digits = shown
                exponent = sub(/e.*/, "", digits) ? substr(shown, index(shown, "e") + 1) : 0
                places = index(digits, ".") ? length(digits) - index(digits, ".") : 0
                unit = 10 ^ (exponent - places)
                if (x == "null" ? shown != "-" : shown == "-" || (x / unit - digits * 10 ^ places) ^ 2 > 0.25001)
                    bad = 1
            }
        }
        END { exit bad || NR < 2 }'
    report $? "estimate: text agrees with JSON: $2"
}
# both KEYS NAME OPTION...: the two formats, from the records in draws.
both() {
    local keys=$1 name=$2
    shift 2
    "$sbeam" estimate "$@" <draws >exact 2>err
    "$sbeam" estimate "$@" -f text <draws >out 2>>err
    code=$?
    exits 0 "estimate: text: $name"
    narrow 80 "$name"
    agrees "$keys" "$name"
}
of_draw="estimate se ci_low ci_high mc_equivalent"
both "$of_draw" "draws and temperatures" --f entropy
[ "$(grep -c '^sbs  stream 0  k 12  T \(0.7\|1\)  draw [01]  f entropy$' out)" -eq 4 ] &&
    [ "$(grep -c '^$' out)" -eq 3 ]
report $? "estimate: text: a table for each draw, with its header"
both "$of_draw" "a curve" --f length --curve 1..12
prints '^sbs +1 +[0-9.]+ +- +- +- +-$' "estimate: text: no standard error at k = 1"
both "mean se_mean sd p025 p975" "a summary" --f entropy --summary
prints '^stream 0  k 12  T 0.7  draws 2  f entropy$' "estimate: text: the header of a summary"
both "mean se_mean sd p025 p975" "a summary of a curve" --f entropy --summary --curve 8..12
prints '^stream 0  k 8 to 12  T 0.7  draws 2  f entropy$' "estimate: text: the header of a curve"
both "mean se_mean bias rmse p025 p975" "a truth" --f entropy --summary --curve 8..12 --truth 3.25
prints '^stream 0  .*  truth 3.25000$' "estimate: text: the truth"
{
    cat draws
    "$sbeam" draw -m "$chain" -k 3 --max-len 9 --method beam -f jsonl
    "$sbeam" draw -m "$chain" -k 3 --max-len 9 --method sample --seed 5 -f jsonl
} >mixed && mv mixed draws
both "mean se_mean bias rmse p025 p975" "all estimators" --f entropy --summary --curve 3..4 --truth 3.25
prints '^beam-normalised  3 .* - .*' "estimate: text: a beam has no standard error"
both "$of_draw" "all methods" --f length
"$sbeam" draw -m "$chain" -k 3 --max-len 9 --seed 5 -f jsonl a "b $(printf 'a %.0s' {1..60})" >draws
both "$of_draw" "inputs" --f length
prints '^input 0: a$' "estimate: text: the input"
prints '^input 1: b a .*…$' "estimate: text: a long input is cut"
"$sbeam" draw -m "$fig1" -k 4 --seed 3 --draws 4 -f jsonl >draws
printf '%s\n' 1e300 -2e300 3e299 1e-300 -1e-200 2e-310 -0.00001234 1e-5 12345678 -123456789.123 \
    987654321 1e9 -3e-119 1e-119 2.5e-119 -7.1e-120 >numbers
both "$of_draw" "huge and tiny numbers" --values numbers
prints '^sbs  stream 0  k 4  T 1  draw 3  values numbers$' "estimate: text: the file of values"
both "$of_draw" "a curve of huge and tiny numbers" --values numbers --curve 1..4
both "mean se_mean bias rmse p025 p975" "a summary of huge and tiny numbers" \
    --values numbers --summary --curve 1..4 --truth -1.5e-119
for width in 40 60 200; do
    COLUMNS=$width "$sbeam" estimate --values numbers --curve 1..4 -f text <draws >out 2>err
    narrow $((width < 80 ? width : 80)) "COLUMNS $width"
done
"$sbeam" draw -m "$fig1" -k 9 --seed 1 -f jsonl >draws
both "$of_draw" "the largest k" --f length --curve 9999999..10000000
prints '^sbs +10000000 +3.000 +0 +3.000 +3.000 +-$' "estimate: text: a constant, and exact"
if script -qec true typed </dev/null >/dev/null 2>&1; then
    script -qec "$sbeam estimate --f length <draws" typed </dev/null >/dev/null 2>&1
    tr -d '\r' <typed >out
    prints '^estimator +value +se +95 % from +to +mc_equiv$' "estimate: text on a terminal"
    script -qec "$sbeam estimate --f length -f jsonl <draws" typed </dev/null >/dev/null 2>&1
    tr -d '\r' <typed >out
    prints '"estimator":"sbs"' "estimate: -f jsonl on a terminal"
else
    echo "# skipped: estimate: text on a terminal: no pseudo-terminal can be had here"
fi
"$sbeam" estimate --f length <draws >out 2>err
prints '^{"stream":0' "estimate: JSON lines elsewhere"
"$sbeam" estimate --f length -f text </dev/null >out 2>err
lines 0 "estimate: text: no draws, no table"
