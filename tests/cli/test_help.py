"""Help, version, and wrong usage."""
import platform
import re

COMMANDS = ("draw", "score", "tree", "shuf", "info", "bench")


def test_help(t):
    r = t.run("--help").exits(0, "--help")
    r.prints("^  draw ", "--help lists the commands")
    r.prints("^  eval ", "--help lists eval")
    r.fits(80, "--help fits 80 columns")
    t.run("help").exits(0, "help")
    for command in COMMANDS + ("eval",):
        r = t.run(command, "--help").exits(0, "%s --help" % command)
        r.prints("^usage: sbeam %s " % command, "%s --help shows its usage" % command)
        r.fits(80, "%s --help fits 80 columns" % command)
        t.same(t.run("help", command).out, r.out, "help %s" % command)


def test_help_of_draw(t):
    r = t.run("draw", "--help")
    r.prints("--top-p X .*fewest", "help comes from the option table")
    r.prints("default: 200", "help shows defaults")
    r.prints("--no-kappa", "a flag that is on by default is --no-...")
    r.out = re.sub(r"[ \n]+", " ", r.out)
    r.prints(r"by X \(1e-100 to 1e\+100; default", "help: bounds are short")
    r.prints(r"token \(diverse; at least 0; default", "help: no bound where there is none")
    r.prints("tree, chain and ARPA models always are", "help: what is always pretokenized")
    r.prints("the text is cut before it", "help: --stop cuts")
    r.prints("GGUF and translation models read these lines", "help: which models read standard input")


def test_version(t):
    r = t.run("--version").exits(0, "--version")
    r.prints(r"^sbeam [0-9]+\.[0-9]+\.[0-9]+", "--version has a number")
    first, parts = r.lines[0], r.lines[1:]
    r.check(re.search(r"^sbeam [0-9]+\.[0-9]+\.[0-9]+ \((avx512|avx2|neon|plain) kernels\)$", first), "--version: its first line")
    t.same([part.split(": ")[0] for part in parts],
           ["neural models", "SentencePiece", "llama.cpp", "OpenBLAS", "utf8proc", "kernels"],
           "--version: a line for each part of the build")
    for part in parts:
        values = "no|[0-9].* \\((found|not found)\\)" if part.startswith("llama") else "yes|no|not needed|avx512|avx2|neon|plain"
        r.check(re.search(": (%s)$" % values, part), "--version: %s" % part.split(": ")[0])
    t.run("--version", env={"SBEAM_CPU": "plain"}).prints("^kernels: plain$", "--version: the kernels in use")
    for name in ("avx3", "neon" if platform.machine() == "x86_64" else "avx2", "plain "):
        r = t.run("--version", env={"SBEAM_CPU": name})
        r.exits(2, "SBEAM_CPU=%s: exit status" % name)
        r.says("the environment variable SBEAM_CPU is '%s'; expected one of what this processor can run: .*plain" % name,
               "SBEAM_CPU=%s: why" % name)
    lines = {name: t.run("draw", "-m", t.arpa, "-k", "5", "--seed", "1", "-f", "jsonl", env={"SBEAM_CPU": name}).out
             for name in ("", "plain")}
    t.same(lines[""], lines["plain"], "SBEAM_CPU: the same draws")


def test_usage(t):
    t.usage("no command")
    t.usage("unknown command", "frobnicate")
    t.usage("unknown option before a command", "--frobnicate")
    t.usage("help of an unknown command", "help", "frobnicate")
    t.usage("unknown option", "draw", "--frobnicate")
    t.usage("unknown short option", "draw", "-x")
    t.usage("abbreviated option", "draw", "--temp", "1")
    t.usage("dash among inputs", "draw", "-m", t.arpa, "a", "-")
    t.usage("jsonl with arguments", "draw", "-m", t.arpa, "--input", "jsonl", "a")
    t.usage("unknown input form", "draw", "-m", t.arpa, "--input", "xml")
    t.usage("two prefixes for a tree", "tree", "-m", t.fig1, "0", "1")
    t.usage("two temperatures for a tree", "tree", "-m", t.fig1, "-T", "1,2")
    t.usage("format that a command does not have", "score", "-m", t.fig1, "-f", "tsv")
    t.usage("file for score", "score", "-m", t.fig1, "pairs.tsv")
    t.usage("two models", "info", t.fig1, t.chain)
    t.usage("two files", "shuf", "a", "b")
    t.usage("column 0", "shuf", "-w", "0")
    t.usage("log weights without column", "shuf", "--log-weights")
    t.usage("long delimiter", "shuf", "--delimiter", "ab")


def test_usage_of_draw(t):
    for name, words in (
            ("missing value", "-k"),
            ("value for a flag", "--no-kappa=yes"),
            ("k of 0", "-k 0"),
            ("k that is no number", "-k 3x"),
            ("temperature of 0", "-T 0"),
            ("bad temperature in a list", "-T 1,,2"),
            ("top-p of 0", "--top-p 0"),
            ("unknown method", "--method magic"),
            ("unknown format", "-f xml"),
            ("threads of 0", "--threads 0"),
            ("batch of 5000", "--batch 5000"),
            ("cache of -1 MB", "--cache -1"),
            ("cache of 1e9 MB", "--cache 1000000000"),
            ("draws of 0", "--draws 0"),
            ("negative seed", "--seed -1"),
            ("groups without diverse", "--groups 2"),
            ("a refused option at its default", "--groups 0"),
            ("length penalty with sbs", "--length-penalty 1"),
            ("no-kappa with beam", "--method beam --no-kappa"),
            ("k not divisible by groups", "--method diverse -k 5 --groups 2"),
            ("unknown banned token", "--ban nothing")):
        t.usage(name, "draw", "-m", t.fig1, *words.split())
    r = t.usage("the flag of a method that has none", "draw", "-m", t.fig1, "--method", "beam", "--no-kappa")
    r.says("beam does not take --no-kappa: it belongs to sbs", "options are named as they are spelt")
    r = t.run("draw", "-m", t.fig1, "--seed", "1", "-T", "1e-101")
    r.check(r.code == 2 and r.says_line("at least 1e-100"), "temperatures have bounds")
    r = t.run("draw", "-m", t.fig1, "--seed", "1", "--length-penalty", "0.6")
    r.says("refuses length-penalty: the sequences would no longer be a sample", "a refusal says why")
    r = t.run("draw", "-m", t.fig1, "--seed", "1", "--early-stop")
    r.says("refuses early-stop", "early stopping is refused with the reason")
