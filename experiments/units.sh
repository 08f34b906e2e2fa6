# Sourced by the run.sh of every experiment: its options, and its work in units that are never
# done twice, so that a run that was ended, by kill -9 if need be, goes on where it was.
#
#   run.sh [--quick] [--out DIR] [--data EN FR] [--list]
#
# --out   the CSV and SVG go to DIR/EXPERIMENT/ (default: experiments/, with --quick build/figures)
# --data  sentences and their references (default: experiments/data/everyday.{en,fr})
# --list  prints "UNIT COST" (about how many seconds) for each unit, "found" where it is finished
#
# A run.sh needs sbeam in PATH and looks like this:
#
#   models=(models/fig1.json)       # before: models that decide the result, from the top folder
#                                   # (default: the translation model)
#   parts=(draws.sh)                # before: other files that decide the units (default: none)
#   data=false                      # before: neither EN nor FR is used
#   shared=NAME                     # before: experiments that share units, which run.sh decides not
#   . "$(dirname "$0")/../units.sh"
#   unit NAME COST COMMAND...       # standard output goes to $work/NAME once COMMAND succeeded
#   finish() {                      # writes the CSV from the units
#       table data.csv 'k,bleu' cat "$work/NAME"
#   }
#   run_finish                      # finish, then plot.gp
#
# It may use quick (true or false), out, dir ($out/EXPERIMENT), en, fr, work and top. COMMAND runs
# under set -eu -o pipefail. Standard output tells what happens: "start UNIT COST", then "done UNIT
# COST", or "found UNIT COST"; "wait" where another run is at work in the same folder.
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
    fail "'$en' has $(wc -l <"$en") lines and '$fr' $(wc -l <"$fr"), but a line is a sentence and its references"
fi
command -v sbeam >/dev/null || fail "there is no sbeam in PATH; scripts/figures puts it there"

# Other files, settings or programs get another folder, so that new units are never mixed with old
# ones.
deciders+=("$(command -v sbeam)")
key=$({ echo "$quick" && sha256sum "${deciders[@]}" | cut -d ' ' -f 1; } | sha256sum)
work=$out/.work/$pool-${key:0:12}

# Two runs at once would do the same work. Children do not inherit the lock, or those that outlive a
# kill would keep it; a run.sh that outlives a kill of its caller ends with its unit, which is kept.
if ! $listing; then
    mkdir -p "$dir" "$out/.work"
    exec 9>"$out/.work/$pool.lock"
    if ! flock -n 9; then
        echo "wait for-another-run 0"
        flock -w 600 9 || fail "another run is at work in '$out'"
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
    part=$work/$name.part.$$ # of this run alone: an orphan may still write to its own
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

# table FILE HEADER COMMAND...: writes $dir/FILE, whole or not at all.
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
        fail "gnuplot could not plot"
}
