# Gives every run.sh its options, and divides its work into units that are never done twice: a run
# that was interrupted, even by kill -9, continues from its last finished unit. Each run.sh sources it.
#
#   run.sh [--quick] [--out DIR] [--data EN FR] [--list]
#
# --out   writes CSV and SVG to DIR/EXPERIMENT/ (default: experiments/, with --quick build/figures)
# --data  sentences and their references (default: experiments/data/everyday.{en,fr})
# --list  prints "UNIT COST" for each unit, COST in approximate seconds, and "found" if it is finished
#
# A run.sh needs sbeam in PATH and looks like this:
#
#   models=(models/fig1.json)       # models that affect the result, from the top folder
#                                   # (default: the translation model)
#   parts=(draws.sh)                # other files that affect the units (default: none)
#   data=false                      # neither EN nor FR is used
#   shared=NAME                     # experiments with this NAME share units; then run.sh itself
#                                   # must not affect them
#   . "$(dirname "$0")/../units.sh" # the settings above must come before this line
#   unit NAME COST COMMAND...       # standard output goes to $work/NAME once COMMAND succeeded
#   finish() {                      # writes the CSV from the units
#       table data.csv 'k,bleu' cat "$work/NAME"
#   }
#   run_finish                      # calls finish, then plot.gp
#
# It may use quick (true or false), out, dir ($out/EXPERIMENT), en, fr, work and top. COMMAND runs
# under set -eu -o pipefail. Standard output reports progress: "start UNIT COST" and "done UNIT COST",
# or "found UNIT COST"; "wait" while another run works in the same folder.
set -eu -o pipefail
export LC_ALL=C.UTF-8

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
experiment=$(basename "$here")
quick=false
listing=false
out=
en=$top/experiments/data/everyday.en
fr=$top/experiments/data/everyday.fr

fail() {
    echo "$experiment: $*" >&2
    exit 1
}

usage() {
    echo "$experiment: $*" >&2
    echo "usage: $0 [--quick] [--out DIR] [--data EN FR] [--list]" >&2
    exit 2
}

while [ $# -gt 0 ]; do
    case $1 in
    --quick) quick=true ;;
    --list) listing=true ;;
    --help | -h)
        echo "usage: $0 [--quick] [--out DIR] [--data EN FR] [--list]"
        exit 0
        ;;
    --out)
        [ $# -ge 2 ] && [ -n "$2" ] || usage "--out needs a folder"
        case $2 in *\'*) usage "--out must have no quote in its name" ;; esac
        out=$(realpath -m -- "$2")
        shift
        ;;
    --data)
        [ $# -ge 3 ] || usage "--data needs two files: sentences and references"
        en=$(realpath -m -- "$2")
        fr=$(realpath -m -- "$3")
        shift 2
        ;;
    *) usage "unknown argument '$1'" ;;
    esac
    shift
done
if [ -z "$out" ]; then
    out=$top/experiments
    $quick && out=$top/build/figures
fi
dir=$out/$experiment

pool=${shared:-$experiment}
deciders=() # the files on which the units depend
[ "$pool" = "$experiment" ] && deciders+=("$here/run.sh")
${data:-true} && deciders+=("$en" "$fr")
export SBEAM_MODEL=${SBEAM_MODEL:-$top/models/enfr-everyday.safetensors}
[ -z "${models+set}" ] && models=("$SBEAM_MODEL")
for file in "${models[@]}"; do
    case $file in
    /*) deciders+=("$file") ;;
    *) deciders+=("$top/$file") ;;
    esac
done
for file in ${parts[@]+"${parts[@]}"}; do
    deciders+=("$here/$file")
done
for file in "${deciders[@]}"; do
    [ -f "$file" ] && [ -r "$file" ] || fail "'$file' cannot be read"
done
if ${data:-true} && [ "$(wc -l <"$en")" -ne "$(wc -l <"$fr")" ]; then
    fail "'$en' has $(wc -l <"$en") lines and '$fr' has $(wc -l <"$fr"): expected equal numbers, a line is a sentence and its references"
fi
command -v sbeam >/dev/null || fail "sbeam is not in PATH; run scripts/figures, which puts it there"

# Other files, settings or programs give another key and so another folder: new units are never
# mixed with old ones.
deciders+=("$(command -v sbeam)")
key=$({ echo "$quick" && sha256sum "${deciders[@]}" | cut -d ' ' -f 1; } | sha256sum)
work=$out/.work/$pool-${key:0:12}

# The lock keeps two runs from doing the same work. Children do not inherit it: a child that outlives
# a kill would keep it. A run.sh that outlives its killed caller ends after its unit, which is kept.
if ! $listing; then
    mkdir -p "$dir" "$out/.work"
    exec 9>"$out/.work/$pool.lock"
    if ! flock -n 9; then
        echo "wait for-another-run 0"
        flock -w 600 9 || fail "another run has been at work in '$out' for 10 minutes; wait for its end"
    fi
    rm -f "$out/.work/$pool"-*/*.part.*
    trap 'exit 130' INT TERM HUP
fi

unit() {
    local name=$1 cost=$2 id part status since=$SECONDS
    shift 2
    id=$(basename "$work")/$name
    if $listing; then
        echo "$id $cost $([ -e "$work/$name" ] && echo found)"
        return
    fi
    if [ -e "$work/$name" ]; then
        echo "found $id $cost"
        return
    fi
    echo "start $id $cost"
    mkdir -p "$work"
    part=$work/$name.part.$$ # named by process: an orphan of another run may still write to its own
    set +e
    (
        set -eu -o pipefail
        "$@"
    ) >"$part" 2>"$part.messages" 9>&-
    status=$?
    set -e
    if [ $status -ne 0 ]; then
        cat "$part.messages" >&2
        rm -f "$part" "$part.messages"
        fail "unit $name failed with status $status: $*"
    fi
    rm -f "$part.messages"
    mv "$part" "$work/$name"
    echo "$name $((SECONDS - since))" >>"$work/.seconds"
    echo "done $id $cost"
}

# table FILE HEADER COMMAND...: writes $dir/FILE, completely or not at all.
table() {
    local file=$dir/$1 header=$2
    shift 2
    {
        echo "$header"
        "$@"
    } >"$file.part"
    mv "$file.part" "$file"
}

run_finish() {
    $listing && exit 0
    finish
    (cd "$here" && gnuplot -e "dir='$(cd "$dir" && pwd)'" plot.gp) 9>&- ||
        fail "gnuplot failed on plot.gp; its message is above"
}
