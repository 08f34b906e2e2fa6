"""Shared by the tests: the package, the command to compare with, and a chi-square test."""
import contextlib
import importlib
import io
import json
import math
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
MODELS = ROOT / "models"
# SBEAM_TEST_INSTALLED=1 tests the package that this Python has installed, and its command.
IS_INSTALLED = bool(os.environ.get("SBEAM_TEST_INSTALLED"))
COMMAND = Path(sys.prefix) / "bin" / "sbeam" if IS_INSTALLED else ROOT / "build" / "sbeam"
FALSE_ALARM = 1e-6  # probability that a test of a distribution rejects a correct sampler

if not IS_INSTALLED:
    sys.path.insert(0, str(HERE.parent))


def need(module):
    """Returns the module, or skips the test if it is not installed. The environment variable
    SBEAM_TEST_WITHOUT names modules to leave out."""
    if module in os.environ.get("SBEAM_TEST_WITHOUT", "").split(","):
        raise unittest.SkipTest("%s is left out here" % module)
    try:
        return importlib.import_module(module)
    except ImportError:
        raise unittest.SkipTest("%s is not installed" % module)


def run_command(*arguments, stdin=None):
    """Returns the JSON records that the command writes."""
    done = subprocess.run([str(COMMAND), *map(str, arguments)], input=stdin, check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return [json.loads(line) for line in done.stdout.splitlines()]


def environment():
    """Returns variables for programs that import the package under test, without the libraries of a
    sanitizer."""
    plain = {name: value for name, value in os.environ.items()
             if name not in ("LD_PRELOAD", "SBEAM_LIBRARY")}
    return plain if IS_INSTALLED else dict(plain, PYTHONPATH=str(HERE.parent))


# --- documentation ---

def read_blocks(page):
    """Returns the blocks of code of a page, each with the text that it must print, or ''."""
    return re.findall(r"^```python\n(.*?)^```\n(?:```text\n(.*?)^```\n)?",
                      page.read_text(encoding="utf-8"), re.M | re.S)


def run_blocks(case, page, blocks):
    """Runs blocks of code in order, in one namespace, from the top of the source tree."""
    names = {}
    before = os.getcwd()
    os.chdir(str(ROOT))
    try:
        for code, expected in blocks:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(code, page.name, "exec"), names)
            if expected:
                case.assertEqual(printed.getvalue(), expected, code)
    finally:
        os.chdir(before)


def resident_memory():
    """Returns the bytes of this process that are in memory, or skips the test if they say
    nothing."""
    if "LD_PRELOAD" in os.environ:
        raise unittest.SkipTest("a sanitizer keeps memory that was freed")
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        raise unittest.SkipTest("there is no /proc/self/statm")


# --- statistics ---

def gamma_tail(a, x):
    """Returns the regularised upper incomplete gamma function Q(a, x): by its series if x < a + 1,
    by Lentz's continued fraction otherwise."""
    if x <= 0:
        return 1.0
    front = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:
        term = total = 1.0 / a
        n = a
        while term > total * 1e-16:
            n += 1
            term *= x / n
            total += term
        return max(0.0, 1.0 - front * total)
    tiny = 1e-300
    b = x + 1 - a
    c, d = 1 / tiny, 1 / b
    h = d
    for i in range(1, 100000):
        an = -i * (i - a)
        b += 2
        d = an * d + b
        d = 1 / (d if abs(d) > tiny else tiny)
        c = b + an / c
        c = c if abs(c) > tiny else tiny
        h *= d * c
        if abs(d * c - 1) < 1e-15:
            break
    return front * h


def chi_square_p(counts, probabilities):
    """Returns the p-value of counts (by key) under probabilities (by key), which sum to 1. Cells
    with an expectation below 10 are merged. It is 0 if a key of probability zero was counted."""
    n = sum(counts.values())
    if set(counts) - {key for key, p in probabilities.items() if p > 0}:
        return 0.0
    cells, rest = [], [0.0, 0]
    for key, p in probabilities.items():
        if n * p >= 10:
            cells.append((n * p, counts.get(key, 0)))
        else:
            rest[0] += n * p
            rest[1] += counts.get(key, 0)
    if rest[0] > 0:
        cells.append(tuple(rest))
    statistic = sum((found - wanted) ** 2 / wanted for wanted, found in cells)
    return gamma_tail((len(cells) - 1) / 2, statistic / 2)


def plackett_luce(p, k):
    """Returns the probability of drawing each ordered k-tuple of keys without replacement."""
    law = {(): (1.0, 1.0)}
    for _ in range(k):
        law = {tuple_ + (key,): (q * p[key] / left, left - p[key])
               for tuple_, (q, left) in law.items() for key in p if key not in tuple_}
    return {tuple_: q for tuple_, (q, _) in law.items()}
