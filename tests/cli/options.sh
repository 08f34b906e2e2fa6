# Cases of options that sbeam does not have: it says what was probably meant. Sourced by run.sh, whose functions it
# uses.

# means WORDS PATTERN: the words are wrong usage, and the message ends in the pattern.
means() {
    # shellcheck disable=SC2086
    usage "$1" $1
    says "$2\$" "it says what was meant: $1"
}

means "draw --temprature 1" "unknown option '--temprature'; did you mean '--temperature'?"
means "draw --tempreature=1" "unknown option '--tempreature'; did you mean '--temperature'?"
means "draw --no-kapa" "did you mean '--no-kappa'?"
means "draw --thread 2" "did you mean '--threads'?"
means "draw --modle x" "did you mean '--model'?"
means "draw --fromat text" "did you mean '--format'?"
means "draw --drwas 2" "did you mean '--draws'?"
means "draw --max 3" "did you mean '--max-len'?"
means "eval --reff x" "did you mean '--ref'?"
means "draw -K 3" "unknown option '-K'; did you mean '-k'?"
means "draw -t 3" "unknown option '-t'; did you mean '-T'?"
means "draw -temperature 3" "unknown option '-t'; did you mean '--temperature'?"
means "draw --temp 1" "unknown option '--temp': it is called -T or --temperature here"
means "draw --prompt hello" "an input is an argument without an option, or --file FILE"
means "draw -p hello" "an input is an argument without an option, or --file FILE"
means "draw -n 3" "the number of sequences is -k, that of tokens is --max-len"
means "draw --num-samples 3" "the number of sequences is -k"
means "draw --beam-size 3" "the width of the beam is -k; --method beam chooses beam search"
means "draw --output x" "results go to standard output; redirect it: > FILE"
means "shuf -o x" "results go to standard output; redirect it: > FILE"
means "draw --max-new-tokens 3" "it is called --max-len here"
means "draw -seed 3" "it is called --seed here"
means "draw --version" "it belongs to sbeam itself: sbeam --version"
means "draw -f json" "format is 'json'; expected text|jsonl|tsv; did you mean 'jsonl'?"
means "draw --method beem" "; did you mean 'beam'?"
means "draw --finished stays" "; did you mean 'stay'?"
means "drwa" "unknown command 'drwa'; did you mean 'draw'?"
means "help estimte" "did you mean 'estimate'?"
means "--versoin" "unknown option '--versoin'; did you mean '--version'?"
means "-k 5" "unknown option '-k'; a command comes first, such as 'sbeam draw'"
# Advice that would be wrong for a command is not given, and words that are far from all others are left alone.
means "tree --beam 3" "unknown option '--beam'"
means "shuf --prompt x" "unknown option '--prompt'"
means "draw --frobnicate" "unknown option '--frobnicate'"
means "draw --x" "unknown option '--x'"
means "draw -x" "unknown option '-x'"
means "frobnicate" "unknown command 'frobnicate'"
means "draw --method magic" "beam-sample"
means "draw -f xml" "format is 'xml'; expected text|jsonl|tsv"
