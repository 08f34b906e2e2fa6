#!/bin/bash
# Refuses pairs that are not as README.md says: check.sh [SOURCES REFERENCES]
# Says the first fault as path:line and exits 1. Without arguments: the files beside this script.
set -u
here=$(dirname "$0")
case $# in
0) set -- "$here/everyday.en" "$here/everyday.fr" ;;
2) ;;
*) echo "usage: check.sh [SOURCES REFERENCES]" >&2 && exit 2 ;;
esac

for file; do
    if [ ! -f "$file" ] || [ ! -r "$file" ]; then
        echo "$file: not a readable file" >&2
        exit 1
    fi
    # ".*" matches every line but those that are not UTF-8. NUL is made one of them.
    bad=$(tr '\0' '\377' <"$file" | LC_ALL=C.UTF-8 grep -a -n -x -v -m 1 '.*' | cut -d: -f1)
    if [ -n "$bad" ]; then
        echo "$file:$bad: not valid UTF-8, or a NUL byte" >&2
        exit 1
    fi
done

# Bytes from here on: a blank is a space or a tab, and only that.
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
             "expected as many lines in both files, found " n " and " m)
    for (i = 1; i <= n; i++) {
        getline source < sources
        getline reference < references
        if (source ~ /\t/)
            fail(sources, i, "a tab")
        if (source ~ /\r/)
            fail(sources, i, "a carriage return")
        if (reference ~ /\r/)
            fail(references, i, "a carriage return")
        words = split(source, unused, " ")
        if (words < 4 || words > 20)
            fail(sources, i, "expected 4 to 20 words, found " words)
        if (source in seen)
            fail(sources, i, "the same as line " seen[source])
        seen[source] = i
        k = split(reference, part, "\t")
        if (k < 1 || k > 2)
            fail(references, i, "expected 1 or 2 references, found " k)
        if (part[1] !~ /[^ ]/ || (k == 2 && part[2] !~ /[^ ]/))
            fail(references, i, "an empty reference")
        if (k == 2 && part[1] == part[2])
            fail(references, i, "twice the same reference")
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
