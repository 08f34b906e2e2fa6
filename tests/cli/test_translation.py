"""Translation: the shipped model, and one with dictionaries."""


def draw_options(t):
    return ("draw", "-m", t.models / "enfr-everyday.safetensors")


def is_built(t):
    """Whether this build has neural models and SentencePiece."""
    return not t.run("info", t.models / "enfr-everyday.safetensors").says_line("built without")


def test_translation(t):
    draw = draw_options(t)
    if not is_built(t):
        t.skip("translation; this build has no neural models or no SentencePiece")
        return
    r = t.run("info", t.models / "enfr-everyday.safetensors")
    r.prints("^languages +English to French$", "info: a translation model")
    r = t.run(*draw, "-k", "3", "-T", "0.3", "--seed", "1", "Where is the train station?").exits(0, "translation")
    r.prints(r"Où est la gare \?$", "translation: the likely one is there")
    r = t.run(*draw, "-k", "1", "-T", "0.3", "--seed", "1", "--pretokenized", "▁I ▁am ▁here .")
    r.prints(r"▁Je ▁suis ▁(ici|là) \.$", "translation: pieces in, pieces out")
    r = t.run("score", *draw[1:], stdin="Hello.\tBonjour.\n").exits(0, "score: a translation")
    r.prints(r'"token_log_p":\[-', "score: a translation, token by token")


def test_inputs(t):
    draw = draw_options(t)
    if not is_built(t):
        return
    given = (*draw, "-k", "2", "-T", "0.3", "--seed", "1", "-f", "jsonl")
    lines = "I am here.\nYou are there.\n"
    whole = t.run(*given, stdin=lines).exits(0, "translation: standard input without INPUT")
    whole.check(len(whole.lines) == 2 and '"stream":1,' in whole.out, "translation: a record for each line")
    r = t.run(*given, "--batch", "1", "--threads", "2", stdin=lines)
    r.check(r.out == whole.out or "avx2" not in t.run("--version").out,
            "translation: the same bytes on two threads, one by one")
    # An empty line, an emoji, a zero byte, bytes that are not UTF-8, blanks: each is an input like any other.
    r = t.run(*draw, "-k", "2", "--seed", "1", "-f", "jsonl",
              stdin=b"\n\360\237\230\200 hi\nzero\0byte\n\377\376\300\n   \n").exits(0, "translation: any bytes")
    r.has_lines(5, "translation: any bytes, each gives a record")
    r = t.run(*draw, "-k", "1", " ".join(["word"] * 1000)).exits(1, "translation: a thousand words")
    r.says("1000 tokens; the model takes at most 127", "translation: why a thousand words are too many")


def test_limits_and_files(t):
    draw = draw_options(t)
    if not is_built(t):
        return
    r = t.run(*draw, "--method", "beam", "-k", "2", "--max-len", "1000", "-f", "jsonl", "Yes.")
    r.exits(0, "translation: a limit beyond the model's")
    r = t.run(*draw, "-k", "2", "--min-len", "129", "--max-len", "200", "Yes.")
    r.exits(2, "translation: a minimum beyond the model's positions")
    t.write("cut.safetensors", (t.models / "enfr-everyday.safetensors").read_bytes()[:200000])
    r = t.run("info", "cut.safetensors").exits(1, "translation: a model that was cut off")
    r.says("cut.safetensors: ", "translation: a model that was cut off is named")
    tiny = t.data / "tiny-fconv/model.safetensors"
    t.run("draw", "-m", tiny, "-k", "2", "--seed", "1", "nobody knows these words").exits(0, "dictionaries: unknown words")
