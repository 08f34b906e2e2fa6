# Cases with a GGUF language model, the one that SBEAM_GGUF names: stories260K.gguf. Sourced by run.sh, whose functions
# it uses.
printf 'GGUF\3\0\0\0' >broken.gguf
run "$sbeam" info broken.gguf
exits 1 "gguf: a broken file"
if grep -q 'without llama.cpp' err; then
    says 'scripts/setup --with llama' "gguf: without llama.cpp it says how to get it"
    echo "# skipped: gguf: this build is without llama.cpp"
elif [ -z "${SBEAM_GGUF:-}" ]; then
    says 'llama.cpp cannot load' "gguf: a broken file is refused in llama.cpp's words"
    echo "# skipped: gguf: SBEAM_GGUF names no file"
else
    gguf=$(realpath "$SBEAM_GGUF")
    says 'llama.cpp cannot load' "gguf: a broken file is refused in llama.cpp's words"
    run "$sbeam" info "$gguf"
    exits 0 "gguf: info"
    prints '^kind +gguf$' "gguf: info says what it is"
    prints '^context +512$' "gguf: info says how long it may get"
    run "$sbeam" draw -m "$gguf" --method beam -k 1 --max-len 40 -f jsonl 'Once upon a time'
    exits 0 "gguf: greedy"
    prints '"text":", there was a little girl named Lily\. She loved to play outside in the park\. One day, she saw a big, red ball\.' \
        "gguf: the story that llama.cpp tells"
    run "$sbeam" draw -m "$gguf" -k 8 -T 0.8 --max-len 24 --seed 1 -f tsv 'Once upon a time'
    exits 0 "gguf: k = 8"
    [ "$(tail -n +2 out | cut -f 14 | sort -u | wc -l)" -eq 8 ]
    report $? "gguf: eight stories"
    awk -F '\t' 'NR > 2 && $11 > last { exit 1 } { last = $11 }' out
    report $? "gguf: in the order of g"
    cp out first
    feed 'Once upon a time\n' "$sbeam" draw -m "$gguf" -k 8 -T 0.8 --max-len 24 --seed 1 -f tsv
    same first out "gguf: a line of standard input"
    feed '{"input":"Once upon a time"}\n' "$sbeam" draw -m "$gguf" -k 8 -T 0.8 --max-len 24 --seed 1 --input jsonl \
        --threads 2 -f tsv
    cut -f 14 first >texts
    cut -f 14 out >out-texts
    same texts out-texts "gguf: two threads"
    # The second prompt does not fit the context of the first, which is moved to a larger one in silence.
    feed "Once\n$(printf 'Lily and Tom went to the park. %.0s' {1..20})\n" "$sbeam" draw -m "$gguf" -k 2 --max-len 3 --seed 1 \
        -f tsv
    exits 0 "gguf: a longer prompt after a short one"
    run "$sbeam" draw -m "$gguf" --method beam -k 1 --stop park --stop xyz -f jsonl 'Once upon a time'
    prints '"text":", there was a little girl named Lily\. She loved to play outside in the ","tokens".*"end":"stop"' \
        "gguf: text is cut before a stop string"
    run "$sbeam" draw -m "$gguf" --method beam -k 1 --max-len 200 --stop '\n' -f jsonl 'Once upon a time'
    prints '"stop":\["\\n"\]' "gguf: a newline as stop string"
    run "$sbeam" draw -m "$gguf" -k 4 --max-len 200 --stop '\n' --seed 1 -f tsv 'Once upon a time'
    ! cut -f 14 out | grep -q '\\n'
    report $? "gguf: a newline ends the text"
    printf 'Lily was sad.\nShe' >prompt
    run "$sbeam" draw -m "$gguf" -k 2 --max-len 3 --seed 1 -f jsonl --file prompt
    prints '"stream":0,"draw":0,"input":"Lily was sad\.\\nShe"' "gguf: a prompt of two lines"
    run "$sbeam" draw -m "$gguf" -k 2 --max-len 3 --seed 1 ''
    exits 0 "gguf: the empty prompt"
    feed "Tom\n$(printf 'Lily went to the park. %.0s' {1..30})\n" "$sbeam" draw -m "$gguf" -k 2 --max-len 3 --seed 1
    exits 0 "gguf: a long prompt after a short one, and not a word of it"
    run "$sbeam" draw -m "$gguf" -k 2 --max-len 512 'Once upon a time'
    exits 1 "gguf: a context that is too small"
    says 'input 0: a prompt of .* tokens and 512 more need a context of .*; the model.s is 512, so lower max-len' \
        "gguf: says so before it begins"
    run "$sbeam" draw -m "$gguf" -k 256 --max-len 3 Once
    exits 1 "gguf: too many rows"
    says 'k = 256 needs 257 rows at once; the model allows 256' "gguf: how many there are"
    usage "gguf: no cache of rows" draw -m "$gguf" --cache 10 Once
    feed '\xff\xfe\n' "$sbeam" draw -m "$gguf" -k 2 --max-len 3
    exits 1 "gguf: a prompt that is not UTF-8"
    feed 'Once upon a time\t, there was a little girl\n' "$sbeam" score -m "$gguf" --no-eos
    prints '"tokens":\[432,383,286,261,376,298,315,421\]' "gguf: score"
    run "$sbeam" tree -m "$gguf" -k 2 --top-k 2 --max-len 3 --seed 1 'Once upon a'
    exits 0 "gguf: tree"
    run "$sbeam" bench decode -m "$gguf" -k 4 --len 4 --repeats 1 -f jsonl
    prints '"model":"[^"]*","method":"sbs","vocab":512,"k":4' "gguf: bench decode"
fi
