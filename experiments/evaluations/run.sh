#!/bin/bash
# Section 4.2 of the paper: the price of k distinct samples by rejection, as entropy falls.
# Options: experiments/units.sh
parts=(reduce.awk ../fields.awk)
. "$(dirname "$0")/../units.sh"

temperatures=(1 0.7 0.5 0.35 0.25 0.2 0.15 0.1 0.07 0.05)
ks=(10 50)
n_sentences=20
max_samples=30000
if $quick; then
    temperatures=(1 0.35 0.1 0.05)
    ks=(10)
    n_sentences=6
    max_samples=3000
fi
seed=1
records=$(mktemp)
trap 'rm -f "$records"' EXIT

# Lines 1, 16, 31, ...
sentences() {
    awk -v n=$n_sentences 'NR % 15 == 1 && n-- > 0' "$en"
}

# seconds COMMAND...: its time, the least of three runs where these take under 5 s; what it wrote is
# in $records. One thread; the time is that of the whole command.
seconds() {
    local best= begin time spent=0 i
    for i in 1 2 3; do
        begin=${EPOCHREALTIME/[.,]/}
        sentences | "$@" >"$records"
        time=$((${EPOCHREALTIME/[.,]/} - begin))
        spent=$((spent + time))
        [ -z "$best" ] || [ $time -lt "$best" ] && best=$time
        [ $spent -gt 3400000 ] && break
    done
    printf '%d.%06d\n' $((best / 1000000)) $((best % 1000000))
}

# What a command costs that only loads the model and encodes the sentences.
startup() {
    seconds sbeam draw --method beam -k 1 --max-len 1 -f jsonl
}

# The mean of -log p over samples and sentences, in nats.
entropy() {
    local temperature=$1
    echo "$temperature $(sentences |
        sbeam draw --method sample -k 200 -T "$temperature" --seed $seed -f tsv |
        awk -F '\t' 'NR > 1 { sum -= $9; n++ } END { printf "%.4g", sum / n }')"
}

# price METHOD K TEMPERATURE
price() {
    local method=$1 k=$2 temperature=$3 time option="--no-kappa"
    [ "$method" = reject ] && option="--max-samples $max_samples"
    time=$(seconds sbeam draw --method "$method" -k "$k" -T "$temperature" --seed $seed $option -f jsonl)
    awk -v keys=complete,samples,sampled_rows,model_rows -f "$here/../fields.awk" "$records" |
        awk -F , -v method="$method" -v k="$k" -v temperature="$temperature" -v seconds="$time" \
            -f "$here/reduce.awk"
}

unit startup 2 startup
names=()
for temperature in "${temperatures[@]}"; do
    unit "entropy-$temperature" 2 entropy "$temperature"
    for k in "${ks[@]}"; do
        names+=("sbs-$k-$temperature" "reject-$k-$temperature")
        unit "sbs-$k-$temperature" $((k / 10 + 1)) price sbs "$k" "$temperature"
        unit "reject-$k-$temperature" $((k / 10 + 2)) price reject "$k" "$temperature"
    done
done

finish() {
    table evaluations.csv method,k,temperature,entropy,inputs,censored,samples,rows,rows_median,rows_evaluated,seconds,startup_seconds \
        awk -F , -v OFS=, -v startup="$(cat "$work/startup")" '
            FILENAME ~ /\/entropy-[^\/]*$/ { split($0, field, " "); entropy[field[1]] = field[2]; next }
            { $3 = $3 "," entropy[$3]; print $0, startup }' "$work"/entropy-* "${names[@]/#/$work/}"
}
run_finish
