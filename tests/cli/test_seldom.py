"""Tests rare cases: devices and folders instead of files, empty draws, long lists and names, terminals."""
import json
import os
import re


def full(t, name, *arguments, stdin=None):
    """Expects a failure to write to a full disk."""
    if os.path.exists("/dev/full"):
        with open("/dev/full", "wb") as device:
            r = t.run(*arguments, stdin=stdin, stdout=device)
        r.exits(1, name).says("cannot write standard output", name + ": the message")


def test_full_disk(t):
    many = t.draw("-m", t.fig1, "-k", "3", "--draws", "2000", "--seed", "1")
    full(t, "estimate: a full disk before the end", "estimate", "--f", "length", stdin=many)
    full(t, "score: a full disk before the end", "score", "-m", t.chain, stdin="\ta b\n" * 5000)
    full(t, "shuf: a full disk before the end", "shuf", stdin="x" * 100 + "\n" + "line\n" * 50000)
    full(t, "help on a full disk", "--help")
    full(t, "version on a full disk", "--version")
    full(t, "shuf of no lines on a full disk", "shuf", "-n", "0", "-f", "tsv")
    r = t.run("draw", "-m", t.fig1, "--cache", "1", "--cache-stats", "/dev/full", "-f", "jsonl")
    r.check(r.code == 1, "cache-stats on a full disk").says("cannot write the file of --cache-stats", "its message")


def test_folders_as_files(t):
    os.mkdir(t.folder / "folder")
    drawn = t.draw("-m", t.fig1, "--seed", "1")
    t.run("estimate", "--values", "folder", stdin=drawn).exits(1, "values: a folder").says(
        "folder: Is a directory", "values: a folder is said to be one")
    t.run("eval", "--ref", "folder", stdin=drawn).exits(1, "references: a folder").says(
        "folder: Is a directory", "references: a folder is said to be one")
    t.run("shuf", "folder").exits(1, "shuf: a folder").says(
        "folder: Is a directory", "shuf: a folder is said to be one")
    t.run("info", "/proc/self/mem").exits(1, "a file that cannot be read").says(
        "/proc/self/mem:1: Input/output error", "a file that cannot be read: the reason")
    name = "é" * 120 + "x"
    r = t.run("shuf", name).exits(1, "a long name")
    r.says(r"^sbeam shuf: \.\.\.é+x: No such file", "a long name is cut between characters")


def test_usage(t):
    r = t.usage("bpe-marker of nothing", "draw", "-m", t.fig1, "--bpe-marker", "")
    r.says("needs a marker such as @@", "bpe-marker of nothing: what is needed")
    r = t.usage("too many temperatures", "draw", "-m", t.fig1, "-T", ",".join(["1"] * 1025))
    r.says("more than 1024", "too many temperatures: the limit")
    t.usage("a temperature of many digits", "draw", "-m", t.fig1, "-T", "0" * 70)
    r = t.usage("score: another form of input", "score", "-m", t.fig1, "--input", "csv")
    r.says("--input is text or jsonl, not 'csv'", "score: another form of input: the forms")
    t.usage("estimate: smooth-value out of range", "estimate", "--f", "bleu", "--ref", "r", "--smooth", "floor",
            "--smooth-value", "2e9")
    t.usage("bench: too many methods", "bench", "decode", "-m", t.fig1, "--method", ",".join(["sbs"] * 100))
    t.usage("tree: min-len above max-len", "tree", "-m", t.fig1, "--min-len", "5", "--max-len", "2")
    r = t.run("estimate", "--f", "length", "--summary", "--truth", "exact", "-m", "nowhere.json", stdin="")
    r.exits(1, "estimate: a model that is not there").says("nowhere.json: No such file", "estimate: which model")
    r = t.run("shuf", "-w", "1", stdin="1" * 500 + "\tx\n")
    r.exits(1, "shuf: a weight of 500 digits").says("standard input:1: the weight is too long", "shuf: where it is")


def test_draws_without_sequences(t):
    [record] = [json.loads(line) for line in t.draw("-m", t.fig1, "-k", "3", "--seed", "1").splitlines()]
    empty = json.dumps({**record, "sequences": [], "method": "beam", "kappa": None})
    t.run("estimate", "--f", "length", stdin=empty).exits(1, "estimate: a draw without sequences").says(
        "standard input:1: .*no sequences", "estimate: which draw")
    t.run("eval", stdin=empty).exits(1, "eval: a draw without sequences").says(
        "standard input:1: .*no sequences", "eval: which draw")
    for sequence in record["sequences"]:
        sequence["g"] = None
    r = t.run("estimate", "--f", "length", "--sacrifice", stdin=json.dumps(record))
    r.exits(1, "estimate: no G to sacrifice")


def test_many_streams(t):
    """More settings and streams than a first table of cells holds."""
    drawn = t.draw("-m", t.fig1, "-k", "2", "--seed", "1", "-T", "1,2", *[""] * 300)
    r = t.run("eval", stdin=drawn).exits(0, "eval: 300 streams")
    t.check(len(r.lines) >= 2, "eval: a line for each temperature", r)


def test_seldom_texts(t):
    r = t.run("draw", "-m", t.fig1, "-k", "2", "--seed", "1", "--draws", "2", "-f", "text").exits(0, "text: two draws")
    r.prints("draw 0", "text: the first draw").prints("draw 1", "text: the second draw")
    r = t.run("draw", "-m", t.fig1, "-k", "8", "--method", "reject", "--max-samples", "3", "--seed", "1", "-f", "text")
    r.exits(0, "text: too few samples").prints("incomplete after 3 samples", "text: too few samples are said")
    r = t.run("draw", "-m", t.fig1, "--cache", "1", "-k", "1", "--no-kappa", "--seed", "1", "-f", "jsonl")
    r.check(r.code == 0 and r.says_line("none of [0-9]+ rows was needed again"), "cache: nothing was needed again")
    t.write("tiny.json", json.dumps({"format": "sbeam-tree", "tree": {"a": [1, None], "b": [9.96e-150, None]}}))
    r = t.run("draw", "-m", "tiny.json", "-k", "2", "--seed", "1", "-f", "text").exits(0, "text: a tiny probability")
    r.prints("^2 +1e-147% ", "text: its digits round up to the next power of ten")
    t.write("odd.json", json.dumps({"format": "sbeam-tree", "tree": {
        "<a>&": [0.5, None], "b": [0.4, {"e\u0301\x1b": [1, None]}], "x": [0.1, None]}}))
    r = t.run("tree", "-m", "odd.json", "--seed", "1", "-f", "svg").exits(0, "svg: odd tokens")
    r.prints("&lt;a&gt;&amp;", "svg: escapes")
    t.check(not re.search("<a>", r.out), "svg: nothing that is not escaped", r)
    r = t.run("tree", "-m", t.chain, "--max-len", "1", "--seed", "1", "-f", "svg", "a")
    r.exits(0, "svg: after a prefix").prints(", after: a", "svg: the prefix")
    r = t.run("shuf", "-f", "tsv", "--seed", "1", stdin="a\tb\rc\\\n").exits(0, "tsv: blanks")
    r.prints(r"\ta\\tb\\rc\\\\$", "tsv: escapes")
    r = t.run("draw", "-m", "odd.json", "-k", "3", "--seed", "1", "-f", "text").exits(0, "text: odd tokens")
    r.prints(r"b e\u0301\\x1b", "text: escapes")
    t.check(all(ord(c) >= 32 or c == "\n" for c in r.out), "text: no control characters", r)
    r = t.run("draw", "-m", t.fig1, "-k", "2", "--seed", "1", "-f", "text",
              env={"LC_ALL": "", "LANG": "", "LC_CTYPE": ""})
    t.check(all(c == "\n" or " " <= c <= "~" for c in r.out), "text: without a locale only ASCII", r)


def test_terminals(t):
    t.environment.pop("NO_COLOR")
    t.environment["TERM"] = "xterm"
    r = t.run_on_terminal("draw", "-m", t.fig1, "-k", "2", "--seed", "1", "-f", "text")
    if r is None:
        t.skip("terminals: there are none here")
        return
    r.check(r.code == 0 and "\x1b[" in r.out and "\x1b[0m" in r.out, "terminal: colours")
    t.environment["NO_COLOR"] = "1"
    r = t.run_on_terminal("draw", "-m", t.fig1, "-k", "2", "--seed", "1", "-f", "text")
    r.check(r.code == 0 and "\x1b" not in r.out, "terminal: NO_COLOR")
    # Progress appears after a second, so an input comes late: by a pipe with a name, or on standard input.
    t.write("b.txt", "b")
    t.write("files.sh", """mkfifo late && (sleep 1.5; echo a) 1<>late &
while [ ! -p late ]; do :; done
exec "$1" draw -m "$2" --file late --file b.txt --seed 1 -f jsonl >/dev/null""")
    t.write("lines.sh", '(echo a; sleep 1.5; echo b) | "$1" draw -m "$2" --seed 1 -f jsonl - >/dev/null')
    program, t.sbeam = t.sbeam, "/bin/sh"
    r = t.run_on_terminal("files.sh", program, t.chain)
    r.check(r.code == 0 and re.search(r"\[#+ +\]  50%  \d+/s  \d+ s left", r.out), "terminal: progress of two inputs")
    t.check(r.out.endswith("left\x1b[K\x1b[K"), "terminal: progress is wiped at the end", r)
    r = t.run_on_terminal("lines.sh", program, t.chain)
    r.check(r.code == 0 and re.search(r"\d+ draws, \d+/s", r.out), "terminal: progress of lines")


def test_bench(t):
    r = t.run("bench", "decode", "-m", t.arpa, "--method", "rows,sbs", "-k", "2", "--len", "3", "--repeats", "1")
    r.exits(0, "bench decode: rows").prints("^rows ", "bench decode: the time of rows without a search")
    t.run("bench", "decode", "-m", "nowhere").exits(1, "bench decode: a model that is not there")
    r = t.run_until_first_line("bench", "search", "-f", "jsonl")
    r.check(r.records[0]["sbs_ms"] > 0 and r.records[0]["logsumexp_ms"] > 0, "bench search: times")


# --- GGUF files that fit a page, the seeds of the fuzzer ---


def small_gguf(t, kind):
    return str(t.data.parent / "fuzz/corpus/gguf" / kind)


def test_small_gguf_files(t):
    spm, bpe = small_gguf(t, "llama"), small_gguf(t, "gpt2")
    r = t.run("info", spm, "-f", "jsonl")
    if r.says_line("without llama.cpp"):
        t.skip("small GGUF files: this build is without llama.cpp")
        return
    r.exits(0, "small gguf: info")
    [facts] = r.records
    t.same([facts["vocabulary"], facts["text"], facts["context"], facts["name"]],
           [8, "SentencePiece", 16, "random weights"], "small gguf: facts")
    t.run("info", bpe).exits(0, "small gguf: byte pairs").prints("^text +byte-level BPE$", "small gguf: its tokeniser")
    r = t.run("draw", "-m", spm, "-k", "20", "--max-len", "3", "--seed", "1", "-f", "tsv", "ab")
    r.exits(0, "small gguf: draws").prints(r"\\n", "small gguf: a line end in a field is escaped")
    r = t.run("draw", "-m", spm, "-k", "20", "--max-len", "3", "--seed", "1", "-f", "text", "ab")
    r.prints(r"\\n", "small gguf: a line end in a text is escaped")
    r = t.run("draw", "-m", spm, "caf\u00e9").exits(1, "small gguf: a text without bytes for it")
    r.says("cannot tokenise this text: ", "small gguf: llama.cpp's exception becomes a message")
    r = t.run("tree", "-m", spm, "--max-len", "100", "--seed", "1", "ab").exits(1, "small gguf: the tree is too large")
    with open(spm, "rb") as file:
        data = file.read()
    for name, shown in ((b"12345678901234", 12345678901234), (b"00000000000012", "00000000000012"),
                        (b"-123.456789e+5", "-123.456789e+5")):
        t.write("named.gguf", data.replace(b"random weights", name))
        [facts] = t.run("info", "named.gguf", "-f", "jsonl").records
        t.same([facts["name"]], [shown], "info: the name %s in JSON" % name.decode())
    t.usage("small gguf: sequences longer than its context", "bench", "decode", "-m", spm, "--len", "100")
    t.usage("small gguf: more rows than llama.cpp has", "bench", "decode", "-m", spm, "--len", "4", "-k", "300")
    t.write("mute.gguf", data.replace(b"tokenizer.ggml.model", b"tokenizer.ggml.mode_"))
    t.run("info", "mute.gguf").exits(1, "small gguf: without a vocabulary")


def test_pieces_by_name(t):
    model = t.models / "enfr-everyday.safetensors"
    if t.run("info", model).says_line("built without"):
        t.skip("pieces by name: this build has no neural models or no SentencePiece")
        return
    given = ("draw", "-m", model, "-k", "1", "--method", "beam", "--pretokenized", "-f", "text")
    first = t.run(*given, "\u2581Thank \u2581you .").exits(0, "pieces: a translation").lines[-1].split()
    piece = next(word for word in first if word.startswith("\u2581"))
    r = t.run(*given, "--ban", piece, "\u2581Thank \u2581you .").exits(0, "pieces: a ban by name")
    t.check(piece not in r.lines[-1].split(), "pieces: a banned piece is not there", r)
