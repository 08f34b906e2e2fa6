#!/bin/bash
# Computes Figure 2 of the paper: BLEU against diversity, for four ways to get k translations.
# experiments/units.sh describes the options.
parts=(../fields.awk)
. "$(dirname "$0")/../units.sh"

levels=0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8 # temperatures, or strengths of diverse beam search
n_sentences=$(wc -l <"$en")
if $quick; then
    levels=0.2,0.4,0.6,0.8
    n_sentences=12
fi
seed=1

# translate ARGUMENT...: draws for all sentences; temperatures share the rows of equal prefixes.
translate() {
    head -n "$n_sentences" "$en" |
        sbeam draw --seed $seed --threads "$(nproc)" --cache 256 -f jsonl "$@"
}

# scores METHOD K: prints a line of CSV for each temperature or strength.
scores() {
    local method=$1 k=$2 strength
    case $method in
    sbs) translate --method sbs -k "$k" -T $levels --no-kappa ;;
    diverse)
        for strength in ${levels//,/ }; do
            translate --method diverse -k "$k" --groups "$k" -T 1 --strength "$strength"
        done
        ;;
    *) translate --method "$method" -k "$k" -T $levels ;;
    esac | sbeam eval --ref "$fr" -f jsonl |
        awk -v digits=6 -v keys="$columns" -f "$here/../fields.awk"
}

# cost METHOD K: prints the approximate seconds, measured on two cores; the cache saves most in beam
# search.
cost() {
    local n_levels percent
    n_levels=$(wc -w <<<"${levels//,/ }")
    case $1 in
    beam) percent=30 ;;
    sample) percent=45 ;;
    sbs) percent=65 ;;
    diverse) percent=85 ;;
    esac
    echo $((n_levels * n_sentences * ($2 + 3) * percent / 120000 + 1))
}

columns=method,k,temperature,strength,inputs,bleu_min,bleu_mean,bleu_max,d1,d2,d3,d4,diversity
names=()
for k in 5 10 20; do
    for method in beam sample sbs diverse; do
        names+=("$method-$k")
        unit "$method-$k" "$(cost $method $k)" scores $method $k
    done
done

# findings TABLE: prints a table of findings.awk.
findings() {
    awk -F , -v table="$1" -f "$here/findings.awk" "$dir/diversity.csv"
}

finish() {
    table diversity.csv $columns cat "${names[@]/#/$work/}"
    table findings-equal-diversity.csv \
        k,strength,diversity,dbs_mean,sbs_mean,difference_mean,dbs_max,sbs_max,difference_max \
        findings equal
    table findings-best.csv \
        k,temperature,beam_max,sbs_max,difference,sample_max,beam_diversity,sbs_diversity findings best
    table claims.csv claim,held,cases findings claims
}
run_finish
