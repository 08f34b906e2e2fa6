# Cases of sbeam eval: BLEU and diversity. Sourced by run.sh, whose functions it uses.
bleu=$data/bleu
run "$sbeam" eval --help
exits 0 "eval --help"
prints '^usage: sbeam eval ' "eval --help shows its usage"
! awk 'length > 80 { found = 1 } END { exit !found }' out
report $? "eval --help fits 80 columns"
cp out first
run "$sbeam" help eval
same first out "help eval"
run "$sbeam" --help
prints '^  eval ' "--help lists eval"
usage "eval: --hyp without --ref" eval --hyp "$bleu/main.hyp"
says 'ref FILE' "eval: what --hyp needs"
usage "eval: --sentence without --hyp" eval --ref "$bleu/main.ref" --sentence
usage "eval: an argument" eval --ref "$bleu/main.ref" file
usage "eval: unknown tokenizer" eval --tokenize zh
usage "eval: unknown smoothing" eval --smooth add-1
usage "eval: a smooth-value that is no number" eval --smooth floor --smooth-value 0.1x
usage "eval: a negative smooth-value" eval --smooth floor --smooth-value -1
usage "eval: a smooth-value of nan" eval --smooth floor --smooth-value nan
usage "eval: a smooth-value too large" eval --smooth add-k --smooth-value 1e999
usage "eval: a smooth-value that would overflow" eval --smooth floor --smooth-value 1e308
says 'expected 0 to 1e+09' "eval: how large a smooth-value can be"
usage "eval: a smooth-value that is not used" eval --smooth exp --smooth-value 0.1
says 'needs the smoothing floor or add-k' "eval: what takes a smooth-value"
usage "eval: unknown format" eval -f tsv
usage "eval: no model" eval -m "$fig1"
usage "eval: standard input twice" eval --ref -
usage "eval: standard input twice, with --hyp" eval --hyp - --ref -
usage "eval: standard input for two references" eval --hyp x --ref - --ref -

run "$sbeam" eval --hyp "$bleu/main.hyp" --ref "$bleu/main.ref"
exits 0 "eval: a corpus"
lines 1 "eval: one line"
prints '^BLEU\|nrefs:var\|case:mixed\|eff:no\|tok:13a\|smooth:exp\|version:sbeam-[0-9.]+ = 69\.06 93\.6/76\.5/68\.2/63\.1 \(BP = 0\.927 ratio = 0\.930 hyp_len = 686 ref_len = 738\)$' \
    "eval: a line of sacreBLEU's form"
run "$sbeam" eval --hyp "$bleu/none.hyp" --ref "$bleu/none.ref" --smooth floor --smooth-value 0.25 -f jsonl
prints '^\{"bleu":0,"bp":0\.[0-9]+,"signature":"nrefs:var\|.*\|smooth:floor\[0\.25\]\|version:sbeam-.*"\}$' \
    "eval: jsonl of a corpus without a match"

# table NAME AWK-CONDITION: rows of a table of known answers that are for the command line.
table() {
    awk -F '\t' "NR > 1 && ($2)" "$bleu/$1"
}
near() { # near TOLERANCE: the numbers in files got and wanted, pair by pair; at least one
    paste got wanted | awk -v t="$1" '{ d = $1 - $2; if (d > t || d < -t || $1 == "" || $2 == "") bad = 1 }
        END { exit bad || NR == 0 }'
}
if "$sbeam" eval --tokenize intl </dev/null 2>/dev/null; then
    tokenizers='13a intl char none'
else
    tokenizers='13a char none'
    run "$sbeam" eval --tokenize intl
    says 'utf8proc' "eval: why intl is refused"
fi
for tokenizer in $tokenizers; do
    for smoothing in none floor add-k exp; do
        for set in main short; do
            args=(--hyp "$bleu/$set.hyp" --ref "$bleu/$set.ref" --tokenize "$tokenizer" --smooth "$smoothing" -f jsonl)
            rows="\$1 == \"$set\" && \$2 == \"$tokenizer\" && \$3 == \"$smoothing\" && \$4 == \"default\" && \$5 == 0"
            table corpus.tsv "$rows" | cut -f 6 >wanted
            run "$sbeam" eval "${args[@]}"
            sed 's/{"bleu":\([^,]*\),.*/\1/' out >got
            near 0.005
            report $? "eval: sacreBLEU's score of a corpus: $set $tokenizer $smoothing"
            rows="\$1 == \"$set\" && \$3 == \"$tokenizer\" && \$4 == \"$smoothing\" && \$5 == \"default\""
            table sentences.tsv "$rows" | cut -f 6 >wanted
            run "$sbeam" eval "${args[@]}" --sentence
            sed 's/{"bleu":\(.*\)}/\1/' out >got
            near 0.01
            report $? "eval: sacreBLEU's scores of segments: $set $tokenizer $smoothing"
        done
    done
done
"$sbeam" eval --hyp "$bleu/main.hyp" --ref "$bleu/main.ref" >wanted
"$sbeam" eval --hyp - --ref "$bleu/main.ref" <"$bleu/main.hyp" >got
same got wanted "eval: hypotheses from standard input"
cut -f 1 "$bleu/main.ref" >one.ref
sed 's/^[^\t]*\t\?//' "$bleu/main.ref" >rest.ref
"$sbeam" eval --hyp "$bleu/main.hyp" --ref one.ref --ref rest.ref >got
same got wanted "eval: alternatives in files beside, some of them empty"
sed 's/$/\t\r/' "$bleu/main.ref" >crlf.ref
"$sbeam" eval --hyp "$bleu/main.hyp" --ref crlf.ref >got
same got wanted "eval: an empty alternative is absent"
printf 'a b c d\n\na\n' >three.txt
run "$sbeam" eval --hyp three.txt --ref three.txt
says '^sbeam eval: three.txt:2: there is no reference$' "eval: an empty line of references"
run "$sbeam" eval --hyp three.txt --ref three.txt --ref three.txt --sentence
says 'no reference, and none in the other files$' "eval: no reference in any of two files"
[ ! -s out ]
report $? "eval: no half-written scores"
printf 'a\nb\n' >two.txt
printf 'a\nb\nc\n' >abc.txt
run "$sbeam" eval --hyp two.txt --ref two.txt --ref abc.txt
exits 1 "eval: counts that differ"
says '^sbeam eval: two.txt has 2 lines, but abc.txt has 3$' "eval: which counts differ"
run "$sbeam" eval --hyp abc.txt --ref two.txt --sentence
says '^sbeam eval: abc.txt has 3 lines, but two.txt has 2$' "eval: more hypotheses than references"
[ ! -s out ]
report $? "eval: and no scores"
run "$sbeam" eval --hyp missing --ref two.txt
exits 1 "eval: hypotheses that are not there"
run "$sbeam" eval --hyp two.txt --ref missing
says '^sbeam eval: missing: No such file' "eval: references that are not there"
run "$sbeam" eval --hyp . --ref two.txt
exits 1 "eval: a folder"
run "$sbeam" eval --hyp /dev/null --ref /dev/null
says 'no line to score' "eval: an empty corpus has no score"
run "$sbeam" eval --hyp /dev/null --ref /dev/null --sentence
exits 0 "eval: no segments, no scores"
head -c 20000 "$sbeam" | tr -d '\n\t' >bytes.txt
echo >>bytes.txt
for tokenizer in $tokenizers; do
    run "$sbeam" eval --hyp bytes.txt --ref bytes.txt --tokenize "$tokenizer" --sentence
    exits 0 "eval: hostile bytes: $tokenizer"
    prints '^100\.00$' "eval: are their own reference: $tokenizer"
done

draw=("$sbeam" draw -f jsonl --seed 1 --max-len 6 -m "$arpa")
printf 'a\nb\na b\n' >three.in
"${draw[@]}" -k 3 -T 0.5,1 - <three.in >draws.jsonl
"${draw[@]}" -k 3 --method beam - <three.in >>draws.jsonl
"${draw[@]}" -k 2 --method diverse --strength 0.3 - <three.in >>draws.jsonl
printf 'a b c\nb a\tc\nc b a\nspare\n' >three.ref
"$sbeam" eval --ref three.ref <draws.jsonl >out 2>err
code=$?
exits 0 "eval: draws"
lines 4 "eval: a line for each setting"
head -1 out >first
grep -Eq '^\{"method":"sbs","k":3,"temperature":0\.5,"strength":null,"inputs":3,"bleu_min":[0-9.]+,"bleu_mean":[0-9.]+,"bleu_max":[0-9.]+,"d1":[0-9.]+,"d2":[0-9.]+,"d3":[0-9.]+,"d4":[0-9.]+,"diversity":[0-9.]+\}$' first
report $? "eval: its keys, in order of first appearance"
cp out wanted
sort -t : -k 2 -n -r draws.jsonl >shuffled
"$sbeam" eval --ref three.ref <shuffled >got
sed -E -i 's/(\.[0-9]{9})[0-9]*/\1/g' got wanted # sums differ in their last digits
sort got >first
sort wanted | cmp -s first -
report $? "eval: the order of the draws does not matter"
"$sbeam" eval <draws.jsonl >out
prints '"bleu_min":null,"bleu_mean":null,"bleu_max":null,"d1":[0-9]' "eval: without references there is diversity"
"$sbeam" eval -f text --ref three.ref <draws.jsonl >out
lines 6 "eval: a table"
! awk 'length > 80 { found = 1 } END { exit !found }' out
report $? "eval: that fits 80 columns"
prints '^diverse +2 +1 +0\.3 +3 +' "eval: with the strength"
record() { # record STREAM DRAW TEXT...: a draw of texts
    local stream=$1 draw=$2 k=$(($# - 2))
    shift 2
    printf '{"stream":%s,"draw":%s,"input":"","method":"sample","k":%s,"temperature":1,"sequences":[' \
        "$stream" "$draw" $k
    printf '{"text":"%s","tokens":[0],"log_p":-1,"log_p_model":-1,"end":"eos"}' "$1"
    shift
    [ $# -gt 0 ] && printf ',{"text":"%s","tokens":[0],"log_p":-1,"log_p_model":-1,"end":"eos"}' "$@"
    printf ']}\n'
}
# Stream 0: two draws, d1 = 1/2 and 1, d2 = 1 and none; stream 1: d1 = 1, d2 = 1.
{ record 0 0 'x x' && record 0 1 'y' && record 1 0 'a b'; } >mine.jsonl
printf 'x x\na b\n' >mine.ref
"$sbeam" eval --ref mine.ref <mine.jsonl >out
prints '"inputs":2,"bleu_min":75\.?[0-9]*,"bleu_mean":75.*"d1":0\.875,"d2":1,"d3":null,"d4":null,"diversity":0\.9375\}' \
    "eval: draws of a stream are averaged first, absent orders left out"
record 0 0 '' '' >none.jsonl
"$sbeam" eval --ref mine.ref <none.jsonl >out
prints '"bleu_min":0,"bleu_mean":0,"bleu_max":0,"d1":null,"d2":null,"d3":null,"d4":null,"diversity":null' \
    "eval: empty texts have no diversity"
run "$sbeam" eval --ref mine.ref
exits 0 "eval: no draws"
lines 0 "eval: no settings"

# refused NAME PATTERN DRAWS: exit 1, the message, nothing on standard output.
refused() {
    "$sbeam" eval --ref three.ref <"$3" >out 2>err
    [ $? -eq 1 ] && [ ! -s out ] && [ "$(wc -l <err)" -eq 1 ] && grep -q -- "^sbeam eval: $2" err
    report $? "eval: $1"
}
sed 's/"k":1,/"k":2,/' mine.jsonl >bad.jsonl
refused "draws that were cut" 'standard input:1: there are 1 sequences, but "k" is 2' bad.jsonl
{ head -1 draws.jsonl && echo '{"stream":0,'; } >bad.jsonl
refused "bad JSON" 'standard input:2: invalid JSON' bad.jsonl
echo '[1]' >bad.jsonl
refused "no record" 'standard input:1: ' bad.jsonl
record 4 0 'a' >bad.jsonl
refused "a stream without a line" 'standard input:1: three.ref has 4 lines, none for stream 4$' bad.jsonl
record 9223372036854775807 0 'a' >bad.jsonl
refused "the largest stream" 'standard input:1: three.ref has 4 lines' bad.jsonl
record 0 0 'a' | sed 's/"log_p":-1/"log_p":NaN/' >bad.jsonl
refused "NaN" 'standard input:1: invalid JSON' bad.jsonl
record 0 0 'a' | sed 's/"text":"a",//' >bad.jsonl
refused "no texts" 'standard input:1: .*"text"' bad.jsonl
record 0 0 'a' | sed 's/"sequences":.*/"sequences":[]}/' >bad.jsonl
refused "no sequences" 'standard input:1: .*sequences' bad.jsonl
record 0 0 'a' | sed 's/"method":"sample"/"method":"magic"/' >bad.jsonl
refused "unknown method" 'standard input:1: .*magic' bad.jsonl
head -c 5000 "$sbeam" >bad.jsonl
refused "bytes that are no draws" 'standard input:1: ' bad.jsonl
printf 'a\n\n' >gap.ref
record 1 0 'a' | "$sbeam" eval --ref gap.ref >out 2>err
says '^sbeam eval: standard input:1: gap.ref:2: there is no reference$' "eval: a stream without references"
for words in "--hyp $bleu/main.hyp --sentence" ""; do
    # shellcheck disable=SC2086
    "$sbeam" eval --ref "$bleu/main.ref" $words <draws.jsonl 2>err | true
    [ "${PIPESTATUS[0]}" -le 141 ] && [ ! -s err ]
    report $? "eval: a reader that has seen enough ${words:+(text)}"
    # shellcheck disable=SC2086
    "$sbeam" eval --ref "$bleu/main.ref" $words <draws.jsonl >/dev/full 2>err
    [ $? -eq 1 ] && grep -q 'cannot write standard output' err
    report $? "eval: a full disk ${words:+(text)}"
done
