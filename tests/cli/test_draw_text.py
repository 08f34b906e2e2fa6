"""The text format of sbeam draw and sbeam tree: widths, alignment, characters."""
import os
import re

LONG = "日本語のとても長い文字列をここに置いて幅を確かめます日本語のとても長い文字列"


def write_odd_model(t):
    return t.write("odd.json", r'{"format":"sbeam-tree","tree":{"say\"hi\"\\":[0.5,null],"%s":[0.5,null]}}' % LONG)


def is_ascii(text):
    return all(" " <= c <= "~" or c == "\n" for c in text)


def width_of(line):
    """In columns: every character of the models here that is not ASCII takes two."""
    return sum(1 if c < "\x80" else 2 for c in line)


def test_escapes(t):
    odd = write_odd_model(t)
    r = t.run("draw", "-m", odd, "-k", "2", "--seed", "1", "-f", "jsonl")
    r.prints(r'"say\\"hi\\"\\\\"', "escapes")
    r = t.run("draw", "-m", odd, "-k", "2", "--seed", "1", "-f", "tsv")
    r.prints(r'say"hi"\\\\$', "tsv escapes")


def test_widths(t):
    odd = write_odd_model(t)
    for width in (40, 80, 120):
        narrow = {"COLUMNS": str(width), "LC_ALL": "C"}
        for model in (t.fig1, odd, t.chain):
            r = t.run("draw", "-m", model, "-k", "4", "--seed", "1", env=narrow)
            r.check(all(width_of(line) <= width for line in r.lines),
                    "text fits %d columns: %s" % (width, os.path.basename(model)))
        t.run("tree", "-m", t.fig1, "-k", "3", "--seed", "1", env=narrow).fits(width, "tree fits %d columns" % width)
    wide, narrow = (t.run("tree", "-m", t.fig1, "--seed", "1", "-k", "2", env={"COLUMNS": columns})
                    for columns in ("600", "100"))
    wide.check(len(wide.lines) == len(narrow.lines), "tree: wide terminals keep their lines")


def has_aligned_draws(lines):
    text, percent = lines[1].index("text"), 10
    return len(lines) == 10 and all(
        re.fullmatch("  [01] [01] [01]", line[text - 2:]) and line.index("%") == percent and
        re.fullmatch(r"<?[1-9][0-9.]*(e-[0-9]+)?%", line.split()[1]) for line in lines[2:])


def has_aligned_nodes(lines):
    g, end = lines[1].index("G"), lines.index("")
    return end >= 9 and all(re.match(r" +<?[0-9.e-]+ +[0-9.-]+  [#.+]", line[g - 16:g + 4]) for line in lines[2:end])


def test_tiny_probabilities(t):
    # At low temperatures p is as small as 1e-35, 1e-156 or 1e-1700, which is below the least double.
    for temperature in ("0.02", "0.005", "0.0005"):
        r = t.run("draw", "-m", t.fig1, "-k", "8", "--seed", "20", "-T", temperature, env={"LC_ALL": "C"})
        r.check(has_aligned_draws(r.lines), "tiny probabilities keep to their columns: T %s" % temperature)
        r = t.run("tree", "-m", t.fig1, "-k", "3", "--seed", "20", "-T", temperature, env={"LC_ALL": "C"})
        r.check(has_aligned_nodes(r.lines), "tree: tiny probabilities keep to their columns: T %s" % temperature)
    r.prints("<1e-999  -3583.8  #", "tree: a probability below 1e-999")


def test_characters(t):
    given = ("draw", "-m", t.fig1, "-k", "3", "--seed", "1")
    r = t.run(*given, env={"LC_ALL": "C"})
    r.check(is_ascii(r.out), "plain ASCII where the locale is not UTF-8")
    r.prints("###", "ASCII bars")
    r = t.run(*given).prints("█", "blocks where it is")
    r.check("\033" not in r.out, "no colour in a file")
    r = t.run("tree", "-m", t.fig1, "-k", "3", "--seed", "7", env={"LC_ALL": "C"})
    r.check(is_ascii(r.out), "tree: plain ASCII")


def test_sequences(t):
    odd = write_odd_model(t)
    r = t.run("draw", "-m", odd, "-k", "2", "--seed", "1", env={"COLUMNS": "40"})
    r.check("".join(line[19:] for line in r.lines[2:6]) == LONG, "long text goes on below")
    r = t.run("draw", "-m", t.chain, "-k", "3", "--seed", "2")
    r.prints(r"\(empty\)$", "an empty sequence is named")
    r = t.run("draw", "-m", t.fig1, "--method", "sample", "-k", "30", "--seed", "2")
    r.prints(r"\[same as [0-9]+\]$", "repeated samples are marked")
    r = t.run("draw", "-m", t.arpa, "-k", "1", "--seed", "1", "--input", "jsonl", env={"COLUMNS": "20"},
              stdin='{"input":"%s","stream":9223372036854775807}\n' % " ".join("a" * 20))
    r.prints("^input 9223372036854775807: .?$", "a long label leaves no room for the input")
