#!/bin/bash
# Computes how far the draws of four methods are from sampling without replacement.
# experiments/units.sh describes the options.
models=(experiments/exactness/tree.json experiments/exactness/wide.json models/fig1.json)
parts=(distance.awk)
data=false
. "$(dirname "$0")/../units.sh"

marks="1000 2000 5000 10000 20000 50000 100000 200000" # numbers of draws
more="$marks 500000 1000000"                            # on the tree of 27 leaves
if $quick; then
    marks="1000 2000 5000 10000 20000"
    more=$marks
fi

seed=1
other_seed=2

# distance MODEL K TEMPERATURE METHOD MARKS: prints a line of CSV for each mark. `sbs-again` is sbs with
# another seed.
distance() {
    local model=$1 k=$2 temperature=$3 method=$4 marks=$5 s=$seed file=$here/$1.json
    [ "$model" = fig1 ] && file=$top/models/fig1.json
    [ "$method" = sbs-again ] && s=$other_seed
    sbeam draw -m "$file" --method "${method%-again}" -k "$k" -T "$temperature" --seed "$s" \
        --draws "${marks##* }" --threads "$(nproc)" -f tsv |
        awk -F '\t' -v k="$k" -v marks="$marks" -f "$here/distance.awk" \
            <(sbeam draw -m "$file" -k 100 -T "$temperature" --seed 1 -f tsv) - |
        sed "s/^/$model,$k,$temperature,$method,/"
}

names=()
# cases MODEL K MARKS METHOD...: makes a unit for each temperature and method.
cases() {
    local model=$1 k=$2 marks=$3 temperature method
    shift 3
    for temperature in 1 0.5; do
        for method; do
            names+=("$model-$temperature-$method")
            # Measured: about 4 microseconds for each sequence.
            unit "$model-$temperature-$method" $((${marks##* } * k / 250000 + 1)) \
                distance "$model" "$k" "$temperature" "$method" "$marks"
        done
    done
}
cases tree 2 "$more" sbs sbs-again resample commit beam-sample
cases wide 2 "$marks" sbs sbs-again resample commit beam-sample
# Figure 1's tree has two first tokens, so commit never gets three sequences and is left out.
cases fig1 3 "$marks" sbs sbs-again resample beam-sample

finish() {
    table exactness.csv \
        model,k,temperature,method,draws,tv_sets,expected_sets,tv_first,expected_first \
        cat "${names[@]/#/$work/}"
    table findings.csv \
        model,k,temperature,method,draws,tv_sets,expected_sets,tv_first,expected_first \
        awk -F , -v table=findings -f "$here/findings.awk" "$dir/exactness.csv"
    table claims.csv claim,held,cases \
        awk -F , -v table=claims -f "$here/findings.awk" "$dir/exactness.csv"
}
run_finish
