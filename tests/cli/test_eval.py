"""sbeam eval: BLEU, against sacreBLEU's figures in tests/data/bleu."""
import csv
import os

SMOOTHINGS = ("none", "floor", "add-k", "exp")


def bleu_of(t, name="main"):
    """The options for a set of known answers."""
    return ("eval", "--hyp", t.data / "bleu" / (name + ".hyp"), "--ref", t.data / "bleu" / (name + ".ref"))


def tokenizers_of(t):
    """The tokenizers of this build: intl needs utf8proc."""
    has_intl = t.run("eval", "--tokenize", "intl").code == 0
    return ("13a", "intl", "char", "none") if has_intl else ("13a", "char", "none")


def test_usage(t):
    ref = t.data / "bleu/main.ref"
    r = t.usage("eval: --hyp without --ref", "eval", "--hyp", t.data / "bleu/main.hyp")
    r.says("ref FILE", "eval: what --hyp needs")
    t.usage("eval: --sentence without --hyp", "eval", "--ref", ref, "--sentence")
    t.usage("eval: an argument", "eval", "--ref", ref, "file")
    t.usage("eval: unknown tokenizer", "eval", "--tokenize", "zh")
    t.usage("eval: unknown smoothing", "eval", "--smooth", "add-1")
    t.usage("eval: a smooth-value that is no number", "eval", "--smooth", "floor", "--smooth-value", "0.1x")
    t.usage("eval: a negative smooth-value", "eval", "--smooth", "floor", "--smooth-value", "-1")
    t.usage("eval: a smooth-value of nan", "eval", "--smooth", "floor", "--smooth-value", "nan")
    t.usage("eval: a smooth-value too large", "eval", "--smooth", "add-k", "--smooth-value", "1e999")
    r = t.usage("eval: a smooth-value that would overflow", "eval", "--smooth", "floor", "--smooth-value", "1e308")
    r.says(r"expected 0 to 1e\+09", "eval: how large a smooth-value can be")
    r = t.usage("eval: a smooth-value that is not used", "eval", "--smooth", "exp", "--smooth-value", "0.1")
    r.says("needs the smoothing floor or add-k", "eval: what takes a smooth-value")
    t.usage("eval: unknown format", "eval", "-f", "tsv")
    t.usage("eval: no model", "eval", "-m", t.fig1)
    t.usage("eval: standard input twice", "eval", "--ref", "-")
    t.usage("eval: standard input twice, with --hyp", "eval", "--hyp", "-", "--ref", "-")
    t.usage("eval: standard input for two references", "eval", "--hyp", "x", "--ref", "-", "--ref", "-")


def test_lines(t):
    r = t.run(*bleu_of(t)).exits(0, "eval: a corpus")
    r.has_lines(1, "eval: one line")
    r.prints(r"^BLEU\|nrefs:var\|case:mixed\|eff:no\|tok:13a\|smooth:exp\|version:sbeam-[0-9.]+ = "
             r"69\.06 93\.6/76\.5/68\.2/63\.1 \(BP = 0\.927 ratio = 0\.930 hyp_len = 686 ref_len = 738\)$",
             "eval: a line of sacreBLEU's form")
    r = t.run(*bleu_of(t, "none"), "--smooth", "floor", "--smooth-value", "0.25", "-f", "jsonl")
    r.prints(r'^\{"bleu":0,"bp":0\.[0-9]+,"signature":"nrefs:var\|.*\|smooth:floor\[0\.25\]\|version:sbeam-.*"\}$',
             "eval: jsonl of a corpus without a match")
    if "intl" not in tokenizers_of(t):
        t.run("eval", "--tokenize", "intl").says("utf8proc", "eval: why intl is refused")


def known_scores(t, table, **wanted):
    """The scores in the lines of a table whose columns have these values."""
    with open(t.data / "bleu" / table, encoding="utf-8", newline="") as file:
        return [float(line["score"]) for line in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
                if all(line[name] == value for name, value in wanted.items())]


def are_near(got, wanted, tolerance):
    return len(got) == len(wanted) > 0 and all(abs(x - y) <= tolerance for x, y in zip(got, wanted))


def test_known_scores(t):
    for tokenizer in tokenizers_of(t):
        for smoothing in SMOOTHINGS:
            for name in ("main", "short"):
                chosen = {"corpus": name, "tokenizer": tokenizer, "smoothing": smoothing, "value": "default"}
                given = (*bleu_of(t, name), "--tokenize", tokenizer, "--smooth", smoothing, "-f", "jsonl")
                r = t.run(*given)
                r.check(are_near([record["bleu"] for record in r.records],
                                 known_scores(t, "corpus.tsv", effective="0", **chosen), 0.005),
                        "eval: sacreBLEU's score of a corpus: %s %s %s" % (name, tokenizer, smoothing))
                r = t.run(*given, "--sentence")
                r.check(are_near([record["bleu"] for record in r.records],
                                 known_scores(t, "sentences.tsv", **chosen), 0.01),
                        "eval: sacreBLEU's scores of segments: %s %s %s" % (name, tokenizer, smoothing))


def test_references(t):
    hyp = t.data / "bleu/main.hyp"
    lines = (t.data / "bleu/main.ref").read_text(encoding="utf-8").split("\n")[:-1]
    wanted = t.run(*bleu_of(t)).out
    r = t.run("eval", "--hyp", "-", "--ref", t.data / "bleu/main.ref", stdin=hyp.read_bytes())
    t.same(r.out, wanted, "eval: hypotheses from standard input")
    parts = [line.partition("\t") for line in lines]
    t.write("one.ref", "".join(first + "\n" for first, _, _ in parts))
    t.write("rest.ref", "".join(rest + "\n" for _, _, rest in parts))
    t.same(t.run("eval", "--hyp", hyp, "--ref", "one.ref", "--ref", "rest.ref").out, wanted,
           "eval: alternatives in files beside, some of them empty")
    t.write("crlf.ref", "".join(line + "\t\r\n" for line in lines))
    t.same(t.run("eval", "--hyp", hyp, "--ref", "crlf.ref").out, wanted, "eval: an empty alternative is absent")


def test_refusals(t):
    t.write("three.txt", "a b c d\n\na\n")
    t.write("two.txt", "a\nb\n")
    t.write("abc.txt", "a\nb\nc\n")
    r = t.run("eval", "--hyp", "three.txt", "--ref", "three.txt")
    r.says("^sbeam eval: three.txt:2: there is no reference$", "eval: an empty line of references")
    r = t.run("eval", "--hyp", "three.txt", "--ref", "three.txt", "--ref", "three.txt", "--sentence")
    r.says("no reference, and none in the other files$", "eval: no reference in any of two files")
    r.check(not r.out, "eval: no half-written scores")
    r = t.run("eval", "--hyp", "two.txt", "--ref", "two.txt", "--ref", "abc.txt").exits(1, "eval: counts that differ")
    r.says("^sbeam eval: two.txt has 2 lines, but abc.txt has 3$", "eval: which counts differ")
    r = t.run("eval", "--hyp", "abc.txt", "--ref", "two.txt", "--sentence")
    r.says("^sbeam eval: abc.txt has 3 lines, but two.txt has 2$", "eval: more hypotheses than references")
    r.check(not r.out, "eval: and no scores")
    t.run("eval", "--hyp", "missing", "--ref", "two.txt").exits(1, "eval: hypotheses that are not there")
    r = t.run("eval", "--hyp", "two.txt", "--ref", "missing")
    r.says("^sbeam eval: missing: No such file", "eval: references that are not there")
    t.run("eval", "--hyp", ".", "--ref", "two.txt").exits(1, "eval: a folder")
    r = t.run("eval", "--hyp", "/dev/null", "--ref", "/dev/null")
    r.says("no line to score", "eval: an empty corpus has no score")
    r = t.run("eval", "--hyp", "/dev/null", "--ref", "/dev/null", "--sentence")
    r.exits(0, "eval: no segments, no scores")


def test_hostile_bytes(t):
    with open(t.sbeam, "rb") as program:
        t.write("bytes.txt", program.read(20000).translate(None, b"\n\t") + b"\n")
    for tokenizer in tokenizers_of(t):
        r = t.run("eval", "--hyp", "bytes.txt", "--ref", "bytes.txt", "--tokenize", tokenizer, "--sentence")
        r.exits(0, "eval: hostile bytes: %s" % tokenizer)
        r.prints(r"^100\.00$", "eval: are their own reference: %s" % tokenizer)


def test_output_that_fails(t):
    ref = t.data / "bleu/main.ref"
    draws = t.draw("-m", t.arpa, "-k", "3", "--seed", "1", "--max-len", "6", "a", "b", "a b")
    for words, name in ((("--hyp", t.data / "bleu/main.hyp", "--sentence"), "(text)"), ((), "")):
        closed, end = os.pipe()
        os.close(closed)
        r = t.run("eval", "--ref", ref, *words, stdin=draws, stdout=end)
        os.close(end)
        r.check(r.code in (-13, 0, 1) and not r.err, "eval: a reader that has seen enough " + name)  # 13: SIGPIPE
        with open("/dev/full", "wb") as full:
            r = t.run("eval", "--ref", ref, *words, stdin=draws, stdout=full)
        r.check(r.code == 1 and r.says_line("cannot write standard output"), "eval: a full disk " + name)
