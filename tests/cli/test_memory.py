"""Compares the peak memory of the command with the formula of doc/performance.md."""
import subprocess
import sys

from harness import TIMEOUT

MB = 2**20
SCORES = 64 * MB  # maximum size of the rows of a thread
PROGRAM = 14 * MB  # without a model


# The kernel counts the memory of the process that starts a program as the program's memory, too. So the tests start
# sbeam from a small process.
STARTER = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
print(status, usage.ru_maxrss * 1024)
"""


def peak(t, *arguments):
    """Runs sbeam and returns its peak memory in bytes, or None if it fails."""
    done = subprocess.run([sys.executable, "-S", "-c", STARTER, t.sbeam, *arguments], stdout=subprocess.PIPE,
                          cwd=t.folder, env=t.environment, timeout=TIMEOUT, check=True)
    status, size = map(int, done.stdout.split())
    return size if status == 0 else None


def expected(vocab, element, k, length, rows, batch=1, draws=1, state=4, work=0):
    """Returns the bytes that `sbeam draw -f jsonl` needs on one thread in addition to the program and its model, by the
    formula of doc/performance.md. `rows` is the number of rows of a draw in a step."""
    chunk = max(1, SCORES // (vocab * element))
    return (min(batch * rows, chunk) * (vocab * element + work) + min(rows, chunk) * (vocab / 4 + 300) +
            batch * (k + 1) * (400 + 8 * length + state) + min(4 * batch, draws) * k * (48 + 4 * length) +
            k * (310 + 8 * length))


def check_peak(t, name, model, arguments, **size):
    """Expects a peak of at most a tenth above the formula. With level search it is also at least half of it; with
    best-first search the formula is only an upper limit, because fewer than k + 1 states are kept at a time."""
    alone = peak(t, "info", "-m", model)
    got = peak(t, "draw", "-m", model, "--seed", "1", "-f", "jsonl", *arguments)
    t.check(alone is not None and got is not None, "memory, %s: the command runs" % name)
    if alone is None or got is None:
        return
    more = expected(**size)
    t.check(got <= 1.1 * (max(alone, PROGRAM) + more),
            "memory, %s: %.0f MB, at most a tenth above %.0f" % (name, got / MB, (alone + more) / MB))
    if "level" in arguments:
        t.check(got - alone >= 0.5 * more, "memory, %s: the formula is not twice too large" % name)


def is_sanitized(t):
    """Sanitizers need memory of their own."""
    if any(name in t.environment for name in ("ASAN_OPTIONS", "TSAN_OPTIONS")):
        t.skip("peak memory: this is a build with a sanitizer")
        return True
    return False


def write_unigrams(t, n):
    path = t.folder / "unigrams.arpa"
    with path.open("w") as file:
        file.write("\\data\\\nngram 1=%d\n\n\\1-grams:\n-99\t<s>\n-2\t</s>\n" % n)
        file.writelines("-6\tw%d\n" % i for i in range(n - 2))
        file.write("\n\\end\\\n")
    return str(path)


def test_wide_rows(t):
    """501 rows of a million scores are 4 GB, of which 64 MB are in memory at once."""
    if is_sanitized(t):
        return
    draw = ["-k", "500", "--max-len", "2"]
    model = write_unigrams(t, 10**6)
    check_peak(t, "a vocabulary of a million, k 500", model, draw, vocab=10**6, element=8, k=500, length=2, rows=1)
    check_peak(t, "a vocabulary of a million, k 500, level search", model, [*draw, "--search", "level"],
               vocab=10**6, element=8, k=500, length=2, rows=501)


def test_many_rows(t):
    """Many draws of a batch, each with narrow rows: states and the work of the network count."""
    model = t.models / "enfr-everyday.safetensors"
    if is_sanitized(t):
        return
    if t.run("info", "-m", str(model)).code != 0:
        t.skip("peak memory of the translation model: this build cannot open it")
        return
    draw = ["-k", "100", "--max-len", "6", "--draws", "16", "--batch", "16", "Where is the train station?"]
    size = {"vocab": 6000, "element": 4, "k": 100, "length": 6, "batch": 16, "draws": 16, "state": 6148, "work": 15360}
    check_peak(t, "translation, k 100, batch 16", str(model), draw, rows=4, **size)
    check_peak(t, "translation, k 100, batch 16, level search", str(model), [*draw, "--search", "level"],
               rows=101, **size)


def test_long_sequences(t):
    """Many long sequences with short rows: beams, paths and results count."""
    if is_sanitized(t):
        return
    draw = ["-k", "60000", "--max-len", "40", "--min-len", "40"]
    size = {"vocab": 3, "element": 8, "k": 60000, "length": 40}
    check_peak(t, "a chain, k 60000, 40 tokens", t.chain, draw, rows=1, **size)
    check_peak(t, "a chain, k 60000, 40 tokens, level search", t.chain, [*draw, "--search", "level"], rows=60001,
               **size)
