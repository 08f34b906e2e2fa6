#!/bin/bash
# Runs the command line as a user would: run.sh SBEAM SOURCE_DIR
# Prints TAP lines and a count; exits 1 if a case failed.
set -u
if [ $# -ne 2 ]; then
    echo "usage: run.sh SBEAM SOURCE_DIR" >&2
    exit 2
fi
here=$(dirname "$(realpath "$0")")
sbeam=$(realpath "$1")
data=$(realpath "$2")/tests/data
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export LC_ALL=C.UTF-8 NO_COLOR=1
unset SBEAM_MODEL COLUMNS

passed=0
failed=0
number=0

report() { # report STATUS NAME
    number=$((number + 1))
    if [ "$1" -eq 0 ]; then
        passed=$((passed + 1))
        echo "ok $number - $2"
    else
        failed=$((failed + 1))
        echo "not ok $number - $2"
        sed 's/^/#   /' out err 2>/dev/null | cut -c 1-160 | head -12
    fi
}

# run COMMAND...: its output in the files out and err, its exit code in $code.
run() {
    "$@" >out 2>err </dev/null
    code=$?
}

# feed TEXT COMMAND...: the same with printf-formatted standard input.
feed() {
    local text=$1
    shift
    # shellcheck disable=SC2059
    printf "$text" | "$@" >out 2>err
    code=${PIPESTATUS[1]}
}

exits() { # exits CODE NAME: of the last run; a failure must say something, success must not
    if [ "$1" -eq 0 ]; then
        [ "$code" -eq 0 ] && [ ! -s err ]
    else
        [ "$code" -eq "$1" ] && [ -s err ] && grep -q '^sbeam' err
    fi
    report $? "$2"
}

# usage NAME ARGUMENT...: wrong usage is a message, a hint, exit 2 and nothing on stdout.
usage() {
    local name=$1
    shift
    run "$sbeam" "$@"
    [ "$code" -eq 2 ] && [ ! -s out ] && [ "$(wc -l <err)" -eq 2 ] && grep -q "^try 'sbeam.*--help'$" err
    report $? "usage: $name"
}

says() { # says PATTERN NAME: the last run's stderr
    grep -q -- "$1" err
    report $? "$2"
}

prints() { # prints PATTERN NAME: the last run's stdout
    grep -Eq -- "$1" out
    report $? "$2"
}

same() { # same FILE FILE NAME
    cmp -s "$1" "$2"
    report $? "$3"
}

lines() { # lines N NAME
    [ "$(wc -l <out)" -eq "$1" ]
    report $? "$2"
}

fig1=$data/fig1.json
chain=$data/chain.json
arpa=$data/small.arpa

# --- help, version, usage ---
run "$sbeam" --help
exits 0 "--help"
prints '^  draw ' "--help lists the commands"
! awk 'length > 80 { found = 1 } END { exit !found }' out
report $? "--help fits 80 columns"
run "$sbeam" help
exits 0 "help"
run "$sbeam" --version
exits 0 "--version"
prints '^sbeam [0-9]+\.[0-9]+\.[0-9]+' "--version has a number"
sed -n 1p out | grep -Eq '^sbeam [0-9]+\.[0-9]+\.[0-9]+ \((avx2|plain) kernels\)$'
report $? "--version: its first line"
sed 1d out | sed 's/: .*//' >parts
printf 'neural models\nSentencePiece\nllama.cpp\nOpenBLAS\nutf8proc\nkernels\n' >want
same parts want "--version: a line for each part of the build"
! sed 1d out | grep -Evq ': (yes|no|[0-9][-.0-9a-z]*|avx2|plain)$'
report $? "--version: yes, no or a version"
SBEAM_CPU=plain run "$sbeam" --version
prints '^kernels: plain$' "--version: the kernels in use"
for command in draw score tree shuf info bench; do
    run "$sbeam" $command --help
    exits 0 "$command --help"
    prints "^usage: sbeam $command " "$command --help shows its usage"
    ! awk 'length > 80 { found = 1 } END { exit !found }' out
    report $? "$command --help fits 80 columns"
    cp out first
    run "$sbeam" help $command
    same first out "help $command"
done
run "$sbeam" draw --help
prints '--top-p X .*fewest' "help comes from the option table"
prints 'default: 200' "help shows defaults"
prints '--no-kappa' "a flag that is on by default is --no-..."
usage "no command"
usage "unknown command" frobnicate
usage "unknown option before a command" --frobnicate
usage "help of an unknown command" help frobnicate
usage "unknown option" draw --frobnicate
usage "unknown short option" draw -x
usage "abbreviated option" draw --temp 1
usage "missing value" draw -m "$fig1" -k
usage "value for a flag" draw -m "$fig1" --no-kappa=yes
usage "k of 0" draw -m "$fig1" -k 0
usage "k that is no number" draw -m "$fig1" -k 3x
usage "temperature of 0" draw -m "$fig1" -T 0
usage "bad temperature in a list" draw -m "$fig1" -T 1,,2
usage "top-p of 0" draw -m "$fig1" --top-p 0
usage "unknown method" draw -m "$fig1" --method magic
usage "unknown format" draw -m "$fig1" -f xml
usage "format that a command does not have" score -m "$fig1" -f tsv
usage "threads of 0" draw -m "$fig1" --threads 0
usage "batch of 5000" draw -m "$fig1" --batch 5000
usage "cache of -1 MB" draw -m "$fig1" --cache -1
usage "cache of 1e9 MB" draw -m "$fig1" --cache 1000000000
usage "draws of 0" draw -m "$fig1" --draws 0
usage "negative seed" draw -m "$fig1" --seed -1
usage "groups without diverse" draw -m "$fig1" --groups 2
usage "a refused option at its default" draw -m "$fig1" --groups 0
usage "length penalty with sbs" draw -m "$fig1" --length-penalty 1
usage "no-kappa with beam" draw -m "$fig1" --method beam --no-kappa
usage "k not divisible by groups" draw -m "$fig1" --method diverse -k 5 --groups 2
usage "unknown banned token" draw -m "$fig1" --ban nothing
usage "dash among inputs" draw -m "$arpa" a -
usage "jsonl with arguments" draw -m "$arpa" --input jsonl a
usage "unknown input form" draw -m "$arpa" --input xml
usage "two prefixes for a tree" tree -m "$fig1" 0 1
usage "two temperatures for a tree" tree -m "$fig1" -T 1,2
usage "file for score" score -m "$fig1" pairs.tsv
usage "two models" info "$fig1" "$chain"
usage "two files" shuf a b
usage "column 0" shuf -w 0
usage "log weights without column" shuf --log-weights
usage "long delimiter" shuf --delimiter ab
run "$sbeam" draw -m missing.json
exits 1 "missing model file"
says 'missing.json' "missing model file is named"
usage "a model without a name" draw -m ''
says 'file is empty' "a model without a name: why"
SBEAM_MODEL=$fig1 run "$sbeam" draw -k 2
exits 0 "SBEAM_MODEL"

# --- the default model: found by its name beside a program that stands alone ---
mkdir -p alone/bin
cp "$sbeam" alone/bin/sbeam
default=enfr-everyday.safetensors
run alone/bin/sbeam info
if [ $code -eq 0 ]; then
    report 0 "no model: skipped, since a default model is installed"
else
    for command in draw score tree info; do
        run alone/bin/sbeam $command
        exits 2 "no model: $command"
        says SBEAM_MODEL "no model: $command says how to give one"
        says "$default, is not in .*/alone/bin, .*/alone/bin/models, .*/alone/models, .* or .*/alone/share/sbeam$" \
            "no model: $command says where it looked"
    done
    deep=$(printf 'a%.0s' {1..100})
    mkdir -p "$deep/$deep/$deep/bin"
    cp "$sbeam" "$deep/$deep/$deep/bin"
    run "$deep/$deep/$deep/bin/sbeam" info
    says 'is not in \.\.\./bin, .* or \.\.\./share/sbeam$' "no model: long places are shortened"
    rm -r "$deep"
    SBEAM_MODEL='' run alone/bin/sbeam draw
    exits 2 "no model: an empty SBEAM_MODEL is none"
fi
for place in alone/share/sbeam alone/models alone/bin/models alone/bin; do
    mkdir -p $place
    cp "$fig1" $place/$default
    run alone/bin/sbeam info
    exits 0 "default model in $place"
    prints '^kind +tree$' "default model in $place is described"
    run alone/bin/sbeam draw -k 2 --seed 1
    exits 0 "default model in $place is drawn from"
    [ $place = alone/bin ] || rm $place/$default
done
run alone/bin/sbeam tree -k 2 --seed 1 -f svg
prints "$default" "default model: tree names it"
SBEAM_MODEL=$chain run alone/bin/sbeam info
prints '^kind +chain$' "SBEAM_MODEL comes before the default model"
SBEAM_MODEL=$chain run alone/bin/sbeam info -m "$fig1"
prints '^kind +tree$' "-m comes before SBEAM_MODEL"
echo broken >alone/bin/$default
run alone/bin/sbeam draw
exits 1 "default model that is none"
says "alone/bin/$default: not a model file" "default model that is none is named"
rm -r alone

# --- draw: records ---
run "$sbeam" draw -m "$fig1" -k 3 --seed 7 -f jsonl
exits 0 "draw jsonl"
lines 1 "one record"
real='-?[0-9]+(\.[0-9]+)?(e[-+][0-9]+)?'
sequence="\{\"text\":\"[01] [01] [01]\",\"tokens\":\[[01],[01],[01]\],\"log_p\":$real,\"log_p_model\":$real,\"g\":$real,\"log_weight\":$real,\"end\":\"leaf\"\}"
record="^\{\"stream\":0,\"draw\":0,\"input\":\"\",\"method\":\"sbs\",\"k\":3,\"temperature\":1,\"seed\":7,\"kappa\":$real,\"exhausted\":false,\"log_p_draw\":$real,\"model_rows\":[0-9]+,\"sequences\":\[$sequence,$sequence,$sequence\]\}$"
prints "$record" "keys and their order"
cp out first
run "$sbeam" draw --seed=7 -f jsonl -k3 --model="$fig1"
same first out "--name=value and -k3"
run "$sbeam" draw -k 3 -fjsonl --seed 7 -m "$fig1" --threads 2 --batch 3
same first out "threads and batch change nothing"
run "$sbeam" draw -k 3 -fjsonl --seed 7 -m "$fig1" --draws 50 -T 1,0.5
cp out uncached
run "$sbeam" draw -k 3 -fjsonl --seed 7 -m "$fig1" --draws 50 -T 1,0.5 --cache 8 --threads 2
same uncached out "a cache changes nothing"
grep -q -E '^cache: [0-9]+ of [0-9]+ rows \([0-9.]+ %\) came from the cache; the model took .* of 8 MB' err
report $? "a cache says what it saved"
run "$sbeam" draw -k 3 -fjsonl --seed 7 -m "$fig1" --draws 50 -T 1,0.5 --cache 8 --cache-stats stats
same uncached out "--cache-stats changes nothing"
grep -q -E '^\{"rows":[0-9]+,"evaluated":[0-9]+,"seconds":[0-9.e-]+,"used":[0-9]+,"size":8388608\}$' stats
report $? "--cache-stats writes one JSON line"
usage "--cache-stats without a cache" draw -m "$fig1" --cache-stats stats
run "$sbeam" draw -m "$fig1" --cache 8 --cache-stats no/such/folder
exits 1 "--cache-stats: a folder that does not exist"
run "$sbeam" draw -m "$fig1" -k 20 --seed 7 -f jsonl
prints '"kappa":null,"exhausted":true' "exhausted: kappa is null"
run "$sbeam" draw -m "$fig1" -k 3 --seed 7 --no-kappa -f jsonl
prints '"kappa":null,"exhausted":false' "--no-kappa"
prints '"log_weight":null' "--no-kappa has no weights"
run "$sbeam" draw -m "$fig1" -k 2 --method beam --seed 7 -f jsonl
prints '"method":"beam","k":2.*"g":null,"log_weight":null' "beam has no g"
run "$sbeam" draw -m "$fig1" -k 4 --method reject --seed 7 -f jsonl
prints '"model_rows":[0-9]+,"complete":true,"samples":[0-9]+,"sampled_rows":[0-9]+,"sequences"' \
    "reject: its own keys"
run "$sbeam" draw -m "$fig1" -k 4 --method diverse --groups 2 --strength 0.25 --seed 7 -f jsonl
prints '"temperature":1,"groups":2,"strength":0.25,"seed"' "diverse: its own keys"
run "$sbeam" draw -m "$fig1" -k 4 --method diverse --seed 7 -f jsonl
prints '"groups":4,"strength":0.5,"seed"' "diverse: as many groups as sequences"
run "$sbeam" draw -m "$fig1" --ban 1 --stop xyz --top-p 0.9 --max-len 2 --seed 7 -f jsonl
prints '"temperature":1,"max_len":2,"top_p":0.9,"ban":\["1"\],"stop":\["xyz"\],"seed"' \
    "what changes the law is in the record"
for method in sbs beam sample diverse resample reject explicit commit beam-sample; do
    run "$sbeam" draw -m "$fig1" -k 2 --method $method --seed 1
    exits 0 "method $method"
done
run "$sbeam" draw -m "$fig1" -k 3 --seed 7 -f jsonl
cp out first
run "$sbeam" draw -m "$fig1" -k 3 --seed 7 -f jsonl --method explicit
sed 's/"method":"[a-z]*"//; s/"model_rows":[0-9]*//' first >a
sed 's/"method":"[a-z]*"//; s/"model_rows":[0-9]*//' out >b
same a b "explicit is sbs"
run "$sbeam" draw -m "$fig1" -k 2 -T 0.5,1,2 --draws 2 --seed 3 -f jsonl
lines 6 "a record per temperature and draw"
sed 's/.*"draw":\([0-9]*\).*"temperature":\([0-9.]*\).*/\2 \1/' out >order
printf '0.5 0\n0.5 1\n1 0\n1 1\n2 0\n2 1\n' >want
same order want "temperature, then draw"
run "$sbeam" draw -m "$fig1" -k 2 -f tsv --seed 3
lines 3 "tsv: header and rows"
awk -F '\t' 'NF != 14 { bad = 1 } END { exit bad }' out
report $? "tsv: 14 columns"
run "$sbeam" draw -m "$chain" -k 3 --ban a --seed 2 -f jsonl
! grep -q '"text":"[^"]*a' out
report $? "--ban"
run "$sbeam" draw -m "$chain" -k 3 --max-len 2 --min-len 1 --seed 2 -f jsonl
prints '"end":"max-len"' "--max-len"
run "$sbeam" draw -m "$chain" -k 4 --stop 'b a' --seed 2 -f jsonl
prints '"end":"stop"' "--stop"

# --- draw: seeds ---
run "$sbeam" draw -m "$fig1" -k 3 -f jsonl
seed=$(sed 's/.*"seed":\([0-9]*\).*/\1/' out)
cp out first
run "$sbeam" draw -m "$fig1" -k 3 -f jsonl --seed "$seed"
same first out "a random seed is printed and repeats the draw"
run "$sbeam" draw -m "$fig1" -k 3
seed=$(sed -n 's/.*seed \([0-9]*\).*/\1/p' out)
cp out first
run "$sbeam" draw -m "$fig1" -k 3 --seed "$seed"
same first out "also in text"
run "$sbeam" draw -m "$fig1" -k 3 -f jsonl --seed 18446744073709551615
prints '"seed":18446744073709551615,' "the largest seed"

# --- draw: inputs ---
run "$sbeam" draw -m "$arpa" -k 1 --seed 1 -f jsonl a 'a b' -- a
exits 0 "arguments"
sed 's/.*"stream":\([0-9]*\).*"input":"\([^"]*\)".*/\1 \2/' out >order
printf '0 a\n1 a b\n2 a\n' >want
same order want "arguments are streams 0, 1, ..."
cp out first
feed 'a\na b\na' "$sbeam" draw -m "$arpa" -k 1 --seed 1 -f jsonl -
same first out "standard input, last line without newline"
feed '{"input":"a b","stream":1}\n{"stream":0,"input":"a"}\n' \
    "$sbeam" draw -m "$arpa" -k 1 --seed 1 -f jsonl --input jsonl
sort out | cmp -s - <(head -2 first)
report $? "jsonl: noise goes with the stream"
prints '"stream":1,' "jsonl: records in the order read"
head -1 out | grep -q '"stream":1,'
report $? "jsonl: the first is stream 1"
feed '{"input":"a"}\n{"input":"a b"}\n' "$sbeam" draw -m "$arpa" -k 1 --seed 1 -f jsonl --input jsonl -
same out <(head -2 first) "jsonl: stream is the line number by default"
for line in '{"input":"a","strem":1}' '{"input":1}' '{"stream":1}' '{"input":"a","stream":-1}' \
    '{"input":"a","stream":1.5}' '{"input":"a","input":"b"}' '["a"]' '{"input":"a"} x' 'a' '' \
    '{"input":"\\ud800"}'; do
    feed "{\"input\":\"a\"}\n$line\n" "$sbeam" draw -m "$arpa" -k 1 -f jsonl --input jsonl
    [ "$code" -eq 1 ] && grep -q ':2: ' err
    report $? "jsonl: line 2 is refused: $line"
done
feed '' "$sbeam" draw -m "$arpa" -k 1 -f jsonl -
exits 0 "no lines"
lines 0 "no lines, no records"
feed 'a\nnonsuch\377\n' "$sbeam" draw -m "$arpa" -k 1 --seed 1 -f jsonl -
prints '"input":"nonsuch�"' "invalid UTF-8 is written as U+FFFD"
feed 'a\\u0000b' "$sbeam" draw -m "$arpa" -k 1 --seed 1 -f jsonl --help
exits 0 "help does not read standard input"
printf 'a\0b\n' | "$sbeam" draw -m "$arpa" -k 1 --seed 1 -f jsonl - >out 2>err
code=$?
if [ $code -eq 0 ]; then
    prints '"input":"a\\u0000b"' "NUL in an input"
else
    exits 1 "NUL in an input"
fi
head -c 300000 /dev/zero | tr '\0' 'a' | sed 's/a/a /g' >long
"$sbeam" draw -m "$arpa" -k 1 --seed 1 -f jsonl - <long >out 2>err
code=$?
exits 0 "a line of 600,000 bytes"
run timeout 10 "$sbeam" draw -m "$fig1" -k 1 --seed 1
exits 0 "models without needed input do not read standard input"
cat >bpe.json <<'EOF'
{"format":"sbeam-tree","tree":{"mam@@":[0.5,{"mal":[0.5,null],"mal@@":[0.5,null]}],"mammal":[0.5,null]}}
EOF
run "$sbeam" draw -m bpe.json -k 3 --seed 1 --bpe-marker @@ --pretokenized
[ "$(grep -c mammal out)" -eq 3 ] && ! grep -q @ out && grep -q 'reads as 1' out
report $? "--bpe-marker joins pieces, repeats are marked"
run "$sbeam" draw -m bpe.json -k 3 --seed 1 -f jsonl
prints '"mam@@ mal"' "without it they stay"
cat >odd.json <<'EOF'
{"format":"sbeam-tree","tree":{"say\"hi\"\\":[0.5,null],"日本語のとても長い文字列をここに置いて幅を確かめます日本語のとても長い文字列":[0.5,null]}}
EOF
run "$sbeam" draw -m odd.json -k 2 --seed 1 -f jsonl
prints '"say\\"hi\\"\\\\"' "escapes"
run "$sbeam" draw -m odd.json -k 2 --seed 1 -f tsv
prints 'say"hi"\\\\$' "tsv escapes"

# --- draw: text ---
for width in 40 80 120; do
    for model in "$fig1" odd.json "$chain"; do
        COLUMNS=$width LC_ALL=C run "$sbeam" draw -m "$model" -k 4 --seed 1
        # In bytes: every wide character of the model takes three bytes and two columns.
        LC_ALL=C awk -v width=$width '
            { line = $0; n = gsub(/[\200-\377]/, "", line); if (length(line) + n * 2 / 3 > width) bad = 1 }
            END { exit bad }' out
        report $? "text fits $width columns: $(basename "$model")"
    done
    COLUMNS=$width LC_ALL=C run "$sbeam" tree -m "$fig1" -k 3 --seed 1
    awk -v width=$width 'length > width { bad = 1 } END { exit bad }' out
    report $? "tree fits $width columns"
done
# At low temperatures p is as small as 1e-35, 1e-156 or 1e-1700, which is below the least double.
for temperature in 0.02 0.005 0.0005; do
    LC_ALL=C run "$sbeam" draw -m "$fig1" -k 8 --seed 20 -T $temperature
    awk 'NR == 2 { at = index($0, "text") }
        NR > 2 && (substr($0, at - 2) !~ /^  [01] [01] [01]$/ || $2 !~ /^<?[1-9][0-9.]*(e-[0-9]+)?%$/ ||
            index($0, "%") != 11) { bad = 1 }
        END { exit bad || NR != 10 }' out
    report $? "tiny probabilities keep to their columns: T $temperature"
    LC_ALL=C run "$sbeam" tree -m "$fig1" -k 3 --seed 20 -T $temperature
    awk 'NR == 2 { at = index($0, "G") }
        NR > 2 && NF == 0 { exit }
        NR > 2 && (substr($0, at - 16, 20) !~ /^ +<?[0-9.e-]+ +[0-9.-]+  [#.+]/) { bad = 1 }
        END { exit bad || NR < 10 }' out
    report $? "tree: tiny probabilities keep to their columns: T $temperature"
done
prints '<1e-999  -3583.8  #' "tree: a probability below 1e-999"
LC_ALL=C run "$sbeam" draw -m "$fig1" -k 3 --seed 1
! LC_ALL=C grep -q '[^ -~]' out
report $? "plain ASCII where the locale is not UTF-8"
prints '###' "ASCII bars"
run "$sbeam" draw -m "$fig1" -k 3 --seed 1
prints '█' "blocks where it is"
! grep -q "$(printf '\033')" out
report $? "no colour in a file"
COLUMNS=40 run "$sbeam" draw -m odd.json -k 2 --seed 1
[ "$(sed -n '3,6s/^.\{19\}//p' out | tr -d '\n')" = 日本語のとても長い文字列をここに置いて幅を確かめます日本語のとても長い文字列 ]
report $? "long text goes on below"
run "$sbeam" draw -m "$chain" -k 3 --seed 2
prints '\(empty\)$' "an empty sequence is named"
run "$sbeam" draw -m "$fig1" --method sample -k 30 --seed 2
prints '\[same as [0-9]+\]$' "repeated samples are marked"

# --- output that fails ---
if [ -e /dev/full ]; then
    for words in "draw -m $fig1 -f jsonl" "draw -m $fig1" "tree -m $fig1 -f svg" "info -m $fig1" \
        "shuf $fig1" "--help" "draw --help" "--version" "draw -m $fig1 --draws 3000 -f tsv"; do
        # shellcheck disable=SC2086
        "$sbeam" $words >/dev/full 2>err </dev/null
        code=$?
        [ $code -eq 1 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q 'No space left' err
        report $? "/dev/full: ${words%% -m*}"
    done
    printf '\t0 0 0\n' | "$sbeam" score -m "$fig1" >/dev/full 2>err
    [ $? -eq 1 ]
    report $? "/dev/full: score"
fi
"$sbeam" draw -m "$fig1" --draws 300000 -f jsonl 2>err | head -1 >out
codes=("${PIPESTATUS[@]}")
{ [ "${codes[0]}" -eq 141 ] || [ "${codes[0]}" -eq 1 ]; } && [ ! -s err ]
report $? "a closed pipe ends quietly"

# --- score ---
feed '\t0 1 1\n\t1 0\n' "$sbeam" score -m "$fig1"
exits 0 "score"
lines 2 "score: two records"
prints '^\{"stream":0,"input":"","output":"0 1 1","tokens":\[0,1,1\],"log_p":-1\.386294361119[0-9]*,"token_log_p":\[-0\.51[0-9]*,-0\.40[0-9]*,-0\.47[0-9]*\]\}$' \
    "score: 0.25 on a tree, nothing appended"
feed 'a\tb c\n' "$sbeam" score -m "$arpa" --threads 3
awk -F 'token_log_p' '{ exit gsub(/,/, ",", $2) != 2 }' out
report $? "score: EOS is appended"
cp out first
feed '{"input":"a","tokens":[4,5]}\n' "$sbeam" score -m "$arpa" --input jsonl
same first out "score: tokens instead of text"
feed 'a\tb c\n' "$sbeam" score -m "$arpa" --no-eos
awk -F 'token_log_p' '{ exit gsub(/,/, ",", $2) != 1 }' out
report $? "score: --no-eos"
cp out first
feed 'a\tb c\n' "$sbeam" score -m "$arpa" --max-len 2
same first out "score: an output of --max-len tokens ends there"
feed 'a\tb c\n' "$sbeam" score -m "$arpa" --max-len 1
exits 1 "score: a longer one is an error"
feed 'b\tb\n' "$sbeam" score -m "$chain"
prints '"log_p":null,"token_log_p":\[null,' "score: -inf is null"
feed 'a\tb\nno tab\n' "$sbeam" score -m "$arpa"
exits 1 "score: no tab"
says ':2: ' "score: the line is named"
lines 1 "score: what came before is written"
feed '{"input":"a"}\n' "$sbeam" score -m "$arpa" --input jsonl
exits 1 "score: no output"
feed '{"input":"a","tokens":[99]}\n' "$sbeam" score -m "$arpa" --input jsonl
exits 1 "score: no such token"
yes "$(printf 'a\tb c')" | head -1000 >pairs
"$sbeam" score -m "$arpa" <pairs >a
"$sbeam" score -m "$arpa" --threads 4 <pairs >b
same a b "score: threads change nothing"
sbeam_first=$("$sbeam" draw -m "$arpa" -k 1 --seed 5 -f jsonl a | sed 's/.*"tokens":\(\[[0-9,]*\]\),"log_p":\([-0-9.e]*\).*/\1 \2/')
printf '{"input":"a","tokens":%s}\n' "${sbeam_first% *}" | "$sbeam" score -m "$arpa" --input jsonl |
    sed 's/.*"log_p":\([-0-9.e]*\).*/\1/' >out
awk -v want="${sbeam_first#* }" '{ d = $1 - want; exit !(d < 1e-9 && d > -1e-9) }' out
report $? "score agrees with draw"

# --- tree ---
run "$sbeam" tree -m "$fig1" -k 3 --seed 7
exits 0 "tree"
prints '●1 .*2\.26' "tree: ranks and G"
run "$sbeam" tree -m "$fig1" -k 3 --seed 7 -f svg
prints '^<svg ' "tree: svg"
[ "$(grep -c '<g class=' out)" -eq 15 ]
report $? "tree: fifteen nodes"
for seed in 1 2 3 4 5; do
    run "$sbeam" tree -m "$fig1" -k 3 --seed $seed -f jsonl
    tr '{' '\n' <out | sed -n 's/.*"g":\([-0-9.e]*\),"role":"required","rank":\([0-9]\).*/\2 \1/p' | sort >a
    run "$sbeam" draw -m "$fig1" -k 3 --seed $seed -f tsv
    awk -F '\t' 'NR > 1 { print $8, $11 }' out >b
    same a b "tree: the leaves of draw, seed $seed"
done
run "$sbeam" tree -m "$chain" -k 3
exits 1 "tree: too large"
says 'too many' "tree: says so"
run "$sbeam" tree -m "$chain" -k 3 --max-len 3 a
exits 0 "tree: a prefix and --max-len"
LC_ALL=C run "$sbeam" tree -m "$fig1" -k 3 --seed 7
! LC_ALL=C grep -q '[^ -~]' out
report $? "tree: plain ASCII"

# --- translation: the shipped model, and one with dictionaries ---
everyday=$data/../../models/enfr-everyday.safetensors
tiny=$data/tiny-fconv/model.safetensors
run "$sbeam" info "$everyday"
if grep -q 'built without' err; then
    echo "# skipped: translation; this build has no neural models or no SentencePiece"
else
    prints '^languages +English to French$' "info: a translation model"
    run "$sbeam" draw -m "$everyday" -k 3 -T 0.3 --seed 1 'Where is the train station?'
    exits 0 "translation"
    prints 'Où est la gare \?$' "translation: the likely one is there"
    feed 'I am here.\nYou are there.\n' "$sbeam" draw -m "$everyday" -k 2 -T 0.3 --seed 1 -f jsonl
    exits 0 "translation: standard input without INPUT"
    [ "$(wc -l <out)" -eq 2 ] && grep -q '"stream":1,' out
    report $? "translation: a record for each line"
    mv out whole
    feed 'I am here.\nYou are there.\n' "$sbeam" draw -m "$everyday" -k 2 -T 0.3 --seed 1 -f jsonl \
        --batch 1 --threads 2
    cmp -s out whole || [ "$("$sbeam" --version | grep -c avx2)" -eq 0 ]
    report $? "translation: the same bytes on two threads, one by one"
    # An empty line, an emoji, a zero byte, bytes that are no UTF-8, blanks: each is an input like any other.
    feed '\n\360\237\230\200 hi\nzero\0byte\n\377\376\300\n   \n' "$sbeam" draw -m "$everyday" -k 2 --seed 1 -f jsonl
    exits 0 "translation: any bytes"
    [ "$(wc -l <out)" -eq 5 ]
    report $? "translation: any bytes, each gives a record"
    yes word | head -1000 | paste -s -d ' ' >words
    run "$sbeam" draw -m "$everyday" -k 1 "$(cat words)"
    exits 1 "translation: a thousand words"
    says '1000 tokens; the model takes at most 127' "translation: why a thousand words are too many"
    feed 'Hello.\tBonjour.\n' "$sbeam" score -m "$everyday"
    exits 0 "score: a translation"
    prints '"token_log_p":\[-' "score: a translation, token by token"
    run "$sbeam" draw -m "$everyday" -k 1 -T 0.3 --seed 1 --pretokenized '▁I ▁am ▁here .'
    prints '▁Je ▁suis ▁(ici|là) \.$' "translation: pieces in, pieces out"
    run "$sbeam" draw -m "$everyday" --method beam -k 2 --max-len 1000 -f jsonl 'Yes.'
    exits 0 "translation: a limit beyond the model's"
    run "$sbeam" draw -m "$everyday" -k 2 --min-len 129 --max-len 200 'Yes.'
    exits 2 "translation: a minimum beyond the model's positions"
    head -c 200000 "$everyday" >cut.safetensors
    run "$sbeam" info cut.safetensors
    exits 1 "translation: a model that was cut off"
    says 'cut.safetensors: ' "translation: a model that was cut off is named"
    run "$sbeam" draw -m "$tiny" -k 2 --seed 1 'nobody knows these words'
    exits 0 "dictionaries: unknown words"
fi

# --- info ---
run "$sbeam" info -m "$fig1"
exits 0 "info"
prints '^leaves +8$' "info: text"
run "$sbeam" info -f jsonl "$fig1"
prints '^\{.*"leaves":8[,}]' "info: numbers are numbers"
prints '"kind":"tree"' "info: words are strings"

# --- shuf ---
printf 'a\t1\nb\t2\nc\t0\nd\t4.5\n' >w.tsv
run "$sbeam" shuf -w 2 w.tsv
exits 0 "shuf"
sort out | cmp -s - <(grep -v '^c' w.tsv)
report $? "shuf: everything but weight zero"
run "$sbeam" shuf -n 2 -w 2 --seed 3 w.tsv
lines 2 "shuf -n"
cp out first
"$sbeam" shuf -n 2 -w 2 --seed 3 <w.tsv >out 2>err
same first out "shuf: standard input"
"$sbeam" shuf --lines=2 --weight=2 --seed 3 - <w.tsv >out 2>err
same first out "shuf: long options and dash"
run "$sbeam" shuf -w 2 --seed 3 w.tsv
same first <(head -2 out) "shuf: the first two of all"
run "$sbeam" shuf -n 0 w.tsv
exits 0 "shuf -n 0"
lines 0 "shuf -n 0 draws nothing"
run "$sbeam" shuf /dev/null
exits 0 "shuf: empty file"
seq 1000 >seq.txt
run "$sbeam" shuf seq.txt
sort -n out | cmp -s - seq.txt
report $? "shuf: a permutation"
! cmp -s out seq.txt
report $? "shuf: that is not the identity"
run "$sbeam" shuf -n 2 -w 2 --seed 3 -f jsonl w.tsv
prints '^\{"line":[124],"text":"[abd]\\t[0-9.]+","g":[-0-9.e]+,"log_p":[-0-9.e]+,"log_weight":[-0-9.e]+,"kappa":[-0-9.e]+,"seed":3\}$' \
    "shuf: jsonl"
run "$sbeam" shuf -w 2 --seed 3 -f jsonl w.tsv
prints '"kappa":null' "shuf: kappa of everything is null"
run "$sbeam" shuf -w 2 --seed 3 -f tsv w.tsv
awk -F '\t' 'NF != 6 { bad = 1 } END { exit bad }' out
report $? "shuf: tsv"
run "$sbeam" shuf -n 1 --seed 3 --verbose seq.txt
[ "$code" -eq 0 ] && grep -q '^seed 3$' err
report $? "shuf: --verbose prints the seed"
printf 'a,1e-300\nb,4.9e-324\nc,1e-308\n' >tiny.csv
run "$sbeam" shuf -w 2 --delimiter , tiny.csv
lines 3 "shuf: tiny and denormal weights"
printf 'a\t-1000\nb\t-1001.5\nc\t-inf\n' >logs.tsv
run "$sbeam" shuf -w 2 --log-weights logs.tsv
lines 2 "shuf: --log-weights, -inf is never drawn"
for bad in -1 nan inf '' x 1x 1e400 1e-400; do
    printf 'a\t1\nb\t%s\n' "$bad" >bad.tsv
    run "$sbeam" shuf -n 1 -w 2 bad.tsv
    [ "$code" -eq 1 ] && grep -q 'bad.tsv:2: ' err && [ ! -s out ]
    report $? "shuf: weight '$bad' is refused with its place"
done
printf 'a\t1\nb\n' >bad.tsv
run "$sbeam" shuf -n 1 -w 2 bad.tsv
says 'bad.tsv:2: ' "shuf: a missing column"
run "$sbeam" shuf -n 1 missing.tsv
exits 1 "shuf: missing file"
run "$sbeam" shuf -n 1 .
exits 1 "shuf: a directory"
printf 'a\0b\n\377\n' >bytes
run "$sbeam" shuf bytes
cmp -s <(sort out) <(sort bytes)
report $? "shuf: any bytes go through"
run "$sbeam" shuf -f jsonl bytes
prints '"text":"a\\u0000b"' "shuf: NUL in JSON"
# Line d holds 0.6 of the weight; 0.12 is five standard errors of 400 draws.
for seed in $(seq 400); do
    "$sbeam" shuf -n 1 -w 2 --seed "$seed" w.tsv
done | awk '/^d/ { n++ } END { share = n / NR; exit !(share > 0.48 && share < 0.72) }'
report $? "shuf: the first goes by weight"
awk 'BEGIN { for (i = 0; i < 200; i++) for (j = 0; j < 10; j++) print i, j }' >many
run "$sbeam" shuf -n 5 --seed 1 many
cp out first
run "$sbeam" shuf -n 50 --seed 1 many
same first <(head -5 out) "shuf: the sample of 5 begins the sample of 50"

# --- what an attack found ---
feed 'abc\n' "$sbeam" shuf -w 1
says "1: the weight is not a number: 'abc'$" "shuf: the field is quoted"
feed '1e13\n' "$sbeam" shuf -w 1 --log-weights
exits 1 "shuf: log-weights without room for noise"
feed '' "$sbeam" shuf -f tsv
prints '^line' "shuf: the header of an empty table"
echo '{"format":"sbeam-chain","vocab":["mam@@","mal","x","e"],"eos":"e","start":[1,0,0,0],
"next":{"mam@@":[0,1,0,0],"mal":[0,0,1,0],"x":[0,0,0,1]}}' >pieces.json
run "$sbeam" draw -m pieces.json --bpe-marker @@ --seed 1 -f jsonl
prints '"text":"mammal x"' "pieces are joined"
run "$sbeam" draw -m pieces.json --bpe-marker @@ --stop al --seed 1 -f jsonl
prints '"text":"mamm","tokens":\[0,1\].*"end":"stop"' "stop strings see joined pieces, text is cut"
feed 'hello\nhello\ngood\nhello\n' "$sbeam" draw -m "$data/../../models/greeting.json" --min-len 2 \
    --seed 1 -k 2 -f jsonl -
[ "$code" -eq 1 ] && [ "$(wc -l <out)" -eq 2 ] && grep -q 'input 2: step 1' err
report $? "what precedes an input that fails is written, and the input is named"
feed '\357\273\277{"input":"hello"}\n' "$sbeam" draw -m "$data/../../models/greeting.json" --seed 1 \
    --input jsonl -f jsonl
exits 0 "a byte order mark before JSONL"
feed '{"a\\nb\\u001b[31m":1}\n' "$sbeam" draw -m "$fig1" --input jsonl
[ "$code" -eq 1 ] && [ "$(wc -l <err)" -eq 1 ] && ! grep -q "$(printf '\033')" err
report $? "errors are one line without control characters"
long=$(printf '%0200d' 0)
mkdir -p "$long/$long/$long" && echo '{' >"$long/$long/$long/bad.json"
run "$sbeam" info "$long/$long/$long/bad.json"
says 'bad.json:2: ' "a long path leaves room for the reason"
COLUMNS=600 run "$sbeam" tree -m "$fig1" --seed 1 -k 2
cp out wide && COLUMNS=100 run "$sbeam" tree -m "$fig1" --seed 1 -k 2
[ "$(wc -l <wide)" -eq "$(wc -l <out)" ]
report $? "tree: wide terminals keep their lines"
printf '{"format":"sbeam-tree","tree":{"\357\277\276":[1,null]}}' >noncharacter.json
run "$sbeam" tree -m noncharacter.json --seed 1 -f svg
! grep -q "$(printf '\357\277\276')" out
report $? "tree: no characters that XML forbids"
run "$sbeam" draw -m "$fig1" --seed 1 -T 1e-101
[ "$code" -eq 2 ] && grep -q 'at least 1e-100' err
report $? "temperatures have bounds"
feed 'a\t\n' "$sbeam" shuf -w 2
says ':1: the weight is empty$' "shuf: an empty field is not quoted"
feed 'abc\r\n' "$sbeam" shuf -w 1
says ": 'abc'$" "shuf: the end of a CRLF line is not quoted"
feed "$(printf 'é%.0s' {1..50})\n" "$sbeam" shuf -w 1
says ": 'é\{30\}'$" "shuf: a long field is cut between characters"
feed '' "$sbeam" shuf -n 0 -f tsv
prints '^line' "shuf: the header of a sample of nothing"
feed '' "$sbeam" draw -m "$arpa" -f tsv -
prints '^stream' "draw: the header of an empty table"
feed 'a\nb\n' "$sbeam" shuf -n 2147483646
exits 0 "shuf: a sample as large as the library allows"
lines 2 "shuf: of fewer lines it is all"
usage "a larger one" shuf -n 2147483647
feed '\357\273\277a\n' "$sbeam" draw -m "$arpa" -k 1 --seed 1 -f jsonl -
prints '"input":"a"' "a byte order mark before text"
run "$sbeam" info "$long/$long/$long/bad.json"
says '^sbeam info: \.\.\.0*/bad' "a long path is cut at its start"
for path in "$long/$long/$long" "$long/$long/$long/missing" "$(printf 'é%.0s' {1..300})"; do
    for words in "info" "shuf"; do
        run "$sbeam" "$words" "$path"
        [ "$code" -eq 1 ] && grep -Eq ': [A-Za-z, ]+$' err && ! grep -q '?' err
        report $? "$words: a long path leaves room for the reason: ...${path: -10}"
    done
done
nasty=$(printf 'a\033[31m\302\233b\nc\177\377')
for words in "$nasty" "draw --$nasty" "draw -k $nasty" "draw --method $nasty" "draw -f $nasty" \
    "draw -m $nasty" "shuf -n $nasty" "shuf $nasty" "draw -m $fig1 --ban $nasty" "score x$nasty"; do
    mapfile -t -d ' ' list <<<"$words"
    list[-1]=${list[-1]%$'\n'}
    run "$sbeam" "${list[@]}"
    [ "$code" -ne 0 ] && [ "$(grep -vc '^try' err)" -eq 1 ] && grep -q 'a?\[31m??b?c??' err &&
        ! LC_ALL=C grep -q '[^ -~]' err
    report $? "no control characters in the message: ${words%"$nasty"}"
done
printf '{"format":"sbeam-chain","vocab":["a","\\u001b[31m"],"eos":"\\u001b[31m","start":[1,0],"next":{"a":[0,1]}}' >escape.json
run "$sbeam" info escape.json
[ "$code" -eq 0 ] && ! grep -q "$(printf '\033')" out
report $? "info: no control characters in the text"
feed '{"input":"a a a a a a a a a a a a a a a a a a a a","stream":9223372036854775807}\n' \
    env COLUMNS=20 "$sbeam" draw -m "$arpa" -k 1 --seed 1 --input jsonl
prints '^input 9223372036854775807: .?$' "a long label leaves no room for the input"
run "$sbeam" draw --help
tr -s ' \n' ' ' <out >flat && mv flat out
prints 'by X \(1e-100 to 1e\+100; default' "help: bounds are short"
prints 'token \(diverse; at least 0; default' "help: no bound where there is none"
prints 'tree, chain and ARPA models always are' "help: what is always pretokenized"
prints 'the text is cut before it' "help: --stop cuts"
usage "the flag of a method that has none" draw -m "$fig1" --method beam --no-kappa
says 'beam does not take --no-kappa: it belongs to sbs' "options are named as they are spelt"
for format in jsonl tsv text; do
    run "$sbeam" draw -m pieces.json --bpe-marker @@ --stop al --stop mma --seed 1 -f $format
    prints '(:"|[[:space:]])ma("|$|  \[stop\])' "the first of stop strings that overlap: $format"
done
"$sbeam" bench search 2>err | head -1 >out
prints '^.+; threads 1; kernels [a-z0-9]+; repeats [0-9]+ to' "bench: the machine"

# --- bench decode ---
usage "bench of nothing" bench
says 'search or decode' "bench: what can be measured"
usage "bench of something else" bench frobnicate
usage "bench search takes no k" bench search -k 3
usage "bench search takes no model" bench search -m "$arpa"
usage "bench search takes no temperature" bench search -T 0.5
usage "bench search takes no tokens" bench search --pretokenized
usage "bench decode: k of 0" bench decode -m "$arpa" -k 0
usage "bench decode: a hole in the list of k" bench decode -m "$arpa" -k 1,,2
usage "bench decode: k that is no number" bench decode -m "$arpa" -k 3,x
usage "bench decode: more k than there is room for" bench decode -m "$arpa" -k "$(seq -s , 1 33)"
usage "bench decode: more rows than can be counted" bench decode -m "$arpa" --method rows -k 10000000 --batch 1000
usage "bench decode: unknown method" bench decode -m "$arpa" --method sbs,magic
usage "bench decode: a method without a number of rows" bench decode -m "$arpa" --method reject
says 'at most k rows' "bench decode: why reject is refused"
usage "bench decode: no method" bench decode -m "$arpa" --method ''
for option in source-len len batch repeats threads; do
    usage "bench decode: --$option 0" bench decode -m "$arpa" --$option 0
    usage "bench decode: --$option 1x" bench decode -m "$arpa" --$option 1x
done
usage "bench decode: a batch of 4097" bench decode -m "$arpa" --batch 4097
usage "bench decode: two temperatures" bench decode -m "$arpa" -T 1,2
usage "bench decode: an input" bench decode -m "$arpa" hello
usage "bench decode: seed" bench decode -m "$arpa" --seed 1
run "$sbeam" bench decode -m missing.arpa
exits 1 "bench decode: a model that is not there"
run "$sbeam" bench decode -m "$fig1" --len 100
exits 2 "bench decode: a model whose sequences are shorter"
says 'fixes where its sequences end; bench decode needs' "bench decode: why"
run "$sbeam" bench decode -m "$arpa" -k 2,3 --method sbs,beam,sample,diverse,resample --len 4 \
    --batch 2 --threads 2 --repeats 2 -T 0.5
exits 0 "bench decode"
prints '^small.arpa, arpa, vocabulary [0-9]+, opened in [0-9]+ ms$' "bench decode: what was measured"
prints '^no source: the empty prefix; 4 tokens$' "bench decode: and how"
[ "$(grep -Ec '^(sbs|beam|sample|diverse|resample) +[23] +2 ' out)" -eq 10 ]
report $? "bench decode: a line for each method and k"
prints '^peak memory [1-9]' "bench decode: memory"
run "$sbeam" bench decode -m "$chain" -k 1 --len 3 --threads 2 --batch 3 -f jsonl
exits 0 "bench decode: jsonl"
prints '^\{"program":"sbeam","model":"chain.json","method":"sbs",.*"rows_per_step":6,.*"peak_mib":[0-9.]+\}$' \
    "bench decode: a row per input and thread where k is 1"
lines 1 "bench decode: one record"

if script -qec true typed </dev/null >/dev/null 2>&1; then # a pseudo-terminal can be had
    mkfifo keys
    for words in 'draw -k 1 --threads 2 -f jsonl -' 'score --threads 2'; do
        # On a terminal: what is typed is answered at once, not after a batch or at the end.
        script -qfec "$sbeam $words -m $arpa" screen <keys >/dev/null 2>&1 &
        exec 9>keys
        printf 'a\tb\n' >&9
        for _ in {1..100}; do
            grep -q '"stream":0' screen 2>/dev/null && break
            sleep 0.1
        done
        cp screen out
        exec 9>&-
        wait
        prints '"stream":0' "a terminal is answered line by line: ${words%% *}"
        rm screen
    done
else
    echo "# skipped: a terminal is answered line by line: no pseudo-terminal can be had here"
fi

run "$sbeam" draw -m "$fig1" --seed 1 --length-penalty 0.6
says 'refuses length-penalty: the sequences would no longer be a sample' "a refusal says why"
run "$sbeam" draw -m "$fig1" --seed 1 --early-stop
says 'refuses early-stop' "early stopping is refused with the reason"

. "$here/options.sh"
. "$here/inputs.sh"
. "$here/eval.sh"
. "$here/estimate.sh"
. "$here/gguf.sh"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
