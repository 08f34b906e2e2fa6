"""Tests that texts from models, inputs and files do no harm. In any command and format, no character that a terminal
obeys or hides, or that turns text around, reaches the output. CR LF ends a line, messages name zero bytes, and long
quotes are cut."""
import json
import os
import re

# Each part does something to a terminal: renames its window, clears it (thrice: by ESC, by a C1 code in UTF-8, by the
# same code as a raw byte), turns the text around, hides between letters, ends a line.
PARTS = ("\033]0;owned\007", "\033[2J", "\u009b2J", "\u202e", "\u2066", "\u200b", "\u2028", "\u061c", "\177", "\b", "\ufeff",
         "\U000e0041")
WORD = "x".join(PARTS)  # has no blank, so that it can be a token
BYTES = WORD.encode() + b"\2332J\r"
SHOWN = re.compile(r"\\x1b|\\u001b")

# Finds what must not be in an output: all control codes but the newline, and invisible characters.
HARMFUL = re.compile("[\0-\t\13-\37\177-\237\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
                     "\U000e0000-\U000e0fff\ud800-\udfff]")


def write_models(t):
    """Writes models whose tokens, entries and names are harmful. Returns their names by kind."""
    token = json.dumps(WORD)
    names = {"name": BYTES.replace(b"\r", b"") + b".json"}
    names["tree"] = t.write("tree.json", '{"format":"sbeam-tree","tree":{%s:[0.5,null],"b":[0.5,null]}}' % token)
    names["chain"] = t.write("chain.json", '{"format":"sbeam-chain","vocab":["a",%s],"eos":%s,"start":[1,0],'
                                           '"next":{"a":[0.5,0.5]}}' % (token, token))
    names["word"] = t.write("word.json", '{"format":"sbeam-chain","vocab":[%s,"."],"eos":".","start":[1,0],'
                                         '"next":{%s:[0.5,0.5]}}' % (token, token))
    names["arpa"] = t.write("words.arpa", "\\data\\\nngram 1=4\n\n\\1-grams:\n-99 <s>\n-0.5 </s>\n-0.5 %s\n-0.5 a\n"
                                          "\n\\end\\\n" % WORD)
    names["twice"] = t.write("twice.arpa", "\\data\\\nngram 1=4\n\n\\1-grams:\n-99 <s>\n-0.5 </s>\n-0.5 %s\n-0.5 %s\n"
                                           "\n\\end\\\n" % (WORD, WORD))
    names["entry"] = t.write("entry.json", '{"format":"sbeam-tree",%s:1,"tree":{"b":[1,null]}}' % token)
    names["format"] = t.write("format.json", '{"format":%s}' % token)
    names["raw"] = t.write("raw.json", b'{"format":"sbeam-tree","tree":{"' + BYTES + b'":[1,null]}}')
    header = b'{"' + token[1:-1].encode() + b'":{}}'
    names["tensors"] = t.write("m.safetensors", len(header).to_bytes(8, "little") + header)
    with open(os.fsencode(t.folder) + b"/" + names["name"], "wb") as file:
        file.write((t.folder / "chain.json").read_bytes())
    return names


def attacks(t):
    """Commands (their words, standard input) that print a part of a harmful text."""
    m = write_models(t)
    name = m["name"]
    record = t.draw("-m", m["arpa"], "-k", "2", "--seed", "1", "--max-len", "3", WORD)
    t.write("bytes", BYTES + b"\n")
    t.write("lines", b"a\n" + BYTES + b"\n")
    draw = ("draw", "-k", "2", "--seed", "1", "--max-len", "3", "-m")
    # Texts of models and inputs, in every format.
    for output in ("text", "tsv", "jsonl"):
        for model in ("tree", "arpa"):
            yield (*draw, m[model], "-f", output), None
        yield (*draw, m["word"], "-f", output, WORD), None
        yield (*draw, m["arpa"], "-f", output, "-"), WORD + "\r\n" + WORD
        yield ("shuf", "--seed", "1", "-f", output) if output != "text" else ("shuf", "-w", "1"), BYTES + b"\n"
    for output in ("text", "svg", "jsonl"):
        yield ("tree", "-m", m["tree"], "-k", "2", "--seed", "1", "-f", output), None
        yield ("tree", "-m", m["arpa"], "-k", "2", "--seed", "1", "--max-len", "2", "-f", output, WORD), None
        yield ("tree", "-m", name, "-k", "2", "--seed", "1", "--max-len", "2", "-f", output), None
    for output in ("text", "jsonl"):
        yield ("info", "-f", output, m["chain"]), None
        yield ("bench", "decode", "-m", name, "-k", "1", "--len", "2", "--repeats", "1", "-f", output), None
    yield ("score", "-m", m["arpa"]), "%s\t%s\n" % (WORD, WORD)
    yield ("score", "-m", m["arpa"], "--input", "jsonl"), json.dumps({"input": WORD, "tokens": [2]}) + "\n"
    yield ("estimate", "--f", "length", "-f", "text"), record
    yield ("estimate", "--values", "bytes"), record
    shown = {**json.loads(record), "max_len": WORD, "stop": [WORD], "model": WORD, "version": WORD}
    yield ("verify",), json.dumps(shown) + "\n"
    yield ("verify", "-m", m["arpa"]), json.dumps(shown) + "\n"
    yield ("verify", "-m", m["arpa"]), record.replace('"text":"', '"text":"' + json.dumps(WORD)[1:-1])
    yield ("estimate", "--f", "length", "--summary"), record + json.dumps({**shown, "draw": 1}) + "\n"
    yield ("eval",), record + json.dumps({**shown, "draw": 1}) + "\n"
    # Messages about models, files, lines, options.
    for kind in ("twice", "entry", "format", "raw", "tensors"):
        yield (*draw, m[kind]), None
        yield ("info", m[kind]), None
    for model in (t.chain, m["tree"], m["arpa"]):
        yield (*draw, model, BYTES), None
        yield (*draw, model, "--file", "bytes"), None
        yield (*draw, model, "-"), BYTES + b"\n"
        yield (*draw, model, "--ban", BYTES), None
    yield (*draw, m["arpa"], "--stop", WORD, "-f", "jsonl"), None
    yield (*draw, m["arpa"], "--stop", b"\\" + BYTES), None
    yield (*draw, m["arpa"], "--cache", "1", "--cache-stats", b"none/" + BYTES), None
    for words in ((b"draw", b"-m"), (b"draw", b"-m", t.arpa.encode(), b"--file"), (b"shuf",), (b"info",),
                  (b"tree", b"--file"), (b"eval", b"--ref", b"lines", b"--hyp"), (b"eval", b"--ref"),
                  (b"verify",), (b"verify", b"-m"), (b"estimate", b"--values"), (b"estimate", b"--f", b"bleu", b"--ref"), (b"bench", b"decode", b"-m")):
        yield (*words, b"none/" + BYTES), None
    for words in ((), (b"draw",), (b"score",), (b"estimate",), (b"eval",), (b"verify",), (b"tree",), (b"shuf",), (b"info",), (b"bench",)):
        yield (*words, b"--" + BYTES), None
        yield (*words, b"-f", BYTES) if words else (BYTES,), None
    for words in (("draw", "-k"), ("draw", "-T"), ("draw", "--method"), ("draw", "--input"), ("draw", "--cache"),
                  ("score", "--input"), ("score",), ("estimate", "--f", "length"), ("estimate", "--f"),
                  ("estimate", "--f", "length", "--curve"), ("estimate", "--f", "length", "--summary", "--truth"),
                  ("eval",), ("eval", "--tokenize"), ("shuf", "-n"), ("shuf", "-w"), ("shuf", "--delimiter"),
                  ("verify", "--sample"), ("verify", "--seed"), ("bench", "decode", "--method"), ("bench", "decode", "-k"), ("tree", "-k")):
        yield (*words, BYTES), None
    for words in (("draw", "-m", t.arpa, "--input", "jsonl"), ("score", "-m", t.arpa, "--input", "jsonl")):
        yield words, '{"input":"a",%s:1}\n' % json.dumps(WORD)
    for words in ((*draw, m["arpa"], "--input", "jsonl"), ("score", "-m", t.arpa, "--input", "jsonl"),
                  ("estimate", "--f", "length"), ("eval",), ("verify",)):
        yield words, b'{"input":"' + BYTES + b'}\n'
    yield ("score", "-m", t.chain), b"a\t" + BYTES + b"\n"
    yield ("eval",), record.replace('"method":"sbs"', '"method":%s' % json.dumps(WORD))
    yield ("eval", "--hyp", "lines", "--ref", name), None  # their numbers of lines differ


def test_attacks(t):
    n = 0
    for words, stdin in attacks(t):
        r = t.run(*words, stdin=stdin)
        n += 1
        text = (r.out.replace("\t", " ") if "tsv" in words else r.out) + r.err
        shown = " ".join(w.decode("ascii", "replace") if isinstance(w, bytes) else str(w) for w in words)
        found = HARMFUL.search(text)
        r.check(found is None and r.code in (0, 1, 2), "no harm (%s): %s" % (found and ascii(found.group()), shown))
        # The message of a damaged JSON line quotes none of it, or a part without ESC.
        r.check(SHOWN.search(text) or "JSON" in r.err, "the text is shown: %s" % shown)
    t.check(n > 110, "all commands were attacked, %d times" % n)


def test_attacks_by_gguf(t):
    gguf = os.environ.get("SBEAM_GGUF")
    t.write("broken.gguf", b"GGUF\3\0\0\0")
    if not gguf or t.run("info", "broken.gguf").says_line("without llama.cpp"):
        return
    for output in ("text", "tsv", "jsonl"):
        r = t.run("draw", "-m", os.path.realpath(gguf), "-k", "8", "--max-len", "8", "--seed", "1", "-T", "9", "-f", output, WORD)
        text = r.out.replace("\t", " ") if output == "tsv" else r.out
        r.check(r.code == 0 and not HARMFUL.search(text), "gguf: no harm from pieces of characters: %s" % output)


# --- the exact forms ---


def test_escapes(t):
    write_models(t)
    given = ("draw", "-m", "tree.json", "-k", "2", "--seed", "1", "-f")
    r = t.run(*given, "jsonl")
    t.check(WORD in [s["text"] for record in r.records for s in record["sequences"]], "jsonl: the text is exact", r)
    r = t.run(*given, "tsv")
    t.check(WORD in [undo(row[13]) for row in r.rows], "tsv: the text can be read back", r)
    r = t.run("shuf", "-f", "tsv", stdin=b"a\\b\233\033\t\xc2\x9b\xe2\x80\xae\r\n")
    t.same(r.rows[1][5], r"a\\b\x9b\x1b\t\u009b\u202e", "tsv: one escape for each kind")
    r = t.run("draw", "-m", t.arpa, "-k", "1", "--seed", "1", "-", stdin=b"\xe2\x82z\233\xf3\xa0\x81\x81 \xe2\x9d\xa4\xef\xb8\x8f\n")
    r.prints(r"input 0: \\xe2\\x82z\\x9b\\U000e0041 ❤️$", "text: bytes, invisible characters, emoji")
    t.write("bytes.json", b'{"format":"sbeam-tree","tree":{"\xef\xbf\xbf&<":[1,null]}}')
    r = t.run("tree", "-m", "bytes.json", "--seed", "1", "-f", "svg")
    r.prints(r">\\uffff&amp;&lt;<", "svg: a character that XML does not have")


def undo(field):
    """Returns the text of a field of tsv."""
    known = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\"}
    return re.sub(r"\\(?:(x..|u....|U........)|(.))",
                  lambda m: chr(int(m[1][1:], 16)) if m[1] else known[m[2]], field)


def test_shuf_copies(t):
    lines = b"\033[2J\t\302\233\n\233\0x\n\342\200\256\r\n"
    r = t.run("shuf", "--seed", "1", stdin=lines)
    t.same(sorted(r.out.encode("utf-8", "surrogateescape").split(b"\n")), sorted(lines.split(b"\n")),
           "shuf: a pipe gets the bytes of the lines")
    t.write("lines", lines)
    with t.open("lines") as file:
        r = t.run_on_terminal("shuf", "--seed", "1", stdin=file)
    if r is None:
        t.skip("shuf: there are no terminals here")
        return
    t.same(sorted(r.lines), sorted(["\\x1b[2J\t\\u009b", r"\x9b\x00x", r"\u202e"]), "shuf: a terminal gets escapes")


# --- line ends ---


def test_line_ends(t):
    """In every command, lines that end in CR LF give the same output as with LF. Other carriage returns stay."""
    def crlf(text):
        return text.replace("\n", "\r\n")

    for words, text in ((("draw", "-m", t.arpa, "-k", "2", "--seed", "1", "-f", "jsonl", "-"), "a\na b\n\n"),
                        (("draw", "-m", t.arpa, "-k", "2", "--seed", "1", "-f", "jsonl", "--input", "jsonl"), '{"input":"a"}\n'),
                        (("score", "-m", t.arpa), "a\tb\n\ta\n"),
                        (("draw", "-m", t.arpa, "-k", "2", "--seed", "1", "-f", "jsonl", "--file", "-"), "a\n"),
                        (("tree", "-m", t.arpa, "--max-len", "2", "--seed", "1", "--file", "-"), "a\n"),
                        (("shuf", "--seed", "1", "-f", "jsonl"), "a\nb\nc\n"),
                        (("shuf", "--seed", "1", "-f", "tsv", "-w", "2"), "a\t1\nb\t2\n")):
        first = t.run(*words, stdin=text)
        r = t.run(*words, stdin=crlf(text)).exits(0, "CR LF: %s" % words[0])
        t.same(r.out, first.out, "CR LF changes nothing: %s" % " ".join(words[:1] + words[3:]))
    draws = t.draw("-m", t.arpa, "-k", "2", "--seed", "1", "--max-len", "3", "a", "b")
    t.write("lf", "a b c\nb c\n")
    t.write("crlf", "a b c\r\nb c\r\n")
    t.write("numbers", "1\n2\n3\n4\n")
    t.write("numbers-crlf", "1\r\n2\r\n3\r\n4\r\n")
    for words, names in ((("eval", "--tokenize", "char", "--ref"), ("lf", "crlf")),
                         (("estimate", "--f", "bleu", "--tokenize", "char", "--ref"), ("lf", "crlf")),
                         (("estimate", "--values"), ("numbers", "numbers-crlf"))):
        first, second = (t.run(*words, name, stdin=stdin)
                         for name, stdin in zip(names, (draws, crlf(draws))))
        first.exits(0, "LF: %s" % " ".join(words))
        t.same(second.out, first.out, "CR LF in a file and in draws: %s" % " ".join(words))
    first, second = (t.run("eval", "--tokenize", "char", "--hyp", name, "--ref", "lf", "--sentence") for name in ("lf", "crlf"))
    t.same(second.out, first.out, "CR LF in hypotheses")
    r = t.run("draw", "-m", t.arpa, "-k", "1", "--seed", "1", "-f", "jsonl", "-", stdin="a\rb\r\r\na\r")
    t.same([record["input"] for record in r.records], ["a\rb\r", "a\r"],
           "only the carriage return before a newline is part of the line end")
    r = t.run("shuf", "--seed", "1", "-n", "5", stdin="a\r\nb\n")
    t.same(sorted(r.out.split("\n")), ["", "a\r", "b"], "shuf: lines keep their line ends")


# --- zero bytes ---


def test_zero_bytes(t):
    gguf = os.environ.get("SBEAM_GGUF")
    draws = t.draw("-m", t.arpa, "-k", "1", "--seed", "1", "--max-len", "3", "a")
    t.write("zero", b"0\0" + b"1\n")
    t.write("values", b"1\0002\n")
    for words, stdin, pattern in (
            (("draw", "-m", t.chain, "-"), b"a\na\0b\n", "standard input:2: .*byte 2 of the prefix is a zero byte"),
            (("draw", "-m", t.fig1, "--file", "zero"), None, "input 0: byte 2 of the prefix is a zero byte"),
            (("draw", "-m", t.chain, "--input", "jsonl"), rb'{"input":"a\u0000b"}', "input 0: byte 2 .*zero byte"),
            (("score", "-m", t.chain), b"a\tb\na\tb\0\n", "standard input:2: .*byte 2 of the text is a zero byte"),
            (("estimate", "--values", "values"), draws, " values:1: byte 2 is a zero byte"),
            (("shuf", "-w", "1"), b"1\n1\0002\n", "standard input:2: the weight has a zero byte"),
            (("shuf", "-w", "1"), b"\0001\n", "standard input:1: the weight has a zero byte"),
            (("estimate", "--f", "length"), draws[:-1].encode() + b"\0\n", "standard input:1: .*JSON"),
            (("draw", "-m", gguf, "-k", "2", "--max-len", "3"), b"Once\nx\0\n", "standard input:2: .*byte 2 of the text is a zero")):
        if words[2]:
            r = t.run(*words, stdin=stdin)
            r.check(r.code == 1 and r.says_line(pattern), "a zero byte is named: %s" % " ".join(words[:1] + words[3:]))
    t.write("words.arpa", b"\\data\\\nngram 1=2\n\n\\1-grams:\n-1 a\0b\n-1 </s>\n\n\\end\\\n")
    t.run("info", "words.arpa").says("words.arpa:5: the word has a zero byte", "a zero byte in an ARPA file")
    # If a zero byte is allowed, the text is not cut at it.
    t.write("nul", b"a\0b")
    r = t.run("draw", "-m", t.arpa, "-k", "1", "--seed", "1", "-f", "jsonl", "-", stdin=b"a\0b\n")
    t.same([record["input"] for record in r.records], ["a\0b"], "a zero byte in an input of ARPA is kept")
    r = t.run("draw", "-m", t.arpa, "-k", "1", "--seed", "1", "--file", "nul")
    r.prints(r"^input 0: a\\x00b$", "a zero byte in the text of an input")
    r = t.run("tree", "-m", t.arpa, "-k", "1", "--max-len", "1", "--seed", "1", "-f", "svg", "--file", "nul")
    r.prints(r"after: a\\x00b<", "a zero byte in a picture")
    t.write("one", "a b\n")
    t.write("hyp", b"a\0 b\n")
    r = t.run("eval", "--tokenize", "none", "--hyp", "hyp", "--ref", "hyp")
    r.prints(r"hyp_len = 2 ref_len = 2", "a zero byte does not end a reference or a hypothesis")
    r = t.run("eval", "--tokenize", "none", "--sentence", "--hyp", "one", "--ref", "hyp")
    r.check(r.code == 0 and not r.prints_line("^100.00$"), "a zero byte is a part of its word")


# --- long texts ---


def test_long_quotes(t):
    """A message that quotes a text of any length still says what was expected."""
    long = "y" * 100000
    t.write("long", long + "\n")
    for words, stdin, pattern in (
            ((long,), None, "^sbeam: unknown command 'y{60}'$"),
            (("draw", "--" + long), None, "^sbeam draw: unknown option '--y{60}'$"),
            (("draw", "-k", long), None, "k is 'y{60}'; expected a whole number"),
            (("draw", "-f", long), None, "format is 'y{60}'; expected text.jsonl.tsv$"),
            (("draw", "--no-kappa=" + long), None, "'--no-kappa' takes no value; found 'y{60}'$"),
            (("draw", "--method", long), None, "method is 'y{60}'; expected sbs"),
            (("draw", "--input", long), None, "not 'y{60}'$"),
            (("draw", "-m", t.chain, "--ban", long), None, "no token 'y{60}'$"),
            (("draw", "-m", t.chain, "--cache", "1", "--cache-stats", long), None, "cannot write 'y{60}': File name too long"),
            (("draw", "-m", t.chain, long), None, "no token 'y{60}'$"),
            (("draw", "-m", long), None, r"\.\.\.y{200}: File name too long"),
            (("draw", "-m", t.chain, "--file", long), None, r"\.\.\.y{200}: File name too long"),
            (("draw", "-m", t.chain, "--input", "jsonl"), '{"%s":1}\n' % long, 'unknown key "y{100}": the keys are'),
            (("score", long), None, "not from 'y{60}'$"),
            (("score", "-m", t.chain), "a\t%s\n" % long, "no token 'y{60}'$"),
            (("shuf", "-n", long), None, "not 'y{60}'$"),
            (("shuf", "-w", "1"), long, "the weight is too long$"),
            (("shuf", "--delimiter", long), None, "not 'y{60}'$"),
            (("estimate", "--f", long), None, "not 'y{60}'$"),
            (("estimate", "--f", "length", "--curve", long), None, "not 'y{60}'$"),
            (("estimate", "--f", "length", "--truth", long, "--summary"), None, "not 'y{60}'$"),
            (("estimate", "--f", "length", long), None, "not from 'y{60}'$"),
            (("eval", long), None, "argument 'y{60}'$"),
            (("tree", "-k", long), None, "k is 'y{60}'; expected")):
        r = t.run(*words, stdin=stdin)
        r.check(r.code in (1, 2) and r.says_line(pattern) and len(r.err) < 600,
                "a long quote is cut: %s" % " ".join(w[:20] for w in words[:5]))
    t.run("draw", "-k", "é" * 100).says("k is 'é{30}'; expected", "a quote is cut between characters")
