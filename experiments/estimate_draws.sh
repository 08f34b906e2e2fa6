# Estimates E[f] for three sentences. bleu-estimate/run.sh and entropy-estimate/run.sh set f and source
# it; both use the same draws, and the first to run makes the units of both.
#
# A unit is a CSV file. Each line begins with "bleu" or "entropy"; the other columns depend on the unit:
#   truth-S      the truth of sentence S (a line of the data) at all temperatures, from one large draw
#   beam-S       beam search for sentence S at all temperatures, once for each k of a grid
#   METHOD-S-T   the estimators of a method over many draws at temperature T, for each k
shared=estimate
parts=(../estimate_draws.sh ../fields.awk)
. "$(dirname "$0")/../units.sh"

sentences=(100 200 300)
temperatures=(0.05 0.1 0.2 0.5 1)
repetitions=100
most=250          # largest k
truth_k=5000
grid=(1 2 3 4 5 6 7 8 9 10 12 14 16 18 20 22 25 28 32 36 40 45 50 56 63 71 80 90 100 110 120 130
    140 150 165 180 195 210 230 250) # k of beam search, whose beams are not nested
if $quick; then
    repetitions=20
    most=20
    truth_k=200
    grid=(1 2 5 10 20)
fi
seed=1
truth_seed=2 # the truth has noise of its own
for line in "${sentences[@]}"; do
    [ "$(wc -l <"$en")" -ge "$line" ] || fail "'$en' has $(wc -l <"$en") lines: expected at least $line"
done

# draw SENTENCE ARGUMENT...: draws for one sentence. Its stream is its line in the data, counted from
# 0, by which `sbeam estimate` finds its references.
draw() {
    local line=$1
    shift
    sed -n "${line}p" "$en" | tr -d '\r' | sed 's/[\\"]/\\&/g; s/\t/\\t/g' |
        awk -v stream=$((line - 1)) '{ printf "{\"input\":\"%s\",\"stream\":%d}\n", $0, stream }' |
        sbeam draw --input jsonl --threads "$(nproc)" --cache 1024 -f jsonl "$@"
}

# estimates F KEYS ARGUMENT...: prints estimates of E[F] from the draws in $draws, as CSV.
estimates() {
    local options=(--f "$1" -f jsonl "${@:3}")
    [ "$1" = bleu ] && options+=(--ref "$fr")
    sbeam estimate "${options[@]}" <"$draws" | awk -v keys="$2" -f "$here/../fields.awk" |
        sed "s/^/$1,/"
}

truth() { # truth SENTENCE
    local draws=$work/truth-$1.draws.part.$$ f
    draw "$1" -k $truth_k -T "$every_temperature" --seed $truth_seed --batch 1 >"$draws"
    for f in bleu entropy; do
        estimates $f estimator,stream,temperature,k,estimate,se | grep "^$f,sbs-normalised,"
    done
    rm "$draws"
}

# summary SENTENCE T ARGUMENT...: prints mean, band and error over the draws at T in $draws, for each k.
summary() {
    local f value
    for f in bleu entropy; do
        value=$(awk -F , -v f=$f -v t="$2" '$1 == f && $4 == t { print $6 }' "$work/truth-$1")
        estimates $f estimator,stream,temperature,k,draws,mean,p025,p975,bias,rmse \
            --summary --truth "$value" "${@:3}"
    done
}

curve() { # curve METHOD SENTENCE T
    local draws=$work/$1-$2-$3.draws.part.$$
    draw "$2" --method "$1" -k $most -T "$3" --draws $repetitions --seed $seed >"$draws"
    summary "$2" "$3" --curve "1..$most"
    rm "$draws"
}

beam() { # beam SENTENCE
    local all=$work/beam-$1.all.part.$$ draws=$work/beam-$1.draws.part.$$ k temperature
    for k in "${grid[@]}"; do
        draw "$1" --method beam -k "$k" -T "$every_temperature" --batch 1
    done >"$all"
    for temperature in "${temperatures[@]}"; do
        grep -F "\"temperature\":$temperature," "$all" >"$draws"
        summary "$1" "$temperature"
    done
    rm "$all" "$draws"
}

# seconds METHOD T: prints the approximate time of a unit, measured on two cores for a full run on a
# sentence of 15 words.
seconds() {
    local full
    case $1-$2 in
    sbs-0.05) full=5 ;;
    sbs-0.1) full=9 ;;
    sbs-0.2) full=16 ;;
    sbs-0.5) full=35 ;;
    sample-0.5) full=20 ;;
    *-1) full=50 ;;
    *) full=2 ;;
    esac
    echo $((full * repetitions * most / 25000 + 1))
}

every_temperature=$(IFS=, && echo "${temperatures[*]}")
units=()
truths=()
for sentence in "${sentences[@]}"; do
    truths+=("$work/truth-$sentence")
    unit "truth-$sentence" $((truth_k / 100 + 1)) truth "$sentence"
    for temperature in "${temperatures[@]}"; do
        for method in sample sbs; do
            units+=("$work/$method-$sentence-$temperature")
            unit "$method-$sentence-$temperature" "$(seconds $method "$temperature")" \
                curve $method "$sentence" "$temperature"
        done
    done
    units+=("$work/beam-$sentence")
    unit "beam-$sentence" $((${#grid[@]} * most / 600 + 1)) beam "$sentence"
done

# of_f FILE...: prints the lines for $f, sorted by sentence (its line in the data) and curve.
of_f() {
    awk -F , -v OFS=, -v f="$f" '
        $1 == f {
            line = ($3 + 1) "," $4 "," $2 "," $5
            for (i = 6; i <= NF; i++)
                line = line "," sprintf("%.6g", $i)
            if (NF == 11) # bias and RMSE give the standard deviation over the draws
                line = line sprintf(",%.6g", sqrt($11 > $10 && $11 > -$10 ? $11 ^ 2 - $10 ^ 2 : 0))
            print line
        }' "$@" | sort -t , -k 1,1n -k 2,2g -k 3,3 -k 4,4n
}

# findings TABLE: prints a table of estimate_findings.awk.
findings() {
    awk -F , -v table="$1" -f "$here/../estimate_findings.awk" "$dir/truth.csv" "$dir/estimates.csv"
}

finish() {
    local columns=sentence,temperature,k,truth,truth_se,sd_mc,sd_sbs,sd_sbs_normalised
    table estimates.csv sentence,temperature,estimator,k,draws,mean,p025,p975,bias,rmse,sd \
        of_f "${units[@]}"
    table truth.csv sentence,temperature,estimator,k,truth,se of_f "${truths[@]}"
    table findings.csv $columns,sd_ratio,bias_sbs_normalised,rmse_ratio findings findings
    table claims.csv claim,held,cases findings claims
}
run_finish
