"""sbeam bench."""
import re


def test_bench_search(t):
    r = t.run_until_first_line("bench", "search")
    r.prints("^.+; threads 1; kernels [a-z0-9]+; repeats [0-9]+ to", "bench: the machine")
    r = t.usage("bench of nothing", "bench")
    r.says("search or decode", "bench: what can be measured")
    t.usage("bench of something else", "bench", "frobnicate")
    t.usage("bench search takes no k", "bench", "search", "-k", "3")
    t.usage("bench search takes no model", "bench", "search", "-m", t.arpa)
    t.usage("bench search takes no temperature", "bench", "search", "-T", "0.5")
    t.usage("bench search takes no tokens", "bench", "search", "--pretokenized")


def test_usage_of_bench_decode(t):
    decode = ("bench", "decode", "-m", t.arpa)
    t.usage("bench decode: k of 0", *decode, "-k", "0")
    t.usage("bench decode: a hole in the list of k", *decode, "-k", "1,,2")
    t.usage("bench decode: k that is no number", *decode, "-k", "3,x")
    t.usage("bench decode: more k than there is room for", *decode, "-k", ",".join(str(k) for k in range(1, 34)))
    t.usage("bench decode: more rows than can be counted", *decode, "--method", "rows", "-k", "10000000", "--batch",
            "1000")
    t.usage("bench decode: unknown method", *decode, "--method", "sbs,magic")
    r = t.usage("bench decode: a method without a number of rows", *decode, "--method", "reject")
    r.says("at most k rows", "bench decode: why reject is refused")
    t.usage("bench decode: no method", *decode, "--method", "")
    for option in ("source-len", "len", "batch", "repeats", "threads"):
        for value in ("0", "1x"):
            t.usage("bench decode: --%s %s" % (option, value), *decode, "--" + option, value)
    t.usage("bench decode: a batch of 4097", *decode, "--batch", "4097")
    t.usage("bench decode: two temperatures", *decode, "-T", "1,2")
    t.usage("bench decode: an input", *decode, "hello")
    t.usage("bench decode: seed", *decode, "--seed", "1")


def test_bench_decode(t):
    t.run("bench", "decode", "-m", "missing.arpa").exits(1, "bench decode: a model that is not there")
    r = t.run("bench", "decode", "-m", t.fig1, "--len", "100")
    r.exits(2, "bench decode: a model whose sequences are shorter")
    r.says("fixes where its sequences end; bench decode needs", "bench decode: why")
    r = t.run("bench", "decode", "-m", t.arpa, "-k", "2,3", "--method", "sbs,beam,sample,diverse,resample",
              "--len", "4", "--batch", "2", "--threads", "2", "--repeats", "2", "-T", "0.5").exits(0, "bench decode")
    r.prints("^small.arpa, arpa, vocabulary [0-9]+, opened in [0-9]+ ms$", "bench decode: what was measured")
    r.prints("^no source: the empty prefix; 4 tokens$", "bench decode: and how")
    measured = [line for line in r.lines if re.match("(sbs|beam|sample|diverse|resample) +[23] +2 ", line)]
    r.check(len(measured) == 10, "bench decode: a line for each method and k")
    r.prints("^peak memory [1-9]", "bench decode: memory")
    r = t.run("bench", "decode", "-m", t.chain, "-k", "1", "--len", "3", "--threads", "2", "--batch", "3", "-f",
              "jsonl")
    r.exits(0, "bench decode: jsonl")
    r.prints(r'^\{"program":"sbeam","model":"chain.json","method":"sbs",.*"rows_per_step":6,.*"peak_mib":[0-9.]+\}$',
             "bench decode: a row per input and thread where k is 1")
    r.has_lines(1, "bench decode: one record")
