"""sbeam estimate: which estimates there are, from which draws and values, and what is refused."""
import os
import re


def draw_figure(t, *more):
    """Two draws of three from figure 1."""
    return t.draw("-m", t.fig1, "-k", "3", "--seed", "1", "--draws", "2", *more)


def test_usage(t):
    def usage(name, *arguments):
        t.usage("estimate: " + name, "estimate", *arguments)

    usage("neither --f nor --values")
    usage("both", "--f", "length", "--values", "numbers")
    usage("an unknown function", "--f", "magic")
    usage("a file for draws", "--f", "length", "draws.jsonl")
    usage("values from standard input", "--values", "-")
    usage("BLEU without references", "--f", "bleu")
    usage("references without BLEU", "--f", "length", "--ref", "refs")
    usage("a tokeniser without BLEU", "--f", "length", "--tokenize", "char")
    usage("an unknown tokeniser", "--f", "bleu", "--ref", "refs", "--tokenize", "klingon")
    usage("a truth without summary", "--f", "length", "--truth", "3")
    usage("a truth that is no number", "--f", "length", "--summary", "--truth", "soon")
    usage("an infinite truth", "--f", "length", "--summary", "--truth", "inf")
    usage("an exact truth of given numbers", "--values", "numbers", "--summary", "--truth", "exact")
    usage("a model without need", "--f", "length", "-m", t.fig1)
    for curve in ("0", "0..3", "5..3", "1..", "..3", "1..2..3", "x", "1-3", "", "1..10000001",
                  "11111111111111111111111111..3"):
        usage("--curve '%s'" % curve, "--f", "length", "--curve", curve)
    usage("an unknown format", "--f", "length", "-f", "tsv")
    usage("--max-len without a model", "--f", "length", "--max-len", "3")


def test_estimates(t):
    draws = draw_figure(t)
    r = t.run("estimate", "--f", "entropy").exits(0, "estimate: no draws, no estimates")
    r.has_lines(0, "estimate: nothing at all")
    r = t.run("estimate", "--f", "entropy", "-f", "jsonl", stdin=draws).exits(0, "estimate")
    r.has_lines(4, "estimate: two estimators for each draw")
    keys = ("estimate", "se", "ess", "mc_equivalent", "weight_sum", "ci_low", "ci_high")
    r.prints(r'^\{"stream":0,"temperature":1,"draw":1,"estimator":"sbs","k":3,%s\}$' %
             ",".join('"%s":-?[0-9.e-]+' % key for key in keys), "estimate: keys in their order")
    # The length is 3 on this tree for every sequence.
    r = t.run("estimate", "--f", "length", stdin=draws)
    r.prints('"estimator":"sbs-normalised","k":3,"estimate":3,"se":0,.*"mc_equivalent":null', "estimate: a constant")


def test_curves(t):
    # One draw holds those of every smaller k, bit for bit, with the same numbers in the text.
    for model in (t.fig1, t.chain, t.arpa):
        for method in ("sbs", "sample"):
            def estimate(k, *more):
                draws = t.draw("-m", model, "--method", method, "--seed", "5", "--draws", "3", "-T", "0.7,1",
                               "--max-len", "9", "-k", k)
                return t.run("estimate", "--f", "entropy", *more, stdin=draws).lines

            apart = [line for k in range(1, 12) for line in estimate(k)]
            t.same(sorted(estimate(11, "--curve", "1..11")), sorted(apart) or None,
                   "estimate: --curve is that of separate runs: %s, %s" % (method, os.path.basename(model)))


def test_ends_of_curves(t):
    draws = draw_figure(t)
    searched = t.draw("-m", t.fig1, "--method", "beam", "-k", "4")
    r = t.run("estimate", "--f", "entropy", "--curve", "1..9", stdin=searched)
    r.has_lines(2, "estimate: a beam has its own k alone")
    r.prints('"estimator":"beam-normalised","k":4,"estimate":[0-9.]+,"se":null,"ess":null,"mc_equivalent":null',
             "estimate: a beam has no standard error")
    r = t.run("estimate", "--f", "entropy", "--curve", "5..9", stdin=searched)
    r.has_lines(0, "estimate: a beam outside of the curve is left out")
    everything = t.draw("-m", t.fig1, "-k", "9", "--seed", "1")
    r = t.run("estimate", "--f", "entropy", "--curve", "8..12", "--sacrifice", stdin=everything)
    r.check(r.out.count('"se":0,') == 8 and len(r.lines) == 10,
            "estimate: what is exhausted is exact, and has nothing to sacrifice")
    r = t.run("estimate", "--f", "entropy", "--curve", "4..12", stdin=draws)
    r.exits(1, "estimate: a curve beyond the draw")
    r.says("standard input:1: the draw has 3 sequences, but --curve begins at 4", "estimate: and why")
    r = t.run("estimate", "--f", "entropy", "--curve", "3..12", stdin=draws)
    r.has_lines(4, "estimate: a curve ends with the draw")
    r = t.run("estimate", "--f", "entropy", "--curve", "1..3", "--sacrifice", stdin=draws)
    r.check([record["k"] for record in r.records[:4]] == [2, 2, 3, 3], "estimate: --sacrifice has no k = 1")
    r = t.run("estimate", "--f", "entropy", "--sacrifice", stdin=t.draw("-m", t.fig1, "-k", "1", "--seed", "1"))
    r.exits(1, "estimate: nothing left after the sacrifice")


def test_draws_without_kappa(t):
    draws, bare = draw_figure(t), draw_figure(t, "--no-kappa")
    r = t.run("estimate", "--f", "entropy", stdin=bare).exits(1, "estimate: draws without kappa")
    r.says('standard input:1: the draw has no "kappa", .* without --no-kappa, or give --sacrifice',
           "estimate: what to do without kappa")
    for more, name in ((("--curve", "1..2"), "estimate: shorter prefixes do not need it"),
                       (("--sacrifice",), "estimate: nor does the sacrifice")):
        given = ("estimate", "--f", "entropy", *more)
        t.same(t.run(*given, stdin=bare).out, t.run(*given, stdin=draws).out, name)


def test_methods_without_estimator(t):
    for method in ("diverse", "resample", "reject", "commit", "beam-sample"):
        r = t.run("estimate", "--f", "length", stdin=t.draw("-m", t.fig1, "-k", "2", "--method", method, "--seed", "1"))
        r.exits(1, "estimate: no estimator for %s" % method)
        r.says("standard input:1: there is no estimator for method %s: " % method, "estimate: it says so: %s" % method)


def test_values(t):
    draws = draw_figure(t)
    t.write("numbers", "1\n2.5\r\n3e0\n 4\n5\n-6\n")
    r = t.run("estimate", "--values", "numbers", "--curve", "1", stdin=draws)
    r.prints('"draw":1,"estimator":"sbs-normalised","k":1,"estimate":4,"se":null', "estimate: values of one's own")
    for content, pattern, name in (
            ("1\n2\n3\n4\n5\n", "numbers:5: the values end here", "too few values"),
            ("1\n2\n3\n4\n5\n6\n7\n", "numbers:7: the draws have only 6 sequences", "too many values"),
            ("1\nNaN\n3\n4\n5\n6\n", "numbers:2: not a finite number: 'NaN'", "a value that is no number"),
            ("1\n2\n1e999\n4\n5\n6\n", "numbers:3: not a finite number: '1e999'", "an infinite value"),
            ("1\n2\n3 4\n4\n5\n6\n", "numbers:3: not a finite number: '3 4'", "two values on a line"),
            ("1\n\n3\n4\n5\n6\n", "numbers:2: not a finite number: ''", "an empty line of values"),
            ("1\n0x10\n3\n4\n5\n6\n", "numbers:2: not a finite number: '0x10'", "a hexadecimal value")):
        t.write("numbers", content)
        r = t.run("estimate", "--values", "numbers", stdin=draws).exits(1, "estimate: %s" % name)
        r.says(pattern, "estimate: where: %s" % name)
    t.run("estimate", "--values", "missing").exits(1, "estimate: a file of values that is not there")


def change(pattern, replacement, text, line=None):
    """Replaces the first match in each line, or only in the line of that number, from 1."""
    lines = text.split("\n")
    return "\n".join(re.sub(pattern, replacement, old, count=1) if line in (None, i + 1) else old
                     for i, old in enumerate(lines))


def test_draws_that_were_changed(t):
    draws = draw_figure(t)

    def estimate(lines, *more):
        return t.run("estimate", "--f", "length", *more, stdin=lines)

    r = estimate(change('"kappa":[^,]*', '"kappa":NaN', draws)).exits(1, "estimate: NaN in a record")
    r.says("standard input:1: invalid JSON", "estimate: where NaN is")
    r = estimate(change('"log_p":[^,]*', '"log_p":0.5', draws, line=2)).exits(1, "estimate: a probability above 1")
    r.says('standard input:2: sequence 1: "log_p" is 0.5; expected at most 0', "estimate: where it is")
    r.has_lines(2, "estimate: the draws before it are there")
    r = estimate(change('"g":[^,]*', '"g":-9', draws), "--curve", "1")
    r.says('standard input:1: sequence 1: "g" is -9; expected at least "kappa"', "estimate: draws that were shuffled")
    # Sequences 1 and 2 in the other order, kappa and the last in place.
    exchanged = change(r'(\{"text"[^}]*\}),(\{"text"[^}]*\}),', r"\2,\1,", draws)
    for given in ("--curve=3", "--sacrifice"):
        r = estimate(exchanged, given)
        r.says('standard input:1: sequence 2: "g" is .* above that of the sequence before', "estimate: two that were exchanged: %s" % given)
    r = estimate(change('"kappa":[^,]*', '"kappa":9', draws))
    r.says('standard input:1: sequence 1: "g" is .*; expected at least "kappa", which is 9', "estimate: a threshold of another draw")
    r = estimate(change('"k":3', '"k":4', draws))
    r.says('standard input:1: there are 3 sequences, but "k" is 4', "estimate: draws that were cut")
    samples = change('"method":"sbs"', '"method":"sample"', re.sub('"log_weight":[^,]*', '"log_weight":null', draws))
    samples = change('"exhausted":false', '"exhausted":true', change('"kappa":[^,]*', '"kappa":null', samples))
    r = estimate(samples, "--curve", "1..9")
    r.check(len(r.lines) == 6 and not r.err, "estimate: independent samples are never exhausted")


def test_bleu(t):
    t.write("refs", "0 1 1\n\n0 1 0 0\t0 1 1\n")
    one = t.draw("-m", t.fig1, "-k", "9", "-", stdin="\n")
    given = ("estimate", "--f", "bleu", "--ref", "refs")
    r = t.run(*given, "--tokenize", "none", stdin=one)
    r.prints('"estimator":"sbs","k":9,"estimate":[1-9][0-9.]+,"se":0,', "estimate: expected BLEU")
    r = t.run(*given, stdin=one.replace('"stream":0', '"stream":1'))
    r.exits(1, "estimate: a segment without reference")
    r = t.run(*given, stdin=one.replace('"stream":0', '"stream":3'))
    r.exits(1, "estimate: a stream without references")
    r.says("standard input:1: .*refs", "estimate: which file is too short")
    r = t.run(*given, stdin=change('"text":[^,]*,', "", one))
    r.says('standard input:1: .*"text" is missing', "estimate: BLEU of no text")
    r = t.run("estimate", "--f", "bleu", "--ref", "missing").exits(1, "estimate: references that are not there")


def test_full_disk(t):
    if os.path.exists("/dev/full"):
        with open("/dev/full", "wb") as full:
            r = t.run("estimate", "--f", "length", stdin=draw_figure(t), stdout=full)
        r.exits(1, "estimate: a full disk")


def test_terminal(t):
    t.write("draws", t.draw("-m", t.fig1, "-k", "9", "--seed", "1"))
    with t.open("draws") as file:
        r = t.run_on_terminal("estimate", "--f", "length", stdin=file)
    if r is None:
        t.skip("estimate: text on a terminal: no pseudo-terminal can be had here")
    else:
        r.prints("^estimator +value +se +95 % from +to +mc_equiv$", "estimate: text on a terminal")
        with t.open("draws") as file:
            r = t.run_on_terminal("estimate", "--f", "length", "-f", "jsonl", stdin=file)
        r.prints('"estimator":"sbs"', "estimate: -f jsonl on a terminal")
    with t.open("draws") as file:
        r = t.run("estimate", "--f", "length", stdin=file)
    r.prints('^{"stream":0', "estimate: JSON lines elsewhere")
