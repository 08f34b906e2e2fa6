# Cases of where inputs come from: --file, data that waits on standard input, and escapes of --stop. Sourced by run.sh,
# whose functions it uses.

# --- --file: one input of any number of lines ---
printf 'a b\na' >two-lines
printf 'a' >one-line
run "$sbeam" draw -m "$arpa" -k 1 --seed 1 -f jsonl a "$(cat two-lines)" a "$(cat two-lines)"
cp out first
run "$sbeam" draw -m "$arpa" -k 1 --seed 1 -f jsonl a --file two-lines a --file=two-lines
exits 0 "--file"
same first out "--file: the draws of the same texts as arguments, numbered together"
prints '"stream":3,"draw":0,"input":"a b\\na"' "--file: the whole content is the input"
run "$sbeam" draw -m "$arpa" -k 1 --seed 1 -f jsonl --file one-line -- "$(cat two-lines)" a
cut -d , -f 1,3 out >order
printf '{"stream":0,"input":"a"\n{"stream":1,"input":"a b\\na"\n{"stream":2,"input":"a"\n' >want
same order want "--file: numbered in the order of the command line"
run "$sbeam" draw -m "$arpa" -k 1 --seed 1 -f jsonl a
cp out first
printf 'a\n' >newline
printf '\357\273\277a\n' >mark
printf '' >empty
for file in newline mark one-line; do
    run "$sbeam" draw -m "$arpa" -k 1 --seed 1 -f jsonl --file $file
    same first out "--file: one newline at the end and a byte order mark are left out: $file"
done
printf 'a\n\n' >newlines
run "$sbeam" draw -m "$arpa" -k 1 --seed 1 -f jsonl --file newlines
prints '"input":"a\\n"' "--file: only one newline is left out"
run "$sbeam" draw -m "$arpa" -k 1 --seed 1 -f jsonl --file empty
prints '"input":"","method"' "--file: an empty file is the empty input"
feed 'a b\na\n' "$sbeam" draw -m "$arpa" -k 1 --seed 1 -f jsonl --file -
exits 0 "--file -"
prints '"stream":0,"draw":0,"input":"a b\\na"' "--file -: standard input is one input"
"$sbeam" draw -m "$arpa" -k 1 --seed 1 -f jsonl --file long >out 2>err </dev/null
code=$?
exits 0 "--file: 600,000 bytes"
printf 'nonsuch\377' >bad-utf8
run "$sbeam" draw -m "$arpa" -k 1 --seed 1 -f jsonl --file bad-utf8
prints '"input":"nonsuch�"' "--file: invalid UTF-8 as in a line"
printf 'a\0b' >nul
run "$sbeam" draw -m "$arpa" -k 1 --seed 1 -f jsonl --file nul
cp out first
cp err first-err
printf 'a\0b' | "$sbeam" draw -m "$arpa" -k 1 --seed 1 -f jsonl - >out 2>err
same first out "--file: a zero byte as in a line"
same first-err err "--file: a zero byte as in a line, messages"
run "$sbeam" draw -m "$arpa" -k 1 --seed 1 -f jsonl a --file missing.txt
exits 1 "--file: a file that is not there"
says '^sbeam draw: missing.txt: No such file' "--file: a file that is not there is named"
run "$sbeam" draw -m "$arpa" -k 1 --file .
exits 1 "--file: a directory"
usage "--file without a name" draw -m "$arpa" --file ''
usage "--file with --input jsonl" draw -m "$arpa" --file newline --input jsonl
says 'takes no --file$' "--file with --input jsonl: why"
usage "--file with dash" draw -m "$arpa" --file newline -
usage "--file - twice" draw -m "$arpa" --file - --file -
says 'cannot be repeated' "--file - twice: why"
run "$sbeam" tree -m "$chain" -k 2 --max-len 3 --seed 1 a
cp out first
run "$sbeam" tree -m "$chain" -k 2 --max-len 3 --seed 1 --file newline
exits 0 "tree --file"
same first out "tree --file: the tree of the same INPUT"
feed 'a\n' "$sbeam" tree -m "$chain" -k 2 --max-len 3 --seed 1 --file -
same first out "tree --file -"
run "$sbeam" tree -m "$chain" -k 2 --max-len 3 --file missing.txt
exits 1 "tree --file: a file that is not there"
usage "tree: --file and INPUT" tree -m "$chain" --file newline a
usage "tree: two files" tree -m "$chain" --file newline --file newline
usage "tree: --file without a name" tree -m "$chain" --file ''

# --- data that waits on standard input is not ignored in silence ---
run "$sbeam" draw -m "$arpa" -k 2 --seed 1
exits 0 "no hint: /dev/null"
cp out first
hints() { # hints NAME: the last run drew as without input, and said how to read standard input
    [ "$code" -eq 0 ] && cmp -s first out && [ "$(wc -l <err)" -eq 1 ] && grep -q "^sbeam draw: hint: .*add '-'" err
    report $? "a hint: $1"
}
mkfifo waiting
exec 8<>waiting # a pipe that is never at its end
timeout 20 "$sbeam" draw -m "$arpa" -k 2 --seed 1 <&8 >out 2>err
code=$?
same first out "no hint: an empty pipe that stays open, and no waiting for it"
exits 0 "no hint: an empty pipe that stays open"
printf 'a b\n' >&8
timeout 20 "$sbeam" draw -m "$arpa" -k 2 --seed 1 <&8 >out 2>err
code=$?
hints "a pipe with data"
timeout 20 "$sbeam" draw -m "$arpa" -k 2 --seed 1 a <&8 >out 2>err
code=$?
exits 0 "no hint: INPUT was given"
read -r -t 5 line <&8
[ "$line" = 'a b' ]
report $? "a hint: nothing was read"
exec 8>&-
"$sbeam" draw -m "$arpa" -k 2 --seed 1 <two-lines >out 2>err
code=$?
hints "a file"
"$sbeam" draw -m "$arpa" -k 2 --seed 1 <empty >out 2>err
code=$?
exits 0 "no hint: an empty file"
{
    cat >/dev/null
    "$sbeam" draw -m "$arpa" -k 2 --seed 1 >out 2>err
} <two-lines
code=$?
exits 0 "no hint: a file that has been read to its end"
: | { sleep 0.2; "$sbeam" draw -m "$arpa" -k 2 --seed 1 >out 2>err; }
code=$?
exits 0 "no hint: a pipe that was closed empty"
"$sbeam" draw -m "$arpa" -k 2 --seed 1 <&- >out 2>err
code=$?
exits 0 "no hint: no standard input"
"$sbeam" draw -m "$arpa" -k 2 --seed 1 - <two-lines >out 2>err
code=$?
exits 0 "no hint: '-' reads it"
run "$sbeam" draw --help
tr -s ' \n' ' ' <out >flat && mv flat out
prints 'GGUF and translation models read these lines' "help: which models read standard input"

# --- escapes of --stop ---
echo '{"format":"sbeam-tree","tree":{"a\\nb":[0.5,{"c":[1,null]}],"c":[0.5,null]}}' >breaks.json # tokens a\nb and c
run "$sbeam" draw -m breaks.json -k 3 --seed 1 --stop '\n' --stop '\t' --stop '\\' -f jsonl
exits 0 "--stop: escapes"
prints '"stop":\["\\n","\\t","\\\\"\]' "--stop: the record has the real strings"
prints '"text":"a","tokens":\[0\].*"end":"stop"' "--stop: a backslash ends a sequence"
run "$sbeam" draw -m breaks.json -k 3 --seed 1 --stop "$(printf '\nx')" --stop '\nx' -f jsonl
prints '"stop":\["\\nx","\\nx"\]' "--stop: a newline as it is, or escaped"
run "$sbeam" draw -m breaks.json -k 3 --seed 1 --stop '\\n' -f jsonl
prints '"stop":\["\\\\n"\]' "--stop: an escaped backslash before n"
prints '"text":"a","tokens":\[0\].*"end":"stop"' "--stop: it means these two characters"
for bad in '\x0a' 'a\r' '\' 'a\\\' '\é'; do
    usage "--stop: escape that is not known: $bad" draw -m breaks.json --stop "$bad"
    says "is not an escape; the escapes are .n (newline), .t (tab) and .. (backslash)$" "--stop: which are known: $bad"
done
