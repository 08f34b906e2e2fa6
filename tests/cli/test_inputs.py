"""Where inputs come from: arguments, standard input, JSON lines, --file."""
import os

BYTE_ORDER_MARK = b"\357\273\277"
BAD_LINES = ('{"input":"a","strem":1}', '{"input":1}', '{"stream":1}', '{"input":"a","stream":-1}',
             '{"input":"a","stream":1.5}', '{"input":"a","input":"b"}', '["a"]', '{"input":"a"} x', "a", "",
             r'{"input":"\ud800"}')


def draw_options(t):
    return ("draw", "-m", t.arpa, "-k", "1", "--seed", "1", "-f", "jsonl")


def test_arguments_and_lines(t):
    draw = draw_options(t)
    first = t.run(*draw, "a", "a b", "--", "a").exits(0, "arguments")
    t.same([(record["stream"], record["input"]) for record in first.records], [(0, "a"), (1, "a b"), (2, "a")],
           "arguments are streams 0, 1, ...")
    r = t.run(*draw, "-", stdin="a\na b\na")
    t.same(r.out, first.out, "standard input, last line without newline")
    r = t.run(*draw, "-", stdin="").exits(0, "no lines")
    r.has_lines(0, "no lines, no records")
    t.run(*draw, "-", stdin="a " * 300000).exits(0, "a line of 600,000 bytes")
    r = t.run("draw", "-m", t.fig1, "-k", "1", "--seed", "1", timeout=60)
    r.exits(0, "models without needed input do not read standard input")


def test_json_lines(t):
    draw = (*draw_options(t), "--input", "jsonl")
    first = t.run(*draw_options(t), "a", "a b", "a")
    r = t.run(*draw, stdin='{"input":"a b","stream":1}\n{"stream":0,"input":"a"}\n')
    r.check(sorted(r.lines) == first.lines[:2], "jsonl: noise goes with the stream")
    r.prints('"stream":1,', "jsonl: records in the order read")
    r.check('"stream":1,' in r.lines[0], "jsonl: the first is stream 1")
    r = t.run(*draw, "-", stdin='{"input":"a"}\n{"input":"a b"}\n')
    t.same(r.lines, first.lines[:2], "jsonl: stream is the line number by default")
    for line in BAD_LINES:
        r = t.run(*draw, stdin='{"input":"a"}\n%s\n' % line)
        r.check(r.code == 1 and r.says_line(":2: "), "jsonl: line 2 is refused: %s" % line)


def test_bytes(t):
    draw = draw_options(t)
    r = t.run(*draw, "-", stdin=b"a\nnonsuch\377\n")
    r.prints('"input":"nonsuch�"', "invalid UTF-8 is written as U+FFFD")
    t.run(*draw, "--help", stdin=r"a\u0000b").exits(0, "help does not read standard input")
    r = t.run(*draw, "-", stdin=b"a\0b\n")
    if r.code == 0:
        r.prints(r'"input":"a\\u0000b"', "NUL in an input")
    else:
        r.exits(1, "NUL in an input")
    r = t.run(*draw, "-", stdin=BYTE_ORDER_MARK + b"a\n")
    r.prints('"input":"a"', "a byte order mark before text")
    r = t.run("draw", "-m", t.models / "greeting.json", "--seed", "1", "--input", "jsonl", "-f", "jsonl",
              stdin=BYTE_ORDER_MARK + b'{"input":"hello"}\n')
    r.exits(0, "a byte order mark before JSONL")


def test_an_input_that_fails(t):
    r = t.run("draw", "-m", t.models / "greeting.json", "--min-len", "2", "--seed", "1", "-k", "2", "-f", "jsonl", "-",
              stdin="hello\nhello\ngood\nhello\n")
    r.check(r.code == 1 and len(r.lines) == 2 and r.says_line("input 2: step 1"),
            "what precedes an input that fails is written, and the input is named")


# --- --file: one input of any number of lines ---


def test_file(t):
    draw = draw_options(t)
    t.write("two-lines", "a b\na")
    t.write("one-line", "a")
    first = t.run(*draw, "a", "a b\na", "a", "a b\na")
    r = t.run(*draw, "a", "--file", "two-lines", "a", "--file=two-lines").exits(0, "--file")
    t.same(r.out, first.out, "--file: the draws of the same texts as arguments, numbered together")
    r.prints(r'"stream":3,"draw":0,"input":"a b\\na"', "--file: the whole content is the input")
    r = t.run(*draw, "--file", "one-line", "--", "a b\na", "a")
    t.same([(record["stream"], record["input"]) for record in r.records], [(0, "a"), (1, "a b\na"), (2, "a")],
           "--file: numbered in the order of the command line")
    r = t.run(*draw, "--file", "-", stdin="a b\na\n").exits(0, "--file -")
    r.prints(r'"stream":0,"draw":0,"input":"a b\\na"', "--file -: standard input is one input")


def test_bytes_of_a_file(t):
    draw = draw_options(t)
    first = t.run(*draw, "a")
    for name, content in (("newline", b"a\n"), ("mark", BYTE_ORDER_MARK + b"a\n"), ("one-line", b"a")):
        r = t.run(*draw, "--file", t.write(name, content))
        t.same(r.out, first.out, "--file: one newline at the end and a byte order mark are left out: %s" % name)
    r = t.run(*draw, "--file", t.write("newlines", "a\n\n"))
    r.prints(r'"input":"a\\n"', "--file: only one newline is left out")
    r = t.run(*draw, "--file", t.write("empty", ""))
    r.prints('"input":"","method"', "--file: an empty file is the empty input")
    t.run(*draw, "--file", t.write("long", "a " * 300000)).exits(0, "--file: 600,000 bytes")
    r = t.run(*draw, "--file", t.write("bad-utf8", b"nonsuch\377"))
    r.prints('"input":"nonsuch�"', "--file: invalid UTF-8 as in a line")
    line = t.run(*draw, "-", stdin=b"a\0b")
    r = t.run(*draw, "--file", t.write("nul", b"a\0b"))
    t.same(r.out, line.out, "--file: a zero byte as in a line")
    t.same(r.err, line.err, "--file: a zero byte as in a line, messages")


def test_files_that_are_refused(t):
    t.write("newline", "a\n")
    r = t.run(*draw_options(t), "a", "--file", "missing.txt").exits(1, "--file: a file that is not there")
    r.says("^sbeam draw: missing.txt: No such file", "--file: a file that is not there is named")
    t.run("draw", "-m", t.arpa, "-k", "1", "--file", ".").exits(1, "--file: a directory")
    t.usage("--file without a name", "draw", "-m", t.arpa, "--file", "")
    r = t.usage("--file with --input jsonl", "draw", "-m", t.arpa, "--file", "newline", "--input", "jsonl")
    r.says("takes no --file$", "--file with --input jsonl: why")
    t.usage("--file with dash", "draw", "-m", t.arpa, "--file", "newline", "-")
    r = t.usage("--file - twice", "draw", "-m", t.arpa, "--file", "-", "--file", "-")
    r.says("cannot be repeated", "--file - twice: why")


def test_file_of_a_tree(t):
    t.write("newline", "a\n")
    tree = ("tree", "-m", t.chain, "-k", "2", "--max-len", "3", "--seed", "1")
    first = t.run(*tree, "a")
    r = t.run(*tree, "--file", "newline").exits(0, "tree --file")
    t.same(r.out, first.out, "tree --file: the tree of the same INPUT")
    t.same(t.run(*tree, "--file", "-", stdin="a\n").out, first.out, "tree --file -")
    t.run(*tree, "--file", "missing.txt").exits(1, "tree --file: a file that is not there")
    t.usage("tree: --file and INPUT", "tree", "-m", t.chain, "--file", "newline", "a")
    t.usage("tree: two files", "tree", "-m", t.chain, "--file", "newline", "--file", "newline")
    t.usage("tree: --file without a name", "tree", "-m", t.chain, "--file", "")


# --- data that waits on standard input is not ignored in silence ---


def test_hints(t):
    draw = ("draw", "-m", t.arpa, "-k", "2", "--seed", "1")
    t.write("two-lines", "a b\na")
    t.write("empty", "")
    first = t.run(*draw).exits(0, "no hint: /dev/null")

    def hints(result, name):
        """Expects the draw without input, and a line that says how to read standard input."""
        result.check(result.code == 0 and result.out == first.out and result.err.count("\n") == 1 and
                     result.says_line("^sbeam draw: hint: .*add '-'"), "a hint: %s" % name)

    source, end = os.pipe()  # never at its end, because `end` stays open
    r = t.run(*draw, stdin=source, timeout=60)
    t.same(r.out, first.out, "no hint: an empty pipe that stays open, and no waiting for it")
    r.exits(0, "no hint: an empty pipe that stays open")
    os.write(end, b"a b\n")
    hints(t.run(*draw, stdin=source, timeout=60), "a pipe with data")
    t.run(*draw, "a", stdin=source, timeout=60).exits(0, "no hint: INPUT was given")
    t.same(os.read(source, 100), b"a b\n", "a hint: nothing was read")
    os.close(end)
    t.run(*draw, stdin=source).exits(0, "no hint: a pipe that was closed empty")
    os.close(source)
    with t.open("two-lines") as file:
        hints(t.run(*draw, stdin=file), "a file")
    with t.open("two-lines") as file:
        os.lseek(file.fileno(), 0, os.SEEK_END)
        t.run(*draw, stdin=file).exits(0, "no hint: a file that has been read to its end")
    with t.open("empty") as file:
        t.run(*draw, stdin=file).exits(0, "no hint: an empty file")
    closed = ("sh", "-c", 'exec "$@" <&-', "sh")
    t.run(*draw, prefix=closed).exits(0, "no hint: no standard input")
    with t.open("two-lines") as file:
        t.run(*draw, "-", stdin=file).exits(0, "no hint: '-' reads it")
