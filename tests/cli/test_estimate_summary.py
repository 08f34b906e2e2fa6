"""sbeam estimate --summary: means over draws, and the exact truth by enumeration."""
from test_estimate import change, draw_figure


def test_summary(t):
    # 1, 2, 3, 4 and 10: places 0.1 and 3.9 between them, sqrt((4 + 1 + 0 + 1 + 49) / 5) from 3, and
    # sqrt((9 + 4 + 1 + 0 + 36) / 4) from their mean 4, which has the error sqrt(12.5 / 5).
    five = t.draw("-m", t.fig1, "-k", "1", "--method", "sample", "--draws", "5", "--seed", "2")
    t.write("numbers", "4\n2\n10\n1\n3\n")
    r = t.run("estimate", "--values", "numbers", "--summary", stdin=five)
    r.prints(r'^\{"stream":0,"temperature":1,"estimator":"mc","k":1,"draws":5,"mean":4,"p025":1.1,'
             r'"p975":9.(4|39999)[0-9]*,"bias":null,"rmse":null,"sd":3.5355339059327[0-9]*,'
             r'"se_mean":1.581138830084[0-9]*\}$', "estimate: a summary")
    r = t.run("estimate", "--values", "numbers", "--summary", "--truth", "3", stdin=five)
    r.prints('"bias":1,"rmse":3.31662479035', "estimate: bias and RMSE")


def test_order(t):
    draws = draw_figure(t)
    mixed = (t.draw("-m", t.fig1, "--method", "beam", "-k", "4") + draws +
             t.draw("-m", t.fig1, "-k", "3", "--seed", "1", "-T", "0.5", "--method", "sample"))
    r = t.run("estimate", "--f", "length", "--summary", "--curve", "3..4", stdin=mixed)
    t.same([(record["temperature"], record["estimator"], record["k"]) for record in r.records],
           [(0.5, "mc", 3), (1, "sbs", 3), (1, "sbs-normalised", 3), (1, "beam", 4), (1, "beam-normalised", 4)],
           "estimate: the order of a summary")
    r = t.run("estimate", "--f", "length", "--summary", stdin=draws + draws)
    r.exits(1, "estimate: the same draw twice")
    r.says("standard input:3: draw 0 of stream 0 with seed 1 and temperature 1 is also on line 1", "estimate: which draw is there twice")
    r.has_lines(0, "estimate: and nothing is written")


def test_exact_truth(t):
    # A draw of everything is exact, whatever the settings: its bias against the enumeration is rounding.
    t.write("refs", "a a b\na b\n")
    for name, *more in (
            ("a length limit", "--max-len", "5"),
            ("what is left of a row", "--max-len", "5", "--top-k", "2", "--top-p", "0.95", "--min-p", "0.01"),
            ("a token that is banned, and a shortest length", "--max-len", "4", "--min-len", "2", "--ban", "b"),
            ("an end in mid-text", "--max-len", "6", "--stop", "a a", "--stop", "b")):
        draws = t.draw("-m", t.chain, "-k", "100000", "-T", "0.4,1", "--seed", "1", *more, "-", stdin="\nb\n")
        for function in ("entropy", "length", "bleu"):
            given = ("--ref", "refs", "--tokenize", "none") if function == "bleu" else ()
            r = t.run("estimate", "--f", function, *given, "--summary", "--truth", "exact", "-m", t.chain, stdin=draws)
            r.check(len(r.lines) == 8 and not r.err and
                    all(record["bias"] ** 2 + record["rmse"] ** 2 <= 1e-18 for record in r.records),
                    "estimate: the exact truth of %s: %s" % (function, name))


def test_truth_of_other_draws(t):
    draws = draw_figure(t)

    def estimate(lines, model=t.fig1, *more):
        return t.run("estimate", "--f", "length", "--summary", "--truth", "exact", "-m", model, *more, stdin=lines)

    many = t.draw("-m", t.fig1, "-k", "3", "--seed", "1", "--draws", "4000")
    r = t.run("estimate", "--f", "entropy", "--summary", "--truth", "exact", "-m", t.fig1, stdin=many)
    r.prints('"estimator":"sbs","k":3,"draws":4000,.*"bias":-?0.0[0-9]', "estimate: the mean is near the truth")
    other = change('"temperature":1,', '"temperature":1,"max_len":2,', change('"draw":[01]', '"draw":7', draws))
    r = estimate(draws + other.split("\n")[0] + "\n").exits(1, "estimate: one stream with two truths")
    r.says("standard input:3: the input or the settings are not those of an earlier draw", "estimate: why not")
    r = estimate(t.draw("-m", t.arpa, "-k", "3", "--seed", "1"), t.arpa)
    r.exits(1, "estimate: a model that is too large to enumerate")
    r.says("too many sequences to enumerate; give the truth as a number", "estimate: what to do then")
    r = estimate(change('"temperature":1,', '"temperature":1,"top_p":7,', draws))
    r.exits(1, "estimate: a setting out of range")
    r.says("standard input:1: .*top-p", "estimate: which setting")
    r = estimate(change('"temperature":1,', '"temperature":1,"ban":["zebra"],', draws))
    r.says("standard input:1: \"ban\": the model has no token 'zebra'", "estimate: a token of another model")
    limited = t.draw("-m", t.chain, "-k", "3", "--max-len", "4", "--draws", "3", "--seed", "1")
    r = estimate(limited.replace('"max_len":4,', ""), t.chain, "--max-len", "4")
    t.same(r.out, estimate(limited, t.chain).out, "estimate: --max-len for draws that do not say")
