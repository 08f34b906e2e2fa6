#!/bin/bash
# Computes what happens to a rare sequence as sequences grow longer (section 4.1 of the paper).
# experiments/units.sh describes the options.
models=(experiments/naive/model.awk) # writes the models
parts=(exact.awk count.awk)
data=false
. "$(dirname "$0")/../units.sh"

lengths=(1 2 3 4 5 6 8 10 12)
draws=50000 # at k = 5; a quarter of that at k = 20
if $quick; then
    lengths=(1 2 4 8)
    draws=4000
fi
rare1=0.01
rare2=0.001
seed=0 # plus 100 k, plus the length

# rare K LENGTH: prints how often each method draws the two rare sequences, and how often two sequences
# of a draw share their first token. There are 2K likely first tokens. Every K and LENGTH has noise of
# its own.
rare() {
    local k=$1 length=$2 n=$draws method exact
    [ "$k" -gt 5 ] && n=$((draws / 4))
    exact=$(awk -v m=$((2 * k)) -v k="$k" -v len="$length" -v rare1=$rare1 -v rare2=$rare2 \
        -f "$here/exact.awk")
    for method in sbs resample commit; do
        sbeam draw --method $method -k "$k" --max-len "$length" --draws "$n" -f tsv \
            -m <(awk -v m=$((2 * k)) -v rare1=$rare1 -v rare2=$rare2 -f "$here/model.awk") \
            --seed $((seed + 100 * k + length)) --threads "$(nproc)" |
            awk -F '\t' -v method=$method -v k="$k" -v len="$length" -v rare="$rare1 $rare2" \
                -v exact="$exact" -f "$here/count.awk"
    done
}

names=()
for k in 5 20; do
    for length in "${lengths[@]}"; do
        names+=("rare-$k-$length")
        # Measured: about 4 microseconds for each entry of three beams, on two cores.
        unit "rare-$k-$length" $((draws * (k == 5 ? 4 : 1) * k * length / 4 / 250000 + 1)) \
            rare "$k" "$length"
    done
done

finish() {
    table rare.csv method,k,length,p,draws,count,inclusion,se,at_most,exact,ratio,ratio_se \
        sed -n 's/^rare,//p' "${names[@]/#/$work/}"
    table siblings.csv method,k,length,draws,share,se,exact \
        sed -n 's/^siblings,//p' "${names[@]/#/$work/}"
    table findings.csv k,p,length,exact,sbs,resample,resample_ratio,commit,commit_ratio \
        awk -F , -v table=findings -f "$here/findings.awk" "$dir/rare.csv" "$dir/siblings.csv"
    table claims.csv claim,held,cases \
        awk -F , -v table=claims -f "$here/findings.awk" "$dir/rare.csv" "$dir/siblings.csv"
}
run_finish
