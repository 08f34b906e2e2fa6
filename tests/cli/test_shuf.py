"""sbeam shuf."""

WEIGHTED = "a\t1\nb\t2\nc\t0\nd\t4.5\n"


def test_weights(t):
    t.write("w.tsv", WEIGHTED)
    r = t.run("shuf", "-w", "2", "w.tsv").exits(0, "shuf")
    r.check(sorted(r.lines) == ["a\t1", "b\t2", "d\t4.5"], "shuf: everything but weight zero")
    first = t.run("shuf", "-n", "2", "-w", "2", "--seed", "3", "w.tsv").has_lines(2, "shuf -n")
    r = t.run("shuf", "-n", "2", "-w", "2", "--seed", "3", stdin=WEIGHTED)
    t.same(r.out, first.out, "shuf: standard input")
    r = t.run("shuf", "--lines=2", "--weight=2", "--seed", "3", "-", stdin=WEIGHTED)
    t.same(r.out, first.out, "shuf: long options and dash")
    r = t.run("shuf", "-w", "2", "--seed", "3", "w.tsv")
    t.same(r.lines[:2], first.lines, "shuf: the first two of all")
    # Line d holds 0.6 of the weight; 0.12 is five standard errors of 400 draws.
    n = sum(t.run("shuf", "-n", "1", "-w", "2", "--seed", seed, "w.tsv").out.startswith("d") for seed in range(1, 401))
    t.check(0.48 < n / 400 < 0.72, "shuf: the first goes by weight")


def test_without_weights(t):
    numbers = [str(i) for i in range(1, 1001)]
    t.write("seq.txt", "".join(line + "\n" for line in numbers))
    r = t.run("shuf", "-n", "0", "seq.txt").exits(0, "shuf -n 0")
    r.has_lines(0, "shuf -n 0 draws nothing")
    t.run("shuf", "/dev/null").exits(0, "shuf: empty file")
    r = t.run("shuf", "seq.txt")
    r.check(sorted(r.lines, key=int) == numbers, "shuf: a permutation")
    r.check(r.lines != numbers, "shuf: that is not the identity")
    r = t.run("shuf", "-n", "1", "--seed", "3", "--verbose", "seq.txt")
    r.check(r.code == 0 and r.says_line("^seed 3$"), "shuf: --verbose prints the seed")
    t.write("many", "".join("%d %d\n" % (i, j) for i in range(200) for j in range(10)))
    five, fifty = (t.run("shuf", "-n", n, "--seed", "1", "many").lines for n in (5, 50))
    t.same(fifty[:5], five, "shuf: the sample of 5 begins the sample of 50")
    r = t.run("shuf", "-n", "2147483646", stdin="a\nb\n").exits(0, "shuf: a sample as large as the library allows")
    r.has_lines(2, "shuf: of fewer lines it is all")
    t.usage("a larger one", "shuf", "-n", "2147483647")


def test_formats(t):
    t.write("w.tsv", WEIGHTED)
    r = t.run("shuf", "-n", "2", "-w", "2", "--seed", "3", "-f", "jsonl", "w.tsv")
    r.prints(r'^\{"line":[124],"text":"[abd]\\t[0-9.]+","g":[-0-9.e]+,"log_p":[-0-9.e]+,"log_weight":[-0-9.e]+,'
             r'"kappa":[-0-9.e]+,"seed":3\}$', "shuf: jsonl")
    r = t.run("shuf", "-w", "2", "--seed", "3", "-f", "jsonl", "w.tsv")
    r.prints('"kappa":null', "shuf: kappa of everything is null")
    r = t.run("shuf", "-w", "2", "--seed", "3", "-f", "tsv", "w.tsv")
    r.check(r.rows and all(len(row) == 6 for row in r.rows), "shuf: tsv")
    t.run("shuf", "-f", "tsv", stdin="").prints("^line", "shuf: the header of an empty table")
    t.run("shuf", "-n", "0", "-f", "tsv", stdin="").prints("^line", "shuf: the header of a sample of nothing")
    content = b"a\0b\n\377\n"
    t.write("bytes", content)
    r = t.run("shuf", "bytes")
    r.check(sorted(r.lines) == sorted(content.decode("utf-8", "surrogateescape").split("\n")[:2]),
            "shuf: any bytes go through")
    r = t.run("shuf", "-f", "jsonl", "bytes").prints(r'"text":"a\\u0000b"', "shuf: NUL in JSON")


def test_extreme_weights(t):
    t.write("tiny.csv", "a,1e-300\nb,4.9e-324\nc,1e-308\n")
    r = t.run("shuf", "-w", "2", "--delimiter", ",", "tiny.csv")
    r.has_lines(3, "shuf: tiny and denormal weights")
    t.write("logs.tsv", "a\t-1000\nb\t-1001.5\nc\t-inf\n")
    r = t.run("shuf", "-w", "2", "--log-weights", "logs.tsv")
    r.has_lines(2, "shuf: --log-weights, -inf is never drawn")
    r = t.run("shuf", "-w", "1", "--log-weights", stdin="1e13\n")
    r.exits(1, "shuf: log-weights without room for noise")


def test_refusals(t):
    for bad in ("-1", "nan", "inf", "", "x", "1x", "1e400", "1e-400"):
        t.write("bad.tsv", "a\t1\nb\t%s\n" % bad)
        r = t.run("shuf", "-n", "1", "-w", "2", "bad.tsv")
        r.check(r.code == 1 and r.says_line("bad.tsv:2: ") and not r.out,
                "shuf: weight '%s' is refused with its place" % bad)
    t.write("bad.tsv", "a\t1\nb\n")
    t.run("shuf", "-n", "1", "-w", "2", "bad.tsv").says("bad.tsv:2: ", "shuf: a missing column")
    t.run("shuf", "-n", "1", "missing.tsv").exits(1, "shuf: missing file")
    t.run("shuf", "-n", "1", ".").exits(1, "shuf: a directory")
    r = t.run("shuf", "-w", "1", stdin="abc\n")
    r.says("1: the weight is not a number: 'abc'$", "shuf: the field is quoted")
    r = t.run("shuf", "-w", "2", stdin="a\t\n")
    r.says(":1: the weight is empty$", "shuf: an empty field is not quoted")
    r = t.run("shuf", "-w", "1", stdin="abc\r\n")
    r.says(": 'abc'$", "shuf: the end of a CRLF line is not quoted")
    r = t.run("shuf", "-w", "1", stdin="é" * 50 + "\n")
    r.says(": 'é{30}'$", "shuf: a long field is cut between characters")
