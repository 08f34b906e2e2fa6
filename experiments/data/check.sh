#!/bin/bash
# Checks that sentence pairs have the form that README.md describes: check.sh [SOURCES REFERENCES]
# Prints the first fault with path:line and exits 1. Without arguments it checks the files of this folder.
set -u
here=$(dirname "$0")
case $# in
0) set -- "$here/everyday.en" "$here/everyday.fr" ;;
2) ;;
*) echo "usage: check.sh [SOURCES REFERENCES]" >&2 && exit 2 ;;
esac

for file; do
    if [ ! -f "$file" ] || [ ! -r "$file" ]; then
        echo "$file: expected a readable file" >&2
        exit 1
    fi
    # ".*" matches every line of valid UTF-8. NUL bytes are first turned into invalid ones.
    bad=$(tr '\0' '\377' <"$file" | LC_ALL=C.UTF-8 grep -a -n -x -v -m 1 '.*' | cut -d: -f1)
    if [ -n "$bad" ]; then
        echo "$file:$bad: expected UTF-8 without NUL bytes, found other bytes" >&2
        exit 1
    fi
done

# awk compares bytes, so that only a space or a tab is a blank.
LC_ALL=C awk -v sources="$1" -v references="$2" '
function fail(path, line, what) {
    printf "%s:%d: %s\n", path, line, what > "/dev/stderr"
    failed = 1
    exit 1
}
function count(path, n) {
    while ((getline text < path) > 0)
        n++
    close(path)
    return n + 0
}
BEGIN {
    n = count(sources)
    m = count(references)
    if (n == 0)
        fail(sources, 1, "expected sentences, found none")
    if (n != m)
        fail(n < m ? references : sources, (n < m ? n : m) + 1,
             "expected the same number of lines in both files, found " n " and " m)
    for (i = 1; i <= n; i++) {
        getline source < sources
        getline reference < references
        if (source ~ /\t/)
            fail(sources, i, "expected no tab in a source, found one")
        if (source ~ /\r/)
            fail(sources, i, "expected LF at the end of the line, found a carriage return")
        if (reference ~ /\r/)
            fail(references, i, "expected LF at the end of the line, found a carriage return")
        words = split(source, unused, " ")
        if (words < 4 || words > 20)
            fail(sources, i, "expected 4 to 20 words, found " words)
        if (source in seen)
            fail(sources, i, "expected distinct sources, found that of line " seen[source])
        seen[source] = i
        k = split(reference, part, "\t")
        if (k < 1 || k > 2)
            fail(references, i, "expected 1 or 2 references, found " k)
        if (part[1] !~ /[^ ]/ || (k == 2 && part[2] !~ /[^ ]/))
            fail(references, i, "expected a text, found an empty reference")
        if (k == 2 && part[1] == part[2])
            fail(references, i, "expected two different references, found the same twice")
        two += k == 2
        third[words < 9 ? 1 : words < 14 ? 2 : 3]++
        sum += words
    }
}
END {
    if (failed)
        exit 1
    printf "%d pairs, %d with two references; ", n, two
    printf "%d of 4 to 8 words, %d of 9 to 13, %d of 14 to 20; mean %.1f\n",
           third[1], third[2], third[3], sum / n
}' </dev/null
