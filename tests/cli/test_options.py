"""Options that sbeam does not have: it says what was probably meant."""

MEANT = (
    ("draw --temprature 1", "unknown option '--temprature'; did you mean '--temperature'?"),
    ("draw --tempreature=1", "unknown option '--tempreature'; did you mean '--temperature'?"),
    ("draw --no-kapa", "did you mean '--no-kappa'?"),
    ("draw --thread 2", "did you mean '--threads'?"),
    ("draw --modle x", "did you mean '--model'?"),
    ("draw --fromat text", "did you mean '--format'?"),
    ("draw --drwas 2", "did you mean '--draws'?"),
    ("draw --max 3", "did you mean '--max-len'?"),
    ("eval --reff x", "did you mean '--ref'?"),
    ("draw -K 3", "unknown option '-K'; did you mean '-k'?"),
    ("draw -t 3", "unknown option '-t'; did you mean '-T'?"),
    ("draw -temperature 3", "unknown option '-t'; did you mean '--temperature'?"),
    ("draw --temp 1", "unknown option '--temp': it is called -T or --temperature here"),
    ("draw --prompt hello", "an input is an argument without an option, or --file FILE"),
    ("draw -p hello", "an input is an argument without an option, or --file FILE"),
    ("draw -n 3", "the number of sequences is -k, that of tokens is --max-len"),
    ("draw --num-samples 3", "the number of sequences is -k"),
    ("draw --beam-size 3", "the width of the beam is -k; --method beam chooses beam search"),
    ("draw --output x", "results go to standard output; redirect it: > FILE"),
    ("shuf -o x", "results go to standard output; redirect it: > FILE"),
    ("draw --max-new-tokens 3", "it is called --max-len here"),
    ("draw -seed 3", "it is called --seed here"),
    ("draw --until-mass 0.5", "it is written --until mass=X here"),
    ("draw --version", "it belongs to sbeam itself: sbeam --version"),
    ("draw -f json", "format is 'json'; expected text|jsonl|tsv; did you mean 'jsonl'?"),
    ("draw --method beem", "; did you mean 'beam'?"),
    ("draw --finished stays", "; did you mean 'stay'?"),
    ("drwa", "unknown command 'drwa'; did you mean 'draw'?"),
    ("help estimte", "did you mean 'estimate'?"),
    ("--versoin", "unknown option '--versoin'; did you mean '--version'?"),
    ("-k 5", "unknown option '-k'; a command comes first, such as 'sbeam draw'"),
    # Advice that would be wrong for a command is not given, and words that are far from all others are left alone.
    ("tree --beam 3", "unknown option '--beam'"),
    ("shuf --prompt x", "unknown option '--prompt'"),
    ("draw --frobnicate", "unknown option '--frobnicate'"),
    ("draw --x", "unknown option '--x'"),
    ("draw -x", "unknown option '-x'"),
    ("frobnicate", "unknown command 'frobnicate'"),
    ("draw --method magic", "beam-sample"),
    ("draw -f xml", "format is 'xml'; expected text|jsonl|tsv"),
)


def test_suggestions(t):
    for words, ending in MEANT:
        r = t.usage(words, *words.split())
        r.check(any(line.endswith(ending) for line in r.err.split("\n")), "it says what was meant: " + words)
