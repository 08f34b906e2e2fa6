"""Tests that each line is answered as soon as its record exists, while standard input stays open."""
import json
import os
import signal

import test_gguf
import test_translation
from coprocess import Coprocess, wait_for_file
from harness import to_bytes

SENTENCES = ("I am here.", "Where is the train station?", "I know her.", "")


def answers_to(t, arguments, lines, env):
    """Returns what the command prints for one line, for two lines, and so on, all of them given at once."""
    whole = t.run(*arguments, stdin="".join(line + "\n" for line in lines), env=env).out
    records = whole.splitlines(keepends=True)
    if whole.startswith("{"):  # as many records for each line
        return ["".join(records[:len(records) * n // len(lines)]) for n in range(1, len(lines) + 1)]
    return [t.run(*arguments, stdin="".join(line + "\n" for line in lines[:n]), env=env).out
            for n in range(1, len(lines))] + [whole]


def converse(t, name, arguments, lines, env=None):
    """Sends line by line, each after the answer to the line before, and compares with the same lines given at once."""
    answers = answers_to(t, arguments, lines, env)
    with Coprocess(t, *arguments, env=env) as process:
        for line, answer in zip(lines, answers):
            process.send(line + "\n")
            got = process.receive(len(to_bytes(answer)))
            if got != answer or not answer:
                t.same(got, answer or "an answer", "%s: answered at once: %s" % (name, line))
                return
        r = process.finish()
        r.check(r.code == 0 and r.out == answers[-1] and not r.err, "%s: answered line by line, the same bytes" % name)


def plans():
    return [("--batch", batch, "--threads", threads) for batch in ("1", "16") for threads in ("1", "2")]


def to_jsonl(lines):
    return [json.dumps({"input": line, "stream": 7 + i}) for i, line in enumerate(lines)]


def test_draw(t):
    prefixes = ("hello", "", "good", "hello again")
    for plan in plans():
        for form in ("jsonl", "tsv", "text"):
            given = ("draw", "-m", t.models / "greeting.json", "-k", "2", "--seed", "1", "-f", form, *plan)
            name = "draw, tree: -f %s %s" % (form, " ".join(plan))
            converse(t, name, (*given, "-"), prefixes)
        given = ("draw", "-m", t.arpa, "-k", "2", "--seed", "1", "-f", "jsonl", "--draws", "3", "-T", "1,2", *plan)
        converse(t, "draw, six records for each line: " + " ".join(plan), (*given, "-"), ("a", "a b", ""))
        converse(t, "draw, tree: --input jsonl " + " ".join(plan), (*given, "--input", "jsonl"), to_jsonl(("a", "b")))


def test_translation_of_lines(t):
    if not test_translation.is_built(t):
        return
    for plan in plans():
        given = (*test_translation.draw_options(t), "-k", "2", "-T", "0.3", "--seed", "1", "-f")
        converse(t, "draw, translation: -f jsonl " + " ".join(plan), (*given, "jsonl", *plan), SENTENCES)
        converse(t, "draw, translation: --input jsonl " + " ".join(plan),
                 (*given, "jsonl", *plan, "--input", "jsonl"), to_jsonl(SENTENCES[:2]))


def test_rows_that_depend_on_the_batch(t):
    """If rows depend on the batch, inputs from a pipe are computed one at a time, so their time changes no bit."""
    if test_translation.is_built(t):
        for more in ((), ("--draws", "3"), ("--threads", "2"), ("--draws", "3", "--threads", "2")):
            given = (*test_translation.draw_options(t), "-k", "4", "-T", "0.7", "--seed", "1", "-f", "jsonl", *more)
            converse(t, "draw, OpenBLAS: " + " ".join(more), given, SENTENCES, env={"SBEAM_CPU": "blas"})
    gguf = test_gguf.find_model(t)
    if gguf is None:
        t.skip("coprocess: SBEAM_GGUF names no file, or this build is without llama.cpp")
        return
    prompts = ("Once upon a time", "The cat", "There was a big")
    for more in ((), ("--draws", "3"), ("--threads", "2")):
        given = ("draw", "-m", gguf, "-k", "3", "--max-len", "6", "--seed", "1", "-f", "jsonl", *more)
        converse(t, "draw, GGUF: " + " ".join(more), given, prompts)
    converse(t, "score, GGUF", ("score", "-m", gguf), ["%s\t there was" % prompt for prompt in prompts])


def test_score(t):
    pairs = ("a\tb c", "a b\tc", "\ta")
    for threads in ("1", "2"):
        converse(t, "score: --threads " + threads, ("score", "-m", t.arpa, "--threads", threads), pairs)
        converse(t, "score, tree: --threads " + threads, ("score", "-m", t.fig1, "--threads", threads),
                 ("\t0 1 1", "0\t1 1", "\t1 0 0"))
        records = [json.dumps(dict(zip(("input", "output"), pair.split("\t")))) for pair in pairs]
        converse(t, "score: --input jsonl --threads " + threads,
                 ("score", "-m", t.arpa, "--input", "jsonl", "--threads", threads), records)
        if test_translation.is_built(t):
            converse(t, "score, translation: --threads " + threads, ("score", "--threads", threads),
                     ("Hello.\tBonjour.", "Yes.\tOui."))


def test_estimate(t):
    draws = t.draw("-m", t.fig1, "-k", "3", "--draws", "3", "--seed", "1").splitlines()
    for form in ("jsonl", "text"):
        converse(t, "estimate: -f " + form, ("estimate", "--f", "length", "-f", form), draws)


# --- lines in pieces ---


def test_pieces_of_lines(t):
    for words in (("draw", "-k", "2", "--seed", "1", "-f", "jsonl", "-"), ("score",)):
        given = (*words, "-m", t.arpa, "--threads", "2")
        whole = t.run(*given, stdin="a b\tc\na\tb\nb\tc" if words[0] == "score" else "a b\na\nb")
        first, second, third = (line + "\n" for line in whole.lines)
        halves = ("a b", "\tc\na\t", "b\nb\tc") if words[0] == "score" else ("a", " b\na", "\nb")
        with Coprocess(t, *given) as process:
            process.send(halves[0])
            t.same(process.receive(1, 0.1), "", "%s: half a line is not an input" % words[0])
            process.send(halves[1])
            got = process.receive(len(first))
            t.same(got, first, "%s: the rest of a line, and half of the next" % words[0])
            process.send(halves[2])
            t.same(process.receive(len(first + second)), first + second, "%s: the rest of the next" % words[0])
            r = process.finish()
            r.check(r.code == 0 and r.out == first + second + third, "%s: a last line without newline" % words[0])


# --- finished records are written ---


def test_killed(t):
    """A killed command cannot write any more, so all that is in the file was written before."""
    for words, line in ((("draw", "-k", "2", "--batch", "1", "-f", "jsonl", "-"), "a\n"), (("score",), "a\tb\n")):
        path = t.folder / ("killed-" + words[0])
        with open(path, "wb") as file, Coprocess(t, *words, "-m", t.arpa, stdout=file) as process:
            process.send(line)
            t.check(wait_for_file(path, '"stream":0,', process),
                    "%s: the record is in the file while the command waits for lines" % words[0])
            process.process.send_signal(signal.SIGKILL)
            process.end()
            t.check(path.read_bytes().endswith(b"}\n"), "%s: killed, and the record is in the file" % words[0])


def test_killed_in_a_long_draw(t):
    """For the second input, reject waits for hours for a sequence of probability 1e-12."""
    t.write("rare.json", '{"format":"sbeam-tree","tree":{"a":[0.5,{"x":[0.5,null],"y":[0.5,null]}],'
                         '"b":[0.5,{"x":[0.999999999999,null],"y":[1e-12,null]}]}}')
    given = ("draw", "-m", "rare.json", "--method", "reject", "--max-samples", "9007199254740992", "-k", "2", "-f",
             "jsonl", "--batch", "1", "a", "b")
    path = t.folder / "killed"
    with open(path, "wb") as file, Coprocess(t, *given, stdin=None, stdout=file) as process:
        t.check(wait_for_file(path, '"stream":0,', process),
                "draw: a record is in the file while the next is computed")
        process.process.send_signal(signal.SIGKILL)
        process.end()
        t.check(path.read_bytes().endswith(b"}\n"), "draw: killed in a long draw, and the record is in the file")
    with Coprocess(t, *given, stdin=None) as process:
        got = process.receive(2)
        t.check('"stream":0,' in got and process.is_running(), "draw: a record is in the pipe while the next is computed")


# --- the end ---


def test_ends(t):
    """Standard input stays open: the command does not wait for it after its work has ended."""
    for threads in ("1", "2"):
        for words, line, bad in ((("draw", "-k", "1", "-f", "jsonl", "--input", "jsonl"), '{"input":"a"}\n', "{\n"),
                                 (("score",), "a\tb\n", "no tab\n")):
            given = (*words, "-m", t.arpa, "--threads", threads)
            name = "%s --threads %s: " % (words[0], threads)
            with Coprocess(t, *given) as process:
                process.send(line)
                process.receive(1)
                process.send(bad)
                r = process.end()
                r.check(r.code == 1 and r.err.count("\n") == 1 and ":2: " in r.err and r.out.count("\n") == 1,
                        name + "a line that is refused ends the command")
            with Coprocess(t, *given) as process:
                process.send(line)
                process.receive(1)
                process.process.send_signal(signal.SIGINT)
                r = process.end()
                r.check(r.code == -signal.SIGINT and not r.err, name + "Ctrl-C ends the command quietly")
            with Coprocess(t, *given) as process:
                process.send(line)
                process.receive(1)
                process.process.stdout.close()
                r = process.end_by_sending(line)
                r.check(r.code in (-signal.SIGPIPE, 1) and not r.err, name + "a closed pipe ends the command quietly")


def test_full_disk(t):
    if not os.path.exists("/dev/full"):
        return
    for words, line in ((("draw", "-k", "1", "-"), "a\n"), (("score",), "a\tb\n")):
        for threads in ("1", "2"):
            with open("/dev/full", "wb") as full, Coprocess(t, *words, "-m", t.arpa, "--threads", threads,
                                                            stdout=full) as process:
                process.send(line)
                r = process.end()
                r.check(r.code == 1 and r.err.count("\n") == 1 and "No space left" in r.err,
                        "%s --threads %s: a full disk ends the command" % (words[0], threads))
