"""Output that fails, terminals, and messages about hostile names."""
import os
import threading
import time


def test_full_disk(t):
    if not os.path.exists("/dev/full"):
        return
    with open("/dev/full", "wb") as full:
        for name, *words in (
                ("draw", "draw", "-m", t.fig1, "-f", "jsonl"), ("draw", "draw", "-m", t.fig1),
                ("tree", "tree", "-m", t.fig1, "-f", "svg"), ("info", "info", "-m", t.fig1), ("shuf", "shuf", t.fig1),
                ("--help", "--help"), ("draw --help", "draw", "--help"), ("--version", "--version"),
                ("draw", "draw", "-m", t.fig1, "--draws", "3000", "-f", "tsv")):
            r = t.run(*words, stdout=full)
            r.check(r.code == 1 and r.err.count("\n") == 1 and r.says_line("No space left"), "/dev/full: %s" % name)
        r = t.run("score", "-m", t.fig1, stdin="\t0 0 0\n", stdout=full)
        r.check(r.code == 1, "/dev/full: score")


def test_closed_pipe(t):
    r = t.run_until_first_line("draw", "-m", t.fig1, "--draws", "300000", "-f", "jsonl")
    r.check(r.code in (-13, 1) and not r.err, "a closed pipe ends quietly")  # 13: SIGPIPE


def test_pipe_that_does_not_block(t):
    """A parent may have set O_NONBLOCK; if the pipe is full, the command waits for its reader."""
    words = ("draw", "-m", t.fig1, "--draws", "1000", "-f", "jsonl", "--seed", "1")
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    got = []

    def read():
        time.sleep(0.3)
        while part := os.read(reader, 1 << 16):
            got.append(part)

    thread = threading.Thread(target=read)
    thread.start()
    r = t.run(*words, stdout=writer)
    os.close(writer)
    thread.join()
    os.close(reader)
    r.exits(0, "a pipe that does not block")
    t.check(b"".join(got).decode() == t.run(*words).out, "a pipe that does not block: nothing is lost")


def test_terminal(t):
    # What is typed is answered at once, not after a batch or at the end.
    for words in (("draw", "-k", "1", "--threads", "2", "-f", "jsonl", "-"), ("score", "--threads", "2")):
        r = t.run_on_terminal(*words, "-m", t.arpa, typed="a\tb\n", answer='"stream":0')
        if r is None:
            t.skip("a terminal is answered line by line: no pseudo-terminal can be had here")
            return
        r.prints('"stream":0', "a terminal is answered line by line: %s" % words[0])


def test_long_paths(t):
    long = "0" * 200
    folder = "/".join([long] * 3)
    (t.folder / folder).mkdir(parents=True)
    t.write(folder + "/bad.json", "{\n")
    r = t.run("info", folder + "/bad.json")
    r.says("bad.json:2: ", "a long path leaves room for the reason")
    r.says(r"^sbeam info: \.\.\.0*/bad", "a long path is cut at its start")
    for path in (folder, folder + "/missing", "é" * 300):
        for command in ("info", "shuf"):
            r = t.run(command, path)
            r.check(r.code == 1 and r.says_line(": [A-Za-z, ]+$") and "?" not in r.err,
                    "%s: a long path leaves room for the reason: ...%s" % (command, path[-10:]))


def test_control_characters(t):
    r = t.run("draw", "-m", t.fig1, "--input", "jsonl", stdin=r'{"a\nb\u001b[31m":1}' + "\n")
    r.check(r.code == 1 and r.err.count("\n") == 1 and "\033" not in r.err,
            "errors are one line without control characters")
    nasty = b"a\033[31m\302\233b\nc\177\377"
    for *words, start in (("",), ("draw", "--"), ("draw", "-k", ""), ("draw", "--method", ""), ("draw", "-f", ""),
                          ("draw", "-m", ""), ("shuf", "-n", ""), ("shuf", ""), ("draw", "-m", t.fig1, "--ban", ""),
                          ("score", "x")):
        r = t.run(*words, start.encode() + nasty)
        said = [line for line in r.err.split("\n")[:-1] if not line.startswith("try")]
        r.check(r.code != 0 and len(said) == 1 and r"a\x1b[31m\u009bb\nc\x7f\xff" in said[0] and
                all(" " <= c <= "~" for line in r.err.split("\n") for c in line),
                "no control characters in the message: %s" % " ".join([*words, start]))
