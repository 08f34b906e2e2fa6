"""Tests --search, --parallel, --each and --until: both searches give the same draw, certain sequences are written while
the draw goes on, and a rule ends a draw at the first sequence of the plain draw that meets it."""
import json
import math
import os
import signal

from coprocess import Coprocess

# These keys may depend on the search: its settings, its cost, and a sum that it adds up in its own order.
OF_THE_SEARCH = ("search", "parallel", "model_rows", "log_p_draw")
EVERYDAY = "enfr-everyday.safetensors"


def models(t):
    """(name, options) of the models to draw from."""
    yield "tree", ["-m", t.fig1, "-k", "4"]
    yield "tree, more than its leaves", ["-m", t.fig1, "-k", "30"]
    yield "chain", ["-m", t.chain, "-k", "20", "-T", "0.5,1.3"]
    yield "chain, no kappa", ["-m", t.chain, "-k", "20", "--no-kappa", "--stop", "a b", "--top-p", "0.9"]
    yield "ARPA", ["-m", t.arpa, "-k", "9", "--max-len", "8", "--draws", "2", "the cat", "mary"]
    if t.run("info", str(t.models / EVERYDAY)).code == 0:
        yield "translation", ["-m", str(t.models / EVERYDAY), "-k", "8", "-T", "0.5", "I know her."]


def records(text):
    return [json.loads(line) for line in text.splitlines()]


def without(record, *keys):
    return {key: value for key, value in record.items() if key not in keys}


def test_searches_agree(t):
    for name, words in models(t):
        level = records(t.draw(*words, "--seed", "3", "--search", "level"))
        rows = {}
        for parallel in ("1", "3", "4096"):
            found = records(t.draw(*words, "--seed", "3", "--search", "best-first", "--parallel", parallel))
            rows[parallel] = sum(record["model_rows"] for record in found)
            t.same([without(record, *OF_THE_SEARCH) for record in found],
                   [without(record, *OF_THE_SEARCH) for record in level],
                   "search: %s: best-first, %s in parallel, is the draw of level" % (name, parallel))
            t.check(all(math.isclose(a["log_p_draw"], b["log_p_draw"], rel_tol=1e-6, abs_tol=1e-6)
                        for a, b in zip(found, level)), "search: %s: log_p_draw" % name)
            t.check(all(record["search"] == "best-first" and record["parallel"] == int(parallel) for record in found),
                    "search: %s: the record has the settings" % name)
        t.check(all(record["search"] == "level" and "parallel" not in record for record in level),
                "search: %s: level is in the record" % name)
        t.check(rows["1"] <= rows["3"] <= rows["4096"] and rows["1"] <= sum(r["model_rows"] for r in level),
                "search: %s: one at a time evaluates the fewest rows: %s" % (name, rows))
        plain = records(t.draw(*words, "--seed", "3", "--search", "auto", "--parallel", "auto"))
        t.check(all("search" not in record and "parallel" not in record for record in plain),
                "search: %s: auto is the default, so the record does not have it" % name)


def split(lines):
    """Returns the partial lines, by draw, and the records."""
    partial, whole = {}, []
    for line in lines:
        if line.get("partial"):
            partial.setdefault((line["stream"], line["temperature"], line["draw"]), []).append(line)
        else:
            whole.append(line)
    return partial, whole


def test_each(t):
    for name, words in models(t):
        r = t.run("draw", *words, "--seed", "3", "-f", "jsonl", "--each", "--threads", "2").exits(0, "each: %s" % name)
        partial, whole = split(r.records)
        for record in whole:
            key = (record["stream"], record["temperature"], record["draw"])
            t.same(partial.get(key, []), [
                {"partial": True, "stream": key[0], "temperature": key[1], "draw": key[2], "rank": rank + 1,
                 **without(sequence, "log_weight")} for rank, sequence in enumerate(record["sequences"])],
                   "each: %s: the partial lines are the sequences of %s" % (name, key))
            t.same(record["search"], "best-first", "each: %s: it makes the search best-first" % name)
        t.check(set(partial) == {(x["stream"], x["temperature"], x["draw"]) for x in whole},
                "each: %s: every draw has partial lines" % name)
        t.same([line for line in r.records if not line.get("partial")],
               records(t.draw(*words, "--seed", "3", "--search", "best-first")), "each: %s: the records" % name)
    first = t.draw("-m", t.fig1, "-k", "1", "--seed", "3", "--each").splitlines()[0]
    t.check(first.startswith('{"partial":true,"stream":0,"temperature":1,"draw":0,"rank":1,"text":"'),
            "each: the order of the keys")


def test_each_comes_before_its_record(t):
    ended, late = set(), []
    for line in records(t.draw("-m", t.chain, "-k", "5", "--seed", "3", "--draws", "40", "-T", "1,2", "--each")):
        key = line["temperature"], line["draw"]
        late += [line] if key in ended else []
        if not line.get("partial"):
            ended.add(key)
    t.check(len(ended) == 80 and not late, "each: all partial lines of a draw come before its record")


def test_each_is_flushed(t):
    """A draw that takes very long writes its first sequences at once."""
    with Coprocess(t, "draw", "-m", t.chain, "-k", "5000000", "--seed", "1", "--each", "-f", "jsonl") as process:
        lines = process.receive(1000).split("\n")[:-1]
        t.check(process.is_running() and len(lines) >= 1 and all(json.loads(x)["partial"] for x in lines),
                "each: lines are there while the draw goes on")
        process.process.send_signal(signal.SIGINT)
        r = process.end()
        r.check(r.code == -signal.SIGINT and not r.err, "each: Ctrl-C ends the draw quietly")


def test_each_into_a_closed_pipe(t):
    r = t.run_until_first_line("draw", "-m", t.chain, "-k", "5000000", "--seed", "1", "--each", "-f", "jsonl")
    r.check(r.code in (-signal.SIGPIPE, 1) and '"partial":true' in r.out and not r.err, "each: the work ends when the reader goes away")
    if os.path.exists("/dev/full"):
        with open("/dev/full", "wb") as device:
            r = t.run("draw", "-m", t.fig1, "--seed", "1", "--each", "-f", "jsonl", stdout=device)
        r.exits(1, "each: a full disk").says("cannot write standard output", "each: a full disk: the message")


def count_until(sequences, mass=None, texts=None, most=None):
    """Returns the number of sequences after which a draw with these rules ends, and why."""
    total, read = 0.0, set()
    for n, sequence in enumerate(sequences, 1):
        total += math.exp(sequence["log_p"])
        read.add(sequence["text"])
        if mass is not None and total >= mass * (1 - 1e-9):
            return n, "mass"
        if texts is not None and len(read) >= texts:
            return n, "texts"
        if n == most:
            return n, "k"
    return len(sequences), "exhausted"


RULES = (dict(mass=0.3), dict(mass=0.65), dict(texts=4), dict(texts=7), dict(mass=0.35, texts=5), dict(mass=0.99),
         dict(mass=1), dict(texts=10**6))


def test_until(t):
    seen = set()
    for model, more in ((t.fig1, []), (t.chain, ["--max-len", "9"]), (t.chain, ["-T", "0.4", "--stop", "a b"]),
                        (str(t.models / EVERYDAY), ["-T", "0.5", "Where is the train station?"])):
        if t.run("info", model).code != 0:
            t.skip("until: this build cannot open " + model)
            continue
        words = ["-m", model, "--seed", "4", *more]
        [plain] = records(t.draw(*words, "-k", "40"))
        for rule in RULES:
            given = [word for key, value in rule.items() for word in ("--until", "%s=%s" % (key, value))]
            n, why = count_until(plain["sequences"], most=40, **rule)
            [got] = records(t.draw(*words, "-k", "40", *given))
            seen.add(why)
            name = "until: %s %s %s" % (os.path.basename(model), " ".join(more), rule)
            t.same((got["stopped_by"], len(got["sequences"])), (why, n), name + ": where it ends")
            t.same([without(s, "log_weight") for s in got["sequences"]],
                   [without(s, "log_weight") for s in plain["sequences"][:n]], name + ": the same sequences")
            t.check(got["kappa"] is None and all(s["log_weight"] is None for s in got["sequences"]),
                    name + ": no threshold and no weights")
            t.check(all(got.get("until_" + key) == value for key, value in rule.items()), name + ": the settings")
        t.check("stopped_by" not in plain, "until: a plain draw has no stopped_by")
    t.same(sorted(seen), ["exhausted", "k", "mass", "texts"], "until: all reasons were there")


def test_until_of_a_small_model(t):
    [got] = records(t.draw("-m", t.fig1, "-k", "30", "--seed", "4", "--until", "texts=99"))
    t.check(got["stopped_by"] == "exhausted" and got["exhausted"] and got["kappa"] is None,
            "until: a small model is exhausted")
    r = t.run("draw", "-m", t.chain, "-k", "30", "--seed", "4", "--until", "texts=3", "-f", "text")
    r.exits(0, "until: text").prints("^sbs +k 30 +T 1 +seed 4 +stopped by texts$", "until: the text says why it ended")
    t.check("weight" not in r.out and len(r.lines) == 5, "until: the table has no weights", r)
    r = t.run("draw", "-m", t.chain, "-k", "30", "--seed", "4", "--until", "texts=3", "-f", "tsv")
    t.check([row[11] for row in r.rows[1:]] == ["nan"] * 3, "until: tsv has no weights", r)
    partial, whole = split(records(t.draw("-m", t.chain, "-k", "30", "--until", "texts=3", "--each")))
    t.check([len(lines) for lines in partial.values()] == [3] and len(whole[0]["sequences"]) == 3,
            "until: with --each")


def test_readers(t):
    """Commands that read draws skip partial lines; only estimate refuses draws with a rule."""
    words = ["-m", t.chain, "-k", "6", "--seed", "5", "--draws", "3"]
    plain, each = t.draw(*words), t.draw(*words, "--each")
    for command in (["estimate", "--f", "length"], ["eval"], ["estimate", "--f", "length", "--summary"]):
        r = t.run(*command, stdin=each).exits(0, "partial lines: %s" % " ".join(command))
        t.same(r.out, t.run(*command, stdin=plain).out, "partial lines: %s skips them" % " ".join(command))
    r = t.run("verify", "-m", t.chain, "--sample", "all", stdin=each).exits(0, "partial lines: verify")
    r.prints("^checked   3 draws, 18 sequences", "partial lines: verify counts draws")
    r.prints("bit for bit$", "partial lines: verify repeats the draws")
    spaced = "".join(json.dumps(json.loads(line), sort_keys=True) + "\n" for line in each.splitlines())
    t.same(t.run("estimate", "--f", "length", stdin=spaced).out, t.run("estimate", "--f", "length", stdin=plain).out,
           "partial lines: in another order of keys")
    lines = each.splitlines(keepends=True)
    r = t.run("verify", stdin="".join(lines + lines[-1:])).exits(1, "partial lines: a draw twice")
    r.says(r"standard input:%d: .* is also on line %d" % (len(lines) + 1, len(lines)),
           "partial lines: they count as lines of the file")
    r = t.run("eval", stdin=lines[0][:40] + "\n").exits(1, "partial lines: one that was cut")
    r.says("standard input:1: invalid JSON", "partial lines: one that was cut: why")

    for rule in ("mass=0.2", "texts=2", "texts=1000"):
        until = t.draw(*words, "--until", rule)
        r = t.run("estimate", "--f", "length", stdin=plain + until).exits(1, "estimate: refuses a draw with %s" % rule)
        r.says("standard input:4: the draw has a rule that ends it .*would be biased; choose k by this draw and "
               "estimate from another draw", "estimate: the reason and the way out")
        t.run("eval", stdin=until).exits(0, "eval: takes a draw with %s" % rule)
    # Two searches of one draw are the same noise.
    r = t.run("estimate", "--f", "length", stdin=plain + t.draw(*words, "--search", "level"))
    r.exits(1, "estimate: one draw by two searches").says("is also on line 1", "estimate: it is the same draw")


def test_verify(t):
    every = str(t.models / EVERYDAY)
    for model, words in ((t.fig1, ["-k", "4"]), (t.fig1, ["-k", "30"]), (t.chain, ["-k", "200", "--max-len", "8"]),
                         (every, ["-k", "60", "-T", "0.5", "I know her."])):
        if t.run("info", model).code != 0:
            continue
        for more in (["--search", "level"], ["--search", "best-first"], ["--parallel", "1"], ["--parallel", "9"],
                     ["--until", "mass=0.3"], ["--until", "texts=3"], ["--until", "mass=0.9", "--parallel", "2"],
                     ["--until", "texts=1000"], ["--each"], ["--each", "--until", "texts=2", "--no-kappa"]):
            drawn = t.draw("-m", model, "--seed", "6", "--draws", "2", *words, *more)
            r = t.run("verify", "-m", model, "--sample", "all", "-f", "jsonl", stdin=drawn)
            t.check(r.code == 0 and [(x["repeated"], x["equal"]) for x in r.records] == [(2, 2)],
                    "verify: %s %s" % (os.path.basename(model), " ".join(words + more)), r)
    # A build or version whose automatic choice was level search.
    old = t.draw("-m", t.chain, "-k", "9", "--seed", "6", "--search", "level").replace('"search":"level",', "")
    r = t.run("verify", "-m", t.chain, stdin=old).exits(0, "verify: a draw of level search that does not say so")
    r.prints("bit for bit", "verify: and it is the same")


def test_verify_finds_changes(t):
    def refused(record, pattern, name, **changes):
        r = t.run("verify", "-m", t.chain, stdin=json.dumps({**record, **changes}) + "\n")
        r.exits(1, "verify: " + name).says("standard input:1: .*" + pattern, "verify: %s: why" % name)

    [record] = records(t.draw("-m", t.chain, "-k", "30", "--seed", "6", "--until", "mass=0.2", "--until", "texts=29"))
    t.same(record["stopped_by"], "mass", "verify: a draw that ended by its mass")
    n = len(record["sequences"])
    refused(record, '"stopped_by" is "texts", but the repeated draw is stopped by "mass"', "another reason",
            stopped_by="texts")
    refused(record, '"stopped_by" is "time"; expected mass, texts, k or exhausted', "an unknown reason",
            stopped_by="time")
    refused(record, "there are %d sequences, but \"k\" is 30" % n, "it did not end by k", stopped_by="k")
    refused(record, '"stopped_by" is "exhausted", but "exhausted" is not true', "it is not exhausted",
            stopped_by="exhausted")
    refused(record, '"stopped_by" is missing', "no reason", stopped_by=None)
    refused(record, "sequences", "one sequence less", sequences=record["sequences"][:-1])
    refused(record, "sequences", "another mass", until_mass=0.01)
    refused(without(record, "until_mass"), 'there is no "until_mass"', "without its rule")
    refused(without(record, "until_mass", "until_texts"), "the draw has no rule", "without its rules")
    refused(record, '"kappa" is a number', "a threshold", kappa=-5)
    # A rule that the draw does not meet for a long time is noticed soon.
    refused(record, "but the repeated draw has more than %d" % (2 * n), "a rule that is not met", k=10**7,
            until_mass=1, until_texts=10**7, stopped_by="texts")
    refused(record, '"stopped_by" is "mass", but the probabilities of the sequences sum to', "a mass that is not met",
            until_mass=1)
    refused(record, '"model_rows" is', "the number of rows", model_rows=record["model_rows"] + 1)
    # The same with numbers that are off by a bit, as those of another build.
    record["sequences"][0]["log_p"] = math.nextafter(record["sequences"][0]["log_p"], -math.inf)
    refused(record, '"stopped_by" is "texts", but the repeated draw', "another reason and build", stopped_by="texts")
    t.run("verify", "-m", t.chain, stdin=json.dumps(record) + "\n").exits(0, "verify: another build")


def test_usage(t):
    for name, words, message in (
            ("parallel of 0", "--parallel 0", "parallel is '0'; expected a whole number of at least 1 and at most 4096"),
            ("parallel of 4097", "--parallel 4097", "at most 4096"),
            ("parallel with level", "--parallel 2 --search level", "parallel is 2, but search is level"),
            ("unknown search", "--search depth", r"search is 'depth'; expected auto\|level\|best-first"),
            ("search with beam", "--method beam --search best-first", "method beam does not take --search: it belongs"),
            ("parallel with sample", "--method sample --parallel 3", "method sample does not take --parallel"),
            ("a mass of 2", "--until mass=2", "until-mass is '2'; expected a number above 0 and at most 1"),
            ("a mass of 0", "--until mass=0", "until-mass is '0'"),
            ("a mass that is not a number", "--until mass=x", "until-mass is 'x'"),
            ("no texts", "--until texts=0", "until-texts is '0'; expected a whole number of at least 1"),
            ("half a text", "--until texts=0.5", "until-texts is '0.5'"),
            ("until without a number", "--until mass", "--until is 'mass'; expected mass=X or texts=N"),
            ("until of another rule", "--until time=3", "--until is 'time=3'; expected mass=X or texts=N"),
            ("until of nothing", "--until =3", "--until is '=3'"),
            ("until without a value", "--until", r"option '--until' needs a value: mass=X\|texts=N"),
            ("until with beam", "--method beam --until texts=2", "method beam does not take --until texts=N: it belongs"),
            ("until with level", "--until texts=2 --search level", "until-texts needs search best-first"),
            ("each with text", "--each", "--each needs -f jsonl"),
            ("each with tsv", "--each -f tsv", "--each needs -f jsonl"),
            ("each with beam", "--each -f jsonl --method beam", "method beam does not take --each: it belongs to sbs"),
            ("each with level", "--each -f jsonl --search level", "--each needs search best-first"),
            ("a value for each", "--each=1 -f jsonl", "option '--each' takes no value")):
        t.usage(name, "draw", "-m", t.fig1, *words.split()).says(message, "usage: %s: the message" % name)
    for word in ("--search", "--parallel", "--until", "--each"):
        t.usage("tree: " + word, "tree", "-m", t.fig1, word, "1").says("unknown option", "tree: has no " + word)
    r = t.run("draw", "--help")
    r.prints(r"^ +--until mass=X\|texts=N +end", "help: until").prints("^ +--each  ", "help: each")
    r.prints(r"^ +--search auto\|level\|best-first$", "help: search").prints("default: auto", "help: the default")
    t.check("until-mass" not in r.out and "until-texts" not in r.out, "help: the rules are under --until", r)


def test_gguf(t):
    model = os.environ.get("SBEAM_GGUF")
    if not model or t.run("info", model).code != 0:
        t.skip("best-first search with a GGUF model: SBEAM_GGUF does not name one, or this build cannot open it")
        return
    for words in ("--search best-first", "--parallel 2", "--until mass=0.5", "--each -f jsonl"):
        r = t.usage("GGUF: " + words, "draw", "-m", model, "-k", "2", "--seed", "1", *words.split(), "Once")
        r.says(", but a model of kind 'gguf' keeps only", "GGUF: %s: why" % words)


def test_terminal(t):
    """If no draw ends for two seconds, the sequences found are counted, and wiped before a result is written."""
    t.write("late.sh", """rm -f late; mkfifo late && (sleep 2.5; echo a) 1<>late &
while [ ! -p late ]; do :; done
exec "$@" --file late --seed 1""")
    program, t.sbeam = t.sbeam, "/bin/sh"
    shown = r"0 of 1 draws, \d+ sequences found, \d+ s\x1b\[K"
    r = t.run_on_terminal("late.sh", program, "draw", "-m", t.chain, "-f", "text")
    if r is None:
        t.skip("progress of a long draw: there are no terminals here")
        return
    r.check(r.code == 0 and r.prints_line("^" + shown + r"\x1b\[K"), "terminal: the sequences found so far, then wiped")
    r.check(r.out.count("sequences found") == 1 and r.prints_line("^5 "), "terminal: the result follows")
    r = t.run_on_terminal("late.sh", program, "draw", "-m", t.chain, "-f", "jsonl", "--each")
    lines = r.out.replace("\x1b[K", "\n").split("\n")
    r.check(r.code == 0 and len([x for x in lines if x.startswith('{"partial"')]) == 5 and
            len([x for x in lines if x.startswith('{"stream"')]) == 1, "terminal: lines of --each begin on lines of their own")
    r = t.run_on_terminal("late.sh", program, "draw", "-m", t.chain, "-f", "text", "--search", "level")
    r.check(r.code == 0 and "found" not in r.out, "terminal: level search finds all at the end")
