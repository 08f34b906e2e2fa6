#!/bin/bash
# Draws 1,000 sources of a file of pairs, always the same, with all references of equal sources.
#   tatoeba.sh TEST.en TEST.fr PREFIX
# Writes PREFIX.en, one source per line, and PREFIX.fr, its distinct references separated by tabs, for
#   experiments/diversity/run.sh --data PREFIX.en PREFIX.fr --out DIR
# sbeam must be in PATH.
set -eu -o pipefail
export LC_ALL=C.UTF-8
if [ $# -ne 3 ]; then
    echo "usage: tatoeba.sh TEST.en TEST.fr PREFIX" >&2
    exit 2
fi
if [ "$(wc -l <"$1")" -ne "$(wc -l <"$2")" ]; then
    echo "tatoeba.sh: expected the same number of lines in both files, found $(wc -l <"$1") in '$1' and $(wc -l <"$2") in '$2'" >&2
    exit 1
fi
command -v sbeam >/dev/null || { echo "tatoeba.sh: sbeam is not in PATH" >&2 && exit 1; }

lines=$(mktemp)
trap 'rm -f "$lines" "$lines.drawn"' EXIT
paste "$1" "$2" | tr -d '\r' | awk -F '\t' '
    NF != 2 || $1 == "" || $2 == "" { next }
    !($1 in references) { order[++n] = $1 }
    !(($1, $2) in seen) {
        seen[$1, $2] = 1
        references[$1] = references[$1] "\t" $2
    }
    END {
        for (i = 1; i <= n; i++)
            print order[i] references[order[i]]
    }' >"$lines"
sbeam shuf -n 1000 --seed 1 "$lines" >"$lines.drawn"
cut -f 1 "$lines.drawn" >"$3.en"
cut -f 2- "$lines.drawn" >"$3.fr"
echo "tatoeba.sh: $(wc -l <"$3.en") of $(wc -l <"$lines") sources, $(awk -F '\t' '{ n += NF } END { print n }' "$3.fr") references" >&2
