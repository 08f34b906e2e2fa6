"""Draws from a GGUF language model, the one that SBEAM_GGUF names: stories260K.gguf."""
import os

PROMPT = "Once upon a time"
STORY = r", there was a little girl named Lily\. She loved to play outside in the "


def find_model(t):
    """Returns the path of the model, or None if it cannot be tested here."""
    t.write("broken.gguf", b"GGUF\3\0\0\0")
    if t.run("info", "broken.gguf").says_line("without llama.cpp") or not os.environ.get("SBEAM_GGUF"):
        return None
    return os.path.realpath(os.environ["SBEAM_GGUF"])


def test_broken_file(t):
    t.write("broken.gguf", b"GGUF\3\0\0\0")
    r = t.run("info", "broken.gguf").exits(1, "gguf: a broken file")
    if r.says_line("without llama.cpp"):
        r.says("scripts/setup --with llama", "gguf: without llama.cpp it says how to get it")
        t.skip("gguf: this build is without llama.cpp")
        return
    r.says("llama.cpp cannot load", "gguf: a broken file is refused in llama.cpp's words")
    if not os.environ.get("SBEAM_GGUF"):
        t.skip("gguf: SBEAM_GGUF names no file")


def test_llama_is_absent(t):
    """SBEAM_LLAMA names the only place where llama.cpp is looked for."""
    t.write("broken.gguf", b"GGUF\3\0\0\0")
    if t.run("--version").prints_line("^llama.cpp: no$"):
        t.skip("llama.cpp that is absent: this build is without llama.cpp")
        return
    nowhere = {"SBEAM_LLAMA": "/nonexistent"}
    r = t.run("info", "broken.gguf", env=nowhere).exits(1, "no llama.cpp: exit status")
    r.says("broken.gguf: GGUF models cannot be opened without llama.cpp [0-9].*SBEAM_LLAMA names '/nonexistent'.*no libllama.so",
           "no llama.cpp: what, where and the way out")
    t.run("draw", "-m", t.arpa, "--seed", "1", env=nowhere).exits(0, "no llama.cpp: other models need none")
    t.run("--version", env=nowhere).prints(r"^llama.cpp: [0-9][-.0-9a-z]*, ggml [.0-9]+ \(not found\)$",
                                           "no llama.cpp: --version says so, and which version it wants")


def test_draws(t):
    gguf = find_model(t)
    if gguf is None:
        return
    r = t.run("info", gguf).exits(0, "gguf: info")
    r.prints("^kind +gguf$", "gguf: info says what it is")
    r.prints("^context +512$", "gguf: info says how long it may get")
    r = t.run("draw", "-m", gguf, "--method", "beam", "-k", "1", "--max-len", "40", "-f", "jsonl", PROMPT)
    r.exits(0, "gguf: greedy")
    r.prints('"text":"' + STORY + r"park\. One day, she saw a big, red ball\.", "gguf: the story that llama.cpp tells")
    given = ("draw", "-m", gguf, "-k", "8", "-T", "0.8", "--max-len", "24", "--seed", "1", "-f", "tsv")
    first = t.run(*given, PROMPT).exits(0, "gguf: k = 8")
    texts = [row[13] for row in first.rows]
    first.check(len(set(texts[1:])) == 8, "gguf: eight stories")
    g = [float(row[10]) for row in first.rows[1:]]
    first.check(g == sorted(g, reverse=True), "gguf: in the order of g")
    t.same(t.run(*given, stdin=PROMPT + "\n").out, first.out, "gguf: a line of standard input")
    r = t.run(*given, "--input", "jsonl", "--threads", "2", stdin='{"input":"%s"}\n' % PROMPT)
    t.same([row[13] for row in r.rows], texts, "gguf: two threads")


def test_prompts(t):
    gguf = find_model(t)
    if gguf is None:
        return
    given = ("draw", "-m", gguf, "-k", "2", "--max-len", "3", "--seed", "1")
    # The second prompt does not fit the context of the first, which is moved to a larger one in silence.
    r = t.run(*given, "-f", "tsv", stdin="Once\n%s\n" % ("Lily and Tom went to the park. " * 20))
    r.exits(0, "gguf: a longer prompt after a short one")
    r = t.run(*given, stdin="Tom\n%s\n" % ("Lily went to the park. " * 30))
    r.exits(0, "gguf: a long prompt after a short one, and not a word of it")
    r = t.run(*given, "-f", "jsonl", "--file", t.write("prompt", "Lily was sad.\nShe"))
    r.prints(r'"stream":0,"draw":0,"input":"Lily was sad\.\\nShe"', "gguf: a prompt of two lines")
    t.run(*given, "").exits(0, "gguf: the empty prompt")
    r = t.run("draw", "-m", gguf, "-k", "2", "--max-len", "3", stdin=b"\xff\xfe\n")
    r.exits(1, "gguf: a prompt that is not UTF-8")


def test_special_tokens(t):
    refused = ("draw", "-m", t.chain, "--special")
    t.usage("--special without a GGUF model", *refused).says("only GGUF models", "--special: why it is refused")
    t.usage("bench: --special", "bench", "search", "--special")
    t.usage("estimate: --special without --truth exact", "estimate", "--f", "length", "--special")
    gguf = find_model(t)
    if gguf is None:
        return
    given = ("draw", "-m", gguf, "-k", "2", "--max-len", "8", "--seed", "1", "-f", "tsv")
    text, token = (t.run(*given, *words, "The end.</s><s>Tom").exits(0, "gguf: a prompt with special tokens")
                   for words in ((), ("--special",)))
    text.check(text.out != token.out, "gguf: </s> in a prompt is text unless --special is given")
    # Without special tokens --special changes nothing, and the tokens named one by one are those that it finds.
    t.same(t.run(*given, "--special", PROMPT).out, t.run(*given, PROMPT).out, "gguf: --special without special tokens")
    plain, named, read = (t.run(*given, *words).rows for words in (
        ("",), ("--pretokenized", "</s>"), ("--special", "</s>")))
    t.same([row[10] for row in named], [row[10] for row in read], "gguf: --special reads </s> as its token")
    t.check(plain != read, "gguf: the token </s> changes the draw")
    t.usage("gguf: --special with --pretokenized", *given, "--special", "--pretokenized", "</s>")
    r = t.run("score", "-m", gguf, "--no-eos", stdin="Once\t</s>\n").exits(0, "gguf: </s> in an output is text")
    r.check(len(r.records[0]["tokens"]) > 1, "gguf: </s> in an output is more than one token")


def test_stop_strings(t):
    gguf = find_model(t)
    if gguf is None:
        return
    beam = ("draw", "-m", gguf, "--method", "beam", "-k", "1", "-f", "jsonl")
    r = t.run(*beam, "--stop", "park", "--stop", "xyz", PROMPT)
    r.prints('"text":"' + STORY + '","tokens".*"end":"stop"', "gguf: text is cut before a stop string")
    r = t.run(*beam, "--max-len", "200", "--stop", r"\n", PROMPT)
    r.prints(r'"stop":\["\\n"\]', "gguf: a newline as stop string")
    r = t.run("draw", "-m", gguf, "-k", "4", "--max-len", "200", "--stop", r"\n", "--seed", "1", "-f", "tsv", PROMPT)
    r.check(not any(r"\n" in row[13] for row in r.rows), "gguf: a newline ends the text")


def test_limits(t):
    gguf = find_model(t)
    if gguf is None:
        return
    r = t.run("draw", "-m", gguf, "-k", "2", "--max-len", "512", PROMPT).exits(1, "gguf: a context that is too small")
    r.says("input 0: a prompt of .* tokens and 512 more need a context of .*; the model.s is 512, so lower max-len",
           "gguf: says so before it begins")
    r = t.run("draw", "-m", gguf, "-k", "256", "--max-len", "3", "Once").exits(1, "gguf: too many rows")
    r.says("k = 256 needs 257 rows at once; the model allows 256", "gguf: how many there are")
    t.usage("gguf: no cache of rows", "draw", "-m", gguf, "--cache", "10", "Once")


def test_other_commands(t):
    gguf = find_model(t)
    if gguf is None:
        return
    r = t.run("score", "-m", gguf, "--no-eos", stdin=PROMPT + "\t, there was a little girl\n")
    r.prints(r'"tokens":\[432,383,286,261,376,298,315,421\]', "gguf: score")
    r = t.run("tree", "-m", gguf, "-k", "2", "--top-k", "2", "--max-len", "3", "--seed", "1", "Once upon a")
    r.exits(0, "gguf: tree")
    r = t.run("bench", "decode", "-m", gguf, "-k", "4", "--len", "4", "--repeats", "1", "-f", "jsonl")
    r.prints('"model":"[^"]*","method":"sbs","vocab":512,"k":4', "gguf: bench decode")
