"""Tests files that were made to be slow: their words or numbers collided in the tables of earlier versions. Reading
them must take about as long as reading ordinary files of the same size. Times are processor times, so that other
programs do not matter."""
import json
import os
import subprocess

N = 60_000
WORD = (1 << 64) - 1
FACTOR = 0x9E3779B97F4A7C15
INVERSE = pow(FACTOR, -1, 1 << 64)


def seconds(t, *arguments, stdin=None):
    """Runs sbeam; returns its time on the processor and its output."""
    with subprocess.Popen([t.sbeam, *arguments], stdin=stdin or subprocess.DEVNULL, stdout=subprocess.PIPE,
                          cwd=t.folder, env=t.environment) as process:
        out = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -1
    return used.ru_utime + used.ru_stime, out, process.returncode


def compare(t, name, slow, usual, times):
    """Expects two successes, and that the first took at most `times` as long as the second plus half a second."""
    t.check(slow[2] == 0 and usual[2] == 0, name + ": both are read")
    t.check(slow[0] <= times * usual[0] + 0.5, "%s: %.2f s, ordinary %.2f s" % (name, slow[0], usual[0]))


def mix(x):
    x = x * FACTOR & WORD
    return x ^ x >> 29


def colliding_words():
    """Words whose old hash began in the first eighth of a table of 2^17 slots, the size for 60,000 words. As each
    taken slot led to the next one, they filled a single run of slots."""
    for i in range(1 << 28):
        word = b"%07x" % i
        h = mix(mix(len(word) + 1) ^ int.from_bytes(word, "little"))
        if (h ^ h >> 32) % (1 << 17) < 1 << 14:
            yield word


def write_arpa(t, name, words):
    lines = b"".join(b"-5\t%s\n" % word for word in words)
    return t.write(name, b"\\data\\\nngram 1=%d\n\n\\1-grams:\n-99\t<s>\n-1\t</s>\n%s\n\\end\\\n" % (N + 2, lines))


def test_words_that_collided(t):
    source = colliding_words()
    write_arpa(t, "slow.arpa", (next(source) for _ in range(N)))
    write_arpa(t, "usual.arpa", (b"word%04x" % i for i in range(N)))
    compare(t, "an ARPA file of words that collided", seconds(t, "info", "slow.arpa"), seconds(t, "info", "usual.arpa"),
            3)
    draws = [t.draw("-m", "usual.arpa", "-k", "50", "--seed", "1") for _ in range(2)]
    t.same(draws[0], draws[1], "two processes, with keys of their own, draw the same")


def write_draws(t, name, changes):
    record = json.loads(t.draw("-m", t.fig1, "-k", "1", "--seed", "1"))
    return t.write(name, "".join(json.dumps({**record, **change}) + "\n" for change in changes))


def evaluate(t, name, *arguments):
    with t.open(name) as file:
        return seconds(t, "eval", "-f", "jsonl", *arguments, stdin=file)


def test_numbers_that_collided(t):
    streams = (((i << 32 | i) * INVERSE * INVERSE) & WORD for i in range(1, 1 << 32))
    write_draws(t, "slow.jsonl", ({"stream": next(s for s in streams if s < 1 << 63)} for _ in range(N)))
    write_draws(t, "usual.jsonl", ({"stream": i} for i in range(N)))
    write_draws(t, "settings.jsonl", ({"temperature": 1 + i / 1e6} for i in range(N)))
    usual = evaluate(t, "usual.jsonl")
    compare(t, "draws whose streams collided", evaluate(t, "slow.jsonl"), usual, 3)
    compare(t, "draws with %d settings" % N, evaluate(t, "settings.jsonl"), usual, 3)
    t.same(evaluate(t, "slow.jsonl")[1], evaluate(t, "slow.jsonl")[1], "two processes evaluate the same")


def test_references_that_collided(t):
    """Two streams with long references, which had the same entry in the cache of references of earlier versions."""
    long = " ".join("w%d" % i for i in range(20_000))
    t.write("refs.txt", long + "\n" + "x\n" * ((1 << 14) - 1) + long + "\n")
    write_draws(t, "slow.jsonl", ({"stream": i % 2 << 14, "draw": i} for i in range(400)))
    write_draws(t, "usual.jsonl", ({"stream": 0, "draw": i} for i in range(400)))
    compare(t, "references that collided", evaluate(t, "slow.jsonl", "--ref", "refs.txt"),
            evaluate(t, "usual.jsonl", "--ref", "refs.txt"), 3)
