"""Tests sbeam verify: right files pass, each changed field is found, and impossible records are refused."""
import copy
import json
import math
import os
import re

CASES = (  # (model, options): every method and every setting that a record mentions
    ("fig1", ["-k", "3"]),
    ("fig1", ["-k", "20"]),
    ("fig1", ["-k", "3", "--no-kappa"]),
    ("chain", ["-k", "4", "--max-len", "7", "--top-p", "0.9", "-T", "0.5,1.3", "--draws", "2"]),
    ("chain", ["-k", "4", "--max-len", "7", "--ban", "rain", "--stop", "sun sun"]),
    ("chain", ["-k", "4", "--method", "beam", "--finished", "leave", "--length-penalty", "0.5"]),
    ("chain", ["-k", "4", "--method", "diverse", "--groups", "2", "--strength", "0.7", "--penalty", "step"]),
    ("chain", ["-k", "4", "--method", "reject", "--max-samples", "99"]),
    ("chain", ["-k", "5", "--method", "reject", "--max-len", "1"]),  # its last round ends at the second sample
    ("fig1", ["-k", "30", "--method", "reject", "--max-samples", "200"]),  # it gives up
    ("chain", ["-k", "4", "--method", "sample", "--min-len", "2"]),
    ("chain", ["-k", "4", "--method", "resample"]),
    ("chain", ["-k", "4", "--method", "commit"]),
    ("chain", ["-k", "4", "--method", "beam-sample"]),
    ("fig1", ["-k", "4", "--method", "explicit"]),
    ("arpa", ["-k", "5", "--max-len", "6", "--min-p", "0.01", "--top-k", "40", "the cat", "mary had"]),
)


def test_honest_files(t):
    for name, words in CASES:
        model = getattr(t, name)
        draws = t.draw("-m", model, "--seed", "5", *words)
        r = t.run("verify", "-m", model, "--sample", "all", "-f", "jsonl", stdin=draws)
        n = len(draws.splitlines())
        t.same([(x["records"], x["repeated"], x["equal"], x["rounding"]) for x in r.records], [(n, n, n, 0)],
               "verify: %s %s" % (name, " ".join(words)))
    r = t.run("verify", stdin="").exits(0, "verify: an empty file is fine")
    r.prints("checked   0 draws, 0 sequences", "verify: and says so")


def test_default_model(t):
    draws = t.draw("-k", "3", "--seed", "2", "I know her.", "Thank you.", "--max-len", "12")
    r = t.run("verify", stdin=draws).exits(0, "verify: draws of the default model")
    r.prints("^repeated  2 draws: the same, bit for bit$", "verify: the default model repeats them")
    r = t.run("verify", stdin=t.draw("-m", t.fig1, "-k", "3", "--seed", "2")).exits(0, "verify: of another model")
    r.prints("^repeated  none: give the model with -m", "verify: says how to repeat them")
    # Tokens instead of text, and a text of pieces: both are settings of the draw.
    draws = t.draw("-k", "3", "--seed", "2", "--pretokenized", "--bpe-marker", "x", "\u2581I \u2581know", "--max-len", "9")
    t.run("verify", stdin=draws).prints("bit for bit", "verify: --pretokenized and --bpe-marker are in the record")


def each_lie(record):
    """Yields (name, changed record). Each field is changed in turn, but the record could still be one of a draw."""
    def change(name, edit):
        lie = copy.deepcopy(record)
        edit(lie, lie["sequences"])
        return name, lie

    def swap_tokens(draw, sequences):
        """The second sequence becomes one that was not drawn."""
        sequences[1]["tokens"] = sequences[1]["tokens"][:-1] + [1 - sequences[1]["tokens"][-1]]

    yield change("stream", lambda draw, s: draw.update(stream=77))
    yield change("draw", lambda draw, s: draw.update(draw=3))
    yield change("seed", lambda draw, s: draw.update(seed=6))
    yield change("input", lambda draw, s: draw.update(input="0"))
    yield change("temperature", lambda draw, s: draw.update(temperature=0.9))
    yield change("max_len", lambda draw, s: draw.update(max_len=2))
    yield change("top_p", lambda draw, s: draw.update(top_p=0.5))
    yield change("ban", lambda draw, s: draw.update(ban=["1"]))
    yield change("stop", lambda draw, s: draw.update(stop=["0 1"]))
    yield change("model_rows", lambda draw, s: draw.update(model_rows=1))
    yield change("log_p_draw", lambda draw, s: draw.update(log_p_draw=draw["log_p_draw"] + 1e-9))
    yield change("kappa, without weights", lambda draw, s: (
        draw.update(kappa=draw["kappa"] - 1e-3), [q.pop("log_weight") for q in s]))
    yield change("text", lambda draw, s: s[1].update(text="1 1 1 1"))
    yield change("tokens", swap_tokens)
    yield change("end", lambda draw, s: s[0].update(end="eos"))
    yield change("log_p_model", lambda draw, s: s[2].update(log_p_model=s[2]["log_p_model"] + 1e-9))
    yield change("g", lambda draw, s: s[0].update(g=s[0]["g"] + 1e-9))
    yield change("the order of two", lambda draw, s: (
        s[0].update(tokens=s[1]["tokens"], text=s[1]["text"]),
        s[1].update(tokens=record["sequences"][0]["tokens"], text=record["sequences"][0]["text"])))
    yield change("the last one is missing", lambda draw, s: (draw.update(k=2), s.pop()))


def test_lies(t):
    record = json.loads(t.draw("-m", t.fig1, "-k", "3", "--seed", "5"))
    n = 0
    for name, lie in each_lie(record):
        r = t.run("verify", "-m", t.fig1, stdin=json.dumps(lie) + "\n")
        r.exits(1, "verify: a lie: %s" % name)
        r.says("^sbeam verify: standard input:1: .", "verify: its line: %s" % name)
        n += 1
    t.check(n == 19, "verify: number of lies")


def each_shifted_lie(t, model, *words):
    """(name, changed record): one log_p is off by a bit, as from another build, and something else is a lie."""
    def draw(*more):
        return json.loads(t.draw("-m", model, "--seed", "5", "--max-len", "8", *more, *words))

    def change(name, record, edit):
        lie = copy.deepcopy(record)
        for s in lie["sequences"]:
            s.pop("log_weight")
        lie["sequences"][0]["log_p"] = math.nextafter(lie["sequences"][0]["log_p"], -math.inf)
        edit(lie, lie["sequences"])
        return name, lie

    sbs, sample, beam = (draw("-k", "4", "--method", method) for method in ("sbs", "sample", "beam"))
    yield change("nothing", sbs, lambda draw, s: None)
    yield change("kappa", sbs, lambda draw, s: draw.update(kappa=-50))
    yield change("no kappa", sbs, lambda draw, s: draw.update(kappa=None))
    yield change("no log_p_draw", sbs, lambda draw, s: draw.update(log_p_draw=None))
    yield change("a sequence that was cut", sbs, lambda draw, s: s[3].update(
        tokens=s[3]["tokens"][:-1], end="max-len", log_p_model=None))
    yield change("no end", sbs, lambda draw, s: s[3].update(end=None))
    yield change("one sequence for all", sample, lambda draw, s: s.__setitem__(slice(None), [s[0]] * 4))
    yield change("the best are missing", beam, lambda draw, s: s.__delitem__(slice(2)))
    yield change("the order", beam, lambda draw, s: s.reverse())
    yield change("no sequences", beam, lambda draw, s: (s.clear(), draw.pop("version")))


def test_shifted_lies(t):
    """Who lies about another build, too, does not get further."""
    everyday = str(t.models / "enfr-everyday.safetensors")
    for model, words in ((t.fig1, []), (t.chain, []), (everyday, ["I know her."])):
        for name, lie in each_shifted_lie(t, model, *words):
            r = t.run("verify", "-m", model, "--sample", "all", stdin=json.dumps(lie) + "\n")
            r.exits(0 if name == "nothing" else 1, "verify: %s: a shifted lie: %s" % (os.path.basename(model), name))
    # Trees, chains and ARPA models are computed in double: nothing but the last digits may differ.
    record = json.loads(t.draw("-m", t.chain, "--seed", "5", "--max-len", "8", "-k", "4"))
    record["sequences"][0]["log_p"] = math.nextafter(record["sequences"][0]["log_p"], -math.inf)
    for key in ("model_rows", "log_p_draw"):
        lie = {**record, key: record[key] - 1}
        r = t.run("verify", "-m", t.chain, stdin=json.dumps(lie) + "\n").exits(1, "verify: a shifted lie: %s" % key)
        r.says('"%s" is' % key, "verify: says so")
    record["sequences"][0]["g"] += 1
    r = t.run("verify", "-m", t.chain, stdin=json.dumps(record) + "\n").exits(1, "verify: a shifted lie: one G")
    r.says("1 of 4 sequences are not those drawn", "verify: says so")


def test_reject_gave_up(t):
    record = json.loads(t.draw("-m", t.chain, "-k", "5", "--method", "reject", "--max-samples", "3", "--seed", "5"))
    t.check(not record["complete"], "verify: reject gave up")
    record.pop("max_samples")
    r = t.run("verify", "-m", t.chain, stdin=json.dumps(record) + "\n").exits(1, "verify: reject gave up too early")
    r.says('after 3 samples; expected samples until "max_samples", which is 1000000', "verify: says so")


def test_twice(t):
    """Settings at their default, or written otherwise, do not make another draw."""
    record = json.loads(t.draw("-m", t.fig1, "-k", "3", "--seed", "5", "--top-p", "0.9"))
    for key, value in (("max_len", 200), ("top_k", 0), ("top_p", "0.90"), ("min_p", 0.0), ("finished", "stay"),
                       ("early_stop", False), ("groups", 0), ("max_samples", 1000000), ("strength", 0.5)):
        twice = json.dumps(record) + "\n" + json.dumps({**record, key: value}) + "\n"
        r = t.run("verify", "-m", t.fig1, stdin=twice).exits(1, "verify: twice, with %s" % key)
        r.says("standard input:2: draw 0 of stream 0 .* is also on line 1", "verify: says so")


def test_impossible(t):
    """Records that no draw can have are found without the model."""
    line = t.draw("-m", t.fig1, "-k", "3", "--seed", "5")
    first = json.loads(line)["sequences"][0]

    def refused(name, pattern, *lines):
        for command in (["verify"], ["estimate", "--f", "length"], ["eval"]):
            r = t.run(*command, stdin="".join(lines)).exits(1, "%s: %s" % (command[0], name))
            r.says(r"standard input:%d: .*%s" % (len(lines), pattern), "%s: why: %s" % (command[0], name))

    def edit(pattern, replacement):
        return re.sub(pattern, replacement, line, count=1)

    refused("a weight", "sequence 1: \"log_weight\" is", edit('"log_weight":[^,]*', '"log_weight":-0.5'))
    refused("a G", "above that of the sequence before", edit(r'("g":)([^,]*)(.*?"g":)([^,]*)', r"\1\4\3\2"))
    refused("a threshold", "expected at least \"kappa\"", re.sub('"log_weight":[^,]*', '"log_weight":null',
                                                                 edit('"kappa":[^,]*', '"kappa":50')))
    refused("a token", "number 1 is not a token id", edit(r'"tokens":\[[0-9]', '"tokens":[-1'))
    refused("a probability", "\"log_p\" is 0.5; expected at most 0", edit('"log_p":[^,]*', '"log_p":0.5'))
    refused("a draw that is there twice", "is also on line 1", line, line)
    twin = json.dumps({**json.loads(line), "sequences": [first, first, first]}) + "\n"
    refused("a sequence that is there twice", "its tokens are those of sequence 1", twin)
    all_of_them = t.draw("-m", t.fig1, "-k", "9", "--seed", "5")
    short = json.loads(all_of_them)
    short["sequences"] = short["sequences"][:2]
    refused("a draw that hides sequences", "\"exhausted\" is true, but the probabilities of the sequences sum to",
            json.dumps(short) + "\n")


def test_files(t):
    a = t.draw("-m", t.fig1, "-k", "2", "--seed", "5", "--draws", "3")
    b = t.draw("-m", t.fig1, "-k", "2", "--seed", "6", "--draws", "3")
    t.write("a", a)
    t.write("b", b)
    t.write("c", b + a.split("\n")[1] + "\n")
    r = t.run("verify", "a", "b", "-m", t.fig1).exits(0, "verify: two files")
    r.prints("^6 draws  sbs  k 2  T 1  several seeds  sbeam [0-9.]+$", "verify: a line for each setting")
    r.prints("^repeated  6 draws: the same, bit for bit$", "verify: both are repeated")
    r = t.run("verify", "a", "c").exits(1, "verify: a draw in two files")
    r.says("^sbeam verify: c:4: draw 1 of stream 0 with seed 5 .* is also on line 2 of a,", "verify: which")
    r = t.run("verify", "a", "-m", t.chain).exits(1, "verify: another model")
    r.says("a:1: the draw is from another model: its \"model\" is [0-9a-f]{16}, but", "verify: which model")
    t.run("verify", "missing").exits(1, "verify: a file that is not there").says("missing: ", "verify: its name")
    r = t.run("estimate", "--f", "length", "--summary", "--truth", "exact", "-m", t.chain, stdin=a)
    r.exits(1, "estimate: the truth of another model")
    r.says("standard input:1: the draw is from another model", "estimate: says so")


def test_choice(t):
    draws = t.draw("-m", t.chain, "-k", "2", "--seed", "5", "--draws", "300", "--max-len", "4")
    r = t.run("verify", "-m", t.chain, stdin=draws).exits(0, "verify: many draws")
    r.prints(r"^repeated  100 draws chosen at random \(--seed [0-9]+\): the same, bit for bit$", "verify: 100 of them")
    lines = draws.split("\n")
    lines[150] = re.sub('"model_rows":[0-9]+', '"model_rows":1', lines[150])
    wrong = "\n".join(lines)
    codes = [t.run("verify", "-m", t.chain, "--sample", "150", "--seed", seed, stdin=wrong).code for seed in range(12)]
    again = [t.run("verify", "-m", t.chain, "--sample", "150", "--seed", seed, stdin=wrong).code for seed in range(12)]
    t.same(codes, again, "verify: --seed repeats the choice")
    t.check(0 < sum(codes) < 12, "verify: half of the choices find one wrong draw")
    r = t.run("verify", "-m", t.chain, "--sample", "all", stdin=wrong).exits(1, "verify: --sample all finds it")
    r.says('standard input:151: "model_rows" is 1, but the model gives', "verify: where")
    t.usage("verify: a sample of -1", "verify", "--sample", "-1")
    t.usage("verify: a sample of some", "verify", "--sample", "some")
    t.usage("verify: an unknown format", "verify", "-f", "tsv")


def test_settings_mixed(t):
    refs = t.write("refs", "0 1 1\n")
    a, b = (t.draw("-m", t.fig1, "-k", "2", "--seed", seed, *more) for seed, more in ((1, []), (2, ["--top-p", "0.9"])))
    r = t.run("eval", "--ref", "refs", stdin=a + b).exits(1, "eval: mixed settings")
    r.says('standard input:2: the settings are "top_p 0.9, model .*", but those of line 1 are "model', "eval: which")
    r = t.run("estimate", "--f", "length", "--summary", stdin=a + b).exits(1, "estimate: mixed settings")
    r.says("stream 0 at temperature 1 has draws with different settings, on line ", "estimate: which")
    t.run("estimate", "--f", "length", stdin=a + b).exits(0, "estimate: each draw by itself is fine")


def test_other_build(t):
    """Numbers that differ by rounding, as from another build, pass; larger differences do not."""
    lines = t.draw("-k", "6", "--seed", "2", "--max-len", "12", "-T", "0.5", "I know her.")
    record = json.loads(lines)

    def shifted(by):
        other = copy.deepcopy(record)
        other["kappa"] += by
        for sequence in other["sequences"]:
            for key in ("log_p", "log_p_model", "g"):
                sequence[key] += by
            sequence.pop("log_weight")
        return json.dumps(other) + "\n"

    r = t.run("verify", stdin=shifted(1e-6)).exits(0, "verify: another build")
    r.prints("the same; 1 of them up to rounding, by at", "verify: says that bits differ")
    t.run("verify", stdin=shifted(1e-2)).exits(1, "verify: too far off for another build")
    model = os.environ.get("SBEAM_GGUF")
    if not model:
        t.skip("verify: gguf: SBEAM_GGUF names no file")
        return
    draws = t.draw("-m", model, "-k", "6", "--seed", "3", "--max-len", "12", "--batch", "4", "--draws", "3", "Once")
    t.run("verify", "-m", model, stdin=draws).exits(0, "verify: rows that depend on their batch")
    # The same bits in the sequences do not mean the same bits in the rows of other nodes.
    record = json.loads(t.draw("-m", model, "-k", "2", "--seed", "3", "--max-len", "4", "Once"))
    record["log_p_draw"] += 1e-9
    t.run("verify", "-m", model, stdin=json.dumps(record) + "\n").exits(0, "verify: other rows depend on it, too")
    lie = draws.replace('"log_p_model":-', '"log_p_model":-1')
    t.run("verify", "-m", model, stdin=lie).exits(1, "verify: a lie about a GGUF model")
