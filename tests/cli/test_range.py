"""Tests numbers at their limits: temperatures that leave no room for the noise, and the bounds of whole numbers."""

# Leaf a has nearly all of the probability at a low temperature. The others have a log p of -2.89 / T: b and c are
# equal, and c has two leaves.
TREE = ('{"format":"sbeam-tree","tree":{"a":[0.9,null],"b":[0.05,{"x":[1,null]}],'
        '"c":[0.05,{"x":[0.5,null],"y":[0.5,null]}]}}')


def test_no_room_for_noise(t):
    t.write("t.json", TREE)
    for method in ("sbs", "explicit", "resample", "beam-sample"):
        r = t.run("draw", "-m", "t.json", "-k", "3", "-T", "1e-17", "--seed", "1", "--method", method, "-f", "jsonl")
        r.check(r.code == 1 and not r.out, "range: %s refuses T = 1e-17 and prints nothing" % method)
        r.says("input 0: sequence 2 has the log-probability -2.89.*e.17 after 2 steps at temperature 1e-17; expected "
               "at least -1e9, .* raise the temperature, .* method beam", "range: the reason and the way out")
    for method in ("beam", "sample", "commit", "diverse"):
        r = t.run("draw", "-m", "t.json", "-k", "3", "-T", "1e-17", "--seed", "1", "--method", method)
        r.exits(0, "range: %s needs no room for noise" % method)


def test_room_depends_on_k(t):
    t.write("t.json", TREE)
    r = t.run("draw", "-m", "t.json", "-k", "1", "-T", "1e-17", "--seed", "1", "-f", "jsonl")
    [record] = r.exits(0, "range: one sequence at T = 1e-17").records
    t.check(record["kappa"] < -2e17 and record["log_p_draw"] == 0 and not record["exhausted"],
            "range: a far threshold is still one")
    r = t.run("estimate", "--f", "length", "-f", "jsonl", stdin=r.out).exits(0, "range: an estimate with it")
    t.same([e["estimate"] for e in r.records], [1, 1], "range: its value")
    r = t.run("draw", "-m", "t.json", "-k", "3", "-T", "1,1e-17", "--seed", "1", "-f", "jsonl")
    r.check(r.code == 1 and [x["temperature"] for x in r.records] == [1], "range: earlier records are whole")


def test_whole_bounds(t):
    for words, bound in ((("draw", "--seed"), "18446744073709551615"), (("shuf", "--seed"), "18446744073709551615"),
                         (("draw", "--draws"), "9007199254740992"),
                         (("draw", "--method", "reject", "--max-samples"), "9007199254740992")):
        r = t.usage("%s of 23 digits" % words[-1], *words, "9" * 23)
        r.says("and at most %s$" % bound, "range: the bound of %s with all its digits" % " ".join(words))


def test_log_weights(t):
    r = t.run("shuf", "-w", "1", "--log-weights", stdin="1e12\n-1e12\n").has_lines(2, "range: log-weights of 1e12")
    r = t.run("shuf", "-w", "1", "--log-weights", stdin="0\n1.1e12\n")
    r.check(r.code == 1 and not r.out, "range: shuf: larger ones are refused, and nothing is printed")
    r.says(":2: .*beyond 1e12 leaves no room for the noise", "range: shuf: the reason")
