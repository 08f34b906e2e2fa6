"""sbeam draw: records, seeds, methods, and options that change the model."""
import re

METHODS = ("sbs", "beam", "sample", "diverse", "resample", "reject", "explicit", "commit", "beam-sample")
REAL = r"-?[0-9]+(\.[0-9]+)?(e[-+][0-9]+)?"
SEQUENCE = (r'\{"text":"[01] [01] [01]","tokens":\[[01],[01],[01]\],"log_p":REAL,"log_p_model":REAL,"g":REAL,'
            r'"log_weight":REAL,"end":"leaf"\}')
RECORD = (r'^\{"stream":0,"draw":0,"input":"","method":"sbs","k":3,"temperature":1,"model":"6ddd46a482bf4718",'
          r'"version":"[0-9.]+","seed":7,"kappa":REAL,'
          r'"exhausted":false,"log_p_draw":REAL,"model_rows":[0-9]+,"sequences":\[SEQUENCE,SEQUENCE,SEQUENCE\]\}$')


def test_record(t):
    r = t.run("draw", "-m", t.fig1, "-k", "3", "--seed", "7", "-f", "jsonl").exits(0, "draw jsonl")
    r.has_lines(1, "one record")
    r.prints(RECORD.replace("SEQUENCE", SEQUENCE).replace("REAL", REAL), "keys and their order")
    other = t.run("draw", "--seed=7", "-f", "jsonl", "-k3", "--model=" + t.fig1)
    t.same(other.out, r.out, "--name=value and -k3")
    other = t.run("draw", "-k", "3", "-fjsonl", "--seed", "7", "-m", t.fig1, "--threads", "2", "--batch", "3")
    t.same(other.out, r.out, "threads and batch change nothing")
    explicit = t.draw("-m", t.fig1, "-k", "3", "--seed", "7", "--method", "explicit")
    level = t.draw("-m", t.fig1, "-k", "3", "--seed", "7", "--search", "level")  # sums log_p_draw in the same order
    cut = re.compile('"method":"[a-z]*"|"search":"level",|"model_rows":[0-9]*')
    t.same(cut.sub("", explicit), cut.sub("", level), "explicit is sbs")


def test_cache(t):
    given = ("draw", "-k", "3", "-fjsonl", "--seed", "7", "-m", t.fig1, "--draws", "50", "-T", "1,0.5")
    r = t.run(*given, "--cache", "8", "--threads", "2")
    t.same(r.out, t.run(*given).out, "a cache changes nothing")
    r.says(r"^cache: [0-9]+ of [0-9]+ rows \([0-9.]+ %\) came from the cache; the model took .* of 8 MB",
           "a cache says what it saved")
    r = t.run(*given, "--cache", "8", "--cache-stats", "stats")
    t.same(r.out, t.run(*given).out, "--cache-stats changes nothing")
    stats = r'^\{"rows":[0-9]+,"evaluated":[0-9]+,"seconds":[0-9.e-]+,"used":[0-9]+,"size":8388608\}\n$'
    t.check(re.search(stats, (t.folder / "stats").read_text()), "--cache-stats writes one JSON line")
    t.usage("--cache-stats without a cache", "draw", "-m", t.fig1, "--cache-stats", "stats")
    r = t.run("draw", "-m", t.fig1, "--cache", "8", "--cache-stats", "no/such/folder")
    r.exits(1, "--cache-stats: a folder that does not exist")


def test_keys(t):
    def prints(pattern, name, *arguments):
        r = t.run("draw", "-m", t.fig1, *arguments, "--seed", "7", "-f", "jsonl")
        return r.prints(pattern, name)

    prints('"kappa":null,"exhausted":true', "exhausted: kappa is null", "-k", "20")
    r = prints('"kappa":null,"exhausted":false', "--no-kappa", "-k", "3", "--no-kappa")
    r.prints('"log_weight":null', "--no-kappa has no weights")
    prints('"method":"beam","k":2.*"g":null,"log_weight":null', "beam has no g", "-k", "2", "--method", "beam")
    prints('"model_rows":[0-9]+,"complete":true,"samples":[0-9]+,"sampled_rows":[0-9]+,"sequences"',
           "reject: its own keys", "-k", "4", "--method", "reject")
    prints('"temperature":1,"groups":2,"strength":0.25,"model"', "diverse: its own keys",
           "-k", "4", "--method", "diverse", "--groups", "2", "--strength", "0.25")
    prints('"groups":4,"strength":0.5,"model"', "diverse: as many groups as sequences", "-k", "4", "--method", "diverse")
    prints(r'"temperature":1,"max_len":2,"top_p":0.9,"ban":\["1"\],"stop":\["xyz"\],"model":"[0-9a-f]{16}","version":"[0-9.]+","seed"',
           "what changes the law is in the record", "--ban", "1", "--stop", "xyz", "--top-p", "0.9", "--max-len", "2")


def test_methods(t):
    for method in METHODS:
        t.run("draw", "-m", t.fig1, "-k", "2", "--method", method, "--seed", "1").exits(0, "method %s" % method)


def test_order_of_records(t):
    r = t.run("draw", "-m", t.fig1, "-k", "2", "-T", "0.5,1,2", "--draws", "2", "--seed", "3", "-f", "jsonl")
    r.has_lines(6, "a record per temperature and draw")
    t.same([(record["temperature"], record["draw"]) for record in r.records],
           [(0.5, 0), (0.5, 1), (1, 0), (1, 1), (2, 0), (2, 1)], "temperature, then draw")
    r = t.run("draw", "-m", t.fig1, "-k", "2", "-f", "tsv", "--seed", "3")
    r.has_lines(3, "tsv: header and rows")
    r.check(all(len(row) == 14 for row in r.rows), "tsv: 14 columns")
    r = t.run("draw", "-m", t.arpa, "-f", "tsv", "-", stdin="")
    r.prints("^stream", "draw: the header of an empty table")


def test_options_that_change_the_model(t):
    r = t.run("draw", "-m", t.chain, "-k", "3", "--ban", "a", "--seed", "2", "-f", "jsonl")
    r.check(not r.prints_line('"text":"[^"]*a'), "--ban")
    r = t.run("draw", "-m", t.chain, "-k", "3", "--max-len", "2", "--min-len", "1", "--seed", "2", "-f", "jsonl")
    r.prints('"end":"max-len"', "--max-len")
    r = t.run("draw", "-m", t.chain, "-k", "4", "--stop", "b a", "--seed", "2", "-f", "jsonl")
    r.prints('"end":"stop"', "--stop")


def test_seeds(t):
    first = t.run("draw", "-m", t.fig1, "-k", "3", "-f", "jsonl")
    again = t.run("draw", "-m", t.fig1, "-k", "3", "-f", "jsonl", "--seed", first.records[0]["seed"])
    t.same(again.out, first.out, "a random seed is printed and repeats the draw")
    first = t.run("draw", "-m", t.fig1, "-k", "3")
    seed = re.search("seed ([0-9]+)", first.out).group(1)
    t.same(t.run("draw", "-m", t.fig1, "-k", "3", "--seed", seed).out, first.out, "also in text")
    r = t.run("draw", "-m", t.fig1, "-k", "3", "-f", "jsonl", "--seed", "18446744073709551615")
    r.prints('"seed":18446744073709551615,', "the largest seed")


def test_pieces(t):
    t.write("bpe.json", '{"format":"sbeam-tree","tree":{"mam@@":[0.5,{"mal":[0.5,null],"mal@@":[0.5,null]}],'
            '"mammal":[0.5,null]}}')
    r = t.run("draw", "-m", "bpe.json", "-k", "3", "--seed", "1", "--bpe-marker", "@@", "--pretokenized")
    r.check(sum("mammal" in line for line in r.lines) == 3 and "@" not in r.out and "reads as 1" in r.out,
            "--bpe-marker joins pieces, repeats are marked")
    r = t.run("draw", "-m", "bpe.json", "-k", "3", "--seed", "1", "-f", "jsonl")
    r.prints('"mam@@ mal"', "without it they stay")


def test_stop_strings_of_joined_pieces(t):
    t.write("pieces.json", '{"format":"sbeam-chain","vocab":["mam@@","mal","x","e"],"eos":"e","start":[1,0,0,0],'
            '"next":{"mam@@":[0,1,0,0],"mal":[0,0,1,0],"x":[0,0,0,1]}}')
    joined = ("draw", "-m", "pieces.json", "--bpe-marker", "@@", "--seed", "1")
    t.run(*joined, "-f", "jsonl").prints('"text":"mammal x"', "pieces are joined")
    r = t.run(*joined, "--stop", "al", "-f", "jsonl")
    r.prints(r'"text":"mamm","tokens":\[0,1\].*"end":"stop"', "stop strings see joined pieces, text is cut")
    for output in ("jsonl", "tsv", "text"):
        r = t.run(*joined, "--stop", "al", "--stop", "mma", "-f", output)
        r.prints(r'(:"|\s)ma("|$|  \[stop\])', "the first of stop strings that overlap: %s" % output)


def test_escapes_of_stop(t):
    # The tokens are c, and a, a backslash, n, b.
    t.write("breaks.json", r'{"format":"sbeam-tree","tree":{"a\\nb":[0.5,{"c":[1,null]}],"c":[0.5,null]}}')
    given = ("draw", "-m", "breaks.json", "-k", "3", "--seed", "1", "-f", "jsonl")
    r = t.run(*given, "--stop", r"\n", "--stop", r"\t", "--stop", r"\\").exits(0, "--stop: escapes")
    r.prints(r'"stop":\["\\n","\\t","\\\\"\]', "--stop: the record has the real strings")
    r.prints(r'"text":"a","tokens":\[0\].*"end":"stop"', "--stop: a backslash ends a sequence")
    r = t.run(*given, "--stop", "\nx", "--stop", r"\nx")
    r.prints(r'"stop":\["\\nx","\\nx"\]', "--stop: a newline as it is, or escaped")
    r = t.run(*given, "--stop", r"\\n")
    r.prints(r'"stop":\["\\\\n"\]', "--stop: an escaped backslash before n")
    r.prints(r'"text":"a","tokens":\[0\].*"end":"stop"', "--stop: it means these two characters")
    for bad in (r"\x0a", r"a\r", "\\", "a\\\\\\", r"\é"):
        r = t.usage("--stop: escape that is not known: %s" % bad, "draw", "-m", "breaks.json", "--stop", bad)
        r.says(r"is not an escape; the escapes are .n \(newline\), .t \(tab\) and .. \(backslash\)$",
               "--stop: which are known: %s" % bad)
