"""sbeam eval on draws: BLEU and diversity of each setting."""
import json
import re


def write_draws(t):
    """Returns the JSON lines of four settings, and writes references for their three inputs."""
    t.write("three.ref", "a b c\nb a\tc\nc b a\nspare\n")
    given = ("--seed", "1", "--max-len", "6", "-m", t.arpa)
    inputs = "a\nb\na b\n"
    return (t.draw(*given, "-k", "3", "-T", "0.5,1", "-", stdin=inputs) +
            t.draw(*given, "-k", "3", "--method", "beam", "-", stdin=inputs) +
            t.draw(*given, "-k", "2", "--method", "diverse", "--strength", "0.3", "-", stdin=inputs))


def record(stream, draw, *texts, **changes):
    """A draw of texts as a JSON line."""
    sequences = [{"text": text, "tokens": [0], "log_p": -1, "log_p_model": -1, "end": "eos"} for text in texts]
    members = {"stream": stream, "draw": draw, "input": "", "method": "sample", "k": len(texts), "temperature": 1,
               "sequences": sequences, **changes}
    return json.dumps(members, separators=(",", ":")) + "\n"


def test_draws(t):
    draws = write_draws(t)
    r = t.run("eval", "--ref", "three.ref", stdin=draws).exits(0, "eval: draws")
    r.has_lines(4, "eval: a line for each setting")
    keys = ("bleu_min", "bleu_mean", "bleu_max", "d1", "d2", "d3", "d4", "diversity")
    r.check(re.search(r'^\{"method":"sbs","k":3,"temperature":0\.5,"strength":null,"inputs":3,%s\}$' %
                      ",".join('"%s":[0-9.]+' % key for key in keys), r.lines[0]),
            "eval: its keys, in order of first appearance")

    def rounded(lines):  # sums differ in their last digits
        return sorted(re.sub(r"(\.[0-9]{9})[0-9]*", r"\1", line) for line in lines)

    shuffled = "".join(line + "\n" for line in reversed(draws.split("\n")[:-1]))
    t.same(rounded(t.run("eval", "--ref", "three.ref", stdin=shuffled).lines), rounded(r.lines),
           "eval: the order of the draws does not matter")
    t.run("eval", stdin=draws).prints('"bleu_min":null,"bleu_mean":null,"bleu_max":null,"d1":[0-9]',
                                      "eval: without references there is diversity")
    r = t.run("eval", "-f", "text", "--ref", "three.ref", stdin=draws).has_lines(6, "eval: a table")
    r.fits(80, "eval: that fits 80 columns")
    r.prints(r"^diverse +2 +1 +0\.3 +3 +", "eval: with the strength")


def test_averages(t):
    t.write("mine.ref", "x x\na b\n")
    # Stream 0: two draws, d1 = 1/2 and 1, d2 = 1 and none; stream 1: d1 = 1, d2 = 1.
    r = t.run("eval", "--ref", "mine.ref", stdin=record(0, 0, "x x") + record(0, 1, "y") + record(1, 0, "a b"))
    r.prints(r'"inputs":2,"bleu_min":75\.?[0-9]*,"bleu_mean":75.*"d1":0\.875,"d2":1,"d3":null,"d4":null,'
             r'"diversity":0\.9375\}', "eval: draws of a stream are averaged first, absent orders left out")
    r = t.run("eval", "--ref", "mine.ref", stdin=record(0, 0, "", ""))
    r.prints('"bleu_min":0,"bleu_mean":0,"bleu_max":0,"d1":null,"d2":null,"d3":null,"d4":null,"diversity":null',
             "eval: empty texts have no diversity")
    r = t.run("eval", "--ref", "mine.ref").exits(0, "eval: no draws")
    r.has_lines(0, "eval: no settings")


def test_refusals(t):
    draws = write_draws(t)

    def refused(name, pattern, lines):
        r = t.run("eval", "--ref", "three.ref", stdin=lines)
        r.check(r.code == 1 and not r.out and r.err.count("\n") == 1 and r.says_line("^sbeam eval: " + pattern),
                "eval: " + name)

    one = record(0, 0, "a")
    refused("draws that were cut", 'standard input:1: there are 1 sequences, but "k" is 2', record(0, 0, "x x", k=2))
    refused("bad JSON", "standard input:2: invalid JSON", draws.split("\n")[0] + '\n{"stream":0,\n')
    refused("no record", "standard input:1: ", "[1]\n")
    refused("a stream without a line", "standard input:1: three.ref has 4 lines, none for stream 4$", record(4, 0, "a"))
    refused("the largest stream", "standard input:1: three.ref has 4 lines", record(9223372036854775807, 0, "a"))
    refused("NaN", "standard input:1: invalid JSON", one.replace('"log_p":-1', '"log_p":NaN'))
    refused("no texts", 'standard input:1: .*"text"', one.replace('"text":"a",', ""))
    refused("no sequences", "standard input:1: .*sequences", record(0, 0, "a", sequences=[]))
    refused("unknown method", "standard input:1: .*magic", record(0, 0, "a", method="magic"))
    with open(t.sbeam, "rb") as program:
        refused("bytes that are no draws", "standard input:1: ", program.read(5000))
    t.write("gap.ref", "a\n\n")
    r = t.run("eval", "--ref", "gap.ref", stdin=record(1, 0, "a"))
    r.says("^sbeam eval: standard input:1: gap.ref:2: there is no reference$", "eval: a stream without references")
