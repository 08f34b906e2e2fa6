"""Tests commands with too little memory: each works or says that there is not enough, and none waits for ever."""
import subprocess

from harness import found

LIMITS = range(20_000, 400_001, 10_000)  # KB of addresses, as `ulimit -v` takes them
DEADLINE = 60  # seconds; a command of this file takes a few hundredths of one


def limited(kilobytes):
    return ("sh", "-c", 'ulimit -v "$0" && exec "$@"', str(kilobytes))


def is_limitable(t):
    """Returns whether the command can run with limited addresses; a sanitizer reserves terabytes of them."""
    return t.run("--version", prefix=limited(50_000_000)).code == 0


def wrong(t, kilobytes, arguments, given, answer):
    """Runs a command with a limit. Returns None, or what is wrong with its end."""
    try:
        r = t.run(*arguments, prefix=limited(kilobytes), timeout=DEADLINE, **given)
    except subprocess.TimeoutExpired:
        return "with %d KB it does not end" % kilobytes
    if r.code == 0:
        return None if answer is None or r.out == answer else "with %d KB its output is another" % kilobytes
    if r.code == 1 and r.says_line("^sbeam.*(not enough memory|[Cc]annot allocate memory|out of memory)"):
        return None
    if r.code == 127 and r.says_line("error while loading shared libraries"):
        return None
    return "with %d KB it exits with %d: %s" % (kilobytes, r.code, r.err[:200])


def sweep(t, name, *arguments, is_timing=False, **given):
    if not is_limitable(t):
        t.skip("%s with limited memory: a sanitizer needs more addresses" % name)
        return
    answer = t.run(*arguments, **given)
    t.check(answer.code == 0, name + " without a limit", answer)
    faults = [wrong(t, kilobytes, arguments, given, None if is_timing else answer.out) for kilobytes in LIMITS]
    faults = [fault for fault in faults if fault]
    t.same(faults, [], name + " with 20,000 to 400,000 KB")


def test_memory_for_draw(t):
    sweep(t, "draw, tree", "draw", "-m", t.fig1, "-k", "3", "--seed", "1")
    sweep(t, "draw, ARPA", "draw", "-m", t.arpa, "-k", "3", "--seed", "1")
    sweep(t, "draw, each and until", "draw", "-m", t.chain, "-k", "300", "--until", "texts=20", "--until", "mass=0.9",
          "--each", "-f", "jsonl", "--seed", "1")
    sweep(t, "draw, threads", "draw", "-m", t.chain, "-k", "3", "--draws", "20", "--threads", "3", "--seed", "1")


def test_memory_for_translation(t):
    if found("^(neural models|SentencePiece): no$", t.run("--version").out):
        t.skip("translation with limited memory: this build has no neural models or no SentencePiece")
        return
    draw = ("draw", "-k", "3", "--seed", "1", "Thank you.")
    sweep(t, "draw, translation", *draw)
    sweep(t, "draw, translation without AVX2", *draw, env={"SBEAM_CPU": "blas"})
    sweep(t, "info", "info")


def test_memory_for_files(t):
    draws = t.draw("-m", t.chain, "-k", "20", "--seed", "1")
    sweep(t, "estimate", "estimate", "--f", "length", stdin=draws)
    sweep(t, "eval of draws with partial lines", "eval", stdin=t.draw("-m", t.chain, "-k", "9", "--seed", "1", "--each"))
    sweep(t, "score", "score", "-m", t.arpa, stdin="\ta b\n")
    sweep(t, "eval", "eval", "--ref", str(t.data / "bleu/main.ref"), "--hyp", str(t.data / "bleu/main.hyp"))
    sweep(t, "shuf", "shuf", "-n", "2", "--seed", "1", stdin="a\nb\nc\n")


def test_memory_for_the_rest(t):
    sweep(t, "tree", "tree", "-m", t.fig1, "--seed", "1")
    sweep(t, "bench decode", "bench", "decode", "-m", t.chain, "-k", "2", "--len", "2", "--repeats", "1",
          is_timing=True)
    sweep(t, "--help", "--help")
    sweep(t, "draw --help", "draw", "--help")
    sweep(t, "--version", "--version")
    sweep(t, "--version without AVX2", "--version", env={"SBEAM_CPU": "blas"}, is_timing=True)


def test_products_without_room(t):
    """Without AVX2 and without room for OpenBLAS's buffers, sbeam computes products by plain C code, and says so."""
    if not is_limitable(t) or found("^(neural models|SentencePiece): no$", t.run("--version").out):
        t.skip("matrix products with limited memory: a sanitizer, or no neural models or no SentencePiece")
        return
    plain = {"SBEAM_CPU": "blas"}
    r = t.run("--version", prefix=limited(200_000), env=plain).exits(0, "--version without room for OpenBLAS")
    r.prints("^OpenBLAS: no$", "--version: OpenBLAS is not used")
    r = t.run("info", prefix=limited(200_000), env=plain).exits(0, "info without room for OpenBLAS")
    r.prints("^matrix products +plain$", "info: the plain product is used")
    if found("^kernels: avx2$", t.run("--version").out):
        t.run("--version").prints("^OpenBLAS: not needed$", "--version: the kernel for AVX2 needs no OpenBLAS")
