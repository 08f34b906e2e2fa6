#!/bin/bash
# Computes what k distinct samples cost by rejection as entropy falls (section 4.2 of the paper).
# experiments/units.sh describes the options.
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
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
awk -v n=$n_sentences 'NR % 15 == 1 && n-- > 0' "$en" >"$scratch/sentences" # lines 1, 16, 31, ...

# seconds COMMAND...: prints the processor time of the whole command, which has one thread: the
# smallest of three runs, or of fewer if a run takes over 1.5 s. $scratch/records has its output.
seconds() {
    local TIMEFORMAT='%U %S' i
    for i in 1 2 3; do
        { time "$@" <"$scratch/sentences" >"$scratch/records" 2>&3; } 3>&2 2>"$scratch/time" || exit
        cat "$scratch/time"
        awk '$1 + $2 > 1.5 { exit 1 }' "$scratch/time" || break
    done | awk '{ time = $1 + $2; if (NR == 1 || time < best) best = time } END { printf "%.3f\n", best }'
}

# Prints the time of a command that only loads the model and encodes the sentences.
startup() {
    seconds sbeam draw --method beam -k 1 --max-len 1 -f jsonl
}

# entropy TEMPERATURE: prints the mean of -log p over samples and sentences, in nats.
entropy() {
    local temperature=$1
    echo "$temperature $(sbeam draw --method sample -k 200 -T "$temperature" --seed $seed -f tsv \
        <"$scratch/sentences" |
        awk -F '\t' 'NR > 1 { sum -= $9; n++ } END { printf "%.4g", sum / n }')"
}

# price METHOD K TEMPERATURE: prints rows, samples and time of a method, as a line of CSV.
price() {
    local method=$1 k=$2 temperature=$3 time option="--no-kappa"
    [ "$method" = reject ] && option="--max-samples $max_samples"
    time=$(seconds sbeam draw --method "$method" -k "$k" -T "$temperature" --seed $seed $option -f jsonl)
    awk -v keys=complete,samples,sampled_rows,model_rows -f "$here/../fields.awk" "$scratch/records" |
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
    table evaluations.csv \
        method,k,temperature,entropy,inputs,censored,samples,rows,rows_median,rows_evaluated,seconds,startup_seconds \
        awk -F , -v OFS=, -v startup="$(cat "$work/startup")" '
            FILENAME ~ /\/entropy-[^\/]*$/ { split($0, field, " "); entropy[field[1]] = field[2]; next }
            { $3 = $3 "," entropy[$3]; print $0, startup }' "$work"/entropy-* "${names[@]/#/$work/}"
    table findings.csv \
        k,temperature,entropy,sbs_rows,reject_samples,reject_rows,given_up,reject_rows_shared,sbs_ms,reject_ms \
        awk -F , -v table=findings -f "$here/findings.awk" "$dir/evaluations.csv"
    table claims.csv claim,held,cases \
        awk -F , -v table=claims -f "$here/findings.awk" "$dir/evaluations.csv"
}
run_finish
