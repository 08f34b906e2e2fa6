"""Intervals of sbeam estimate, and its tables: text must agree with JSON and fit its columns."""
import json
import re
from decimal import Decimal

OF_DRAW = "estimate se ci_low ci_high mc_equivalent"
OF_SUMMARY = "mean se_mean sd p025 p975"
OF_TRUTH = "mean se_mean bias rmse p025 p975"
NUMBERS = ("1e300 -2e300 3e299 1e-300 -1e-200 2e-310 -0.00001234 1e-5 12345678 -123456789.123 987654321 1e9 -3e-119 "
           "1e-119 2.5e-119 -7.1e-120")


def is_row(line):
    """Whether a line of the text is one of a table, not the line above it."""
    return re.match(r"(mc|sbs|beam)(-normalised)? ", line) and "  T " not in line


def fits(lines, width):
    """Whether the text keeps to the width, and the columns of each table end together."""
    end = None
    for line in lines:
        if line.startswith("estimator"):
            end = len(line)
        if len(line) > width or (is_row(line) and re.search("[-0-9.]$", line) and len(line) != end):
            return False
    return end is not None


def shows(cell, number):
    """Whether a cell shows the number to half a unit of its last digit; "-" stands for null."""
    if number is None or cell == "-":
        return number is None and cell == "-"
    digits, _, exponent = cell.partition("e")
    places = len(digits.partition(".")[2])
    unit = Decimal(10) ** (int(exponent or 0) - places)
    return abs(Decimal(number) / unit - Decimal(digits) * 10 ** places) <= Decimal("0.50001")


def check_both(t, keys, name, draws, *arguments):
    """Compares the two formats: the last columns of the tables are the numbers of these keys. Returns the text."""
    exact = t.run("estimate", *arguments, stdin=draws)
    text = t.run("estimate", *arguments, "-f", "text", stdin=draws)
    text.check(text.code == 0 and not text.err and not exact.err, "estimate: text: %s" % name)
    text.check(fits(text.lines, 80), "estimate: text in 80 columns: %s" % name)
    records = [json.loads(line, parse_float=Decimal, parse_int=Decimal) for line in exact.lines]
    rows = [line.split() for line in text.lines if is_row(line)]
    keys = keys.split()
    text.check(len(rows) == len(records) >= 2 and
               all(shows(cell, record[key]) for row, record in zip(rows, records)
                   for cell, key in zip(row[-len(keys):], keys)), "estimate: text agrees with JSON: %s" % name)
    return text


def test_intervals(t):
    draws = t.draw("-m", t.chain, "-k", "12", "--max-len", "9", "--seed", "5", "--draws", "2", "-T", "0.7,1")
    r = t.run("estimate", "--f", "entropy", "--curve", "1..12", stdin=draws)

    def is_right(record):
        if record["se"] is None:
            return record["ci_low"] is None and record["ci_high"] is None
        half = 1.959963984540054 * record["se"]
        return all(abs(end - wanted) <= 1e-12 * (1 + end ** 2) ** 0.5 for end, wanted in (
            (record["ci_low"], record["estimate"] - half), (record["ci_high"], record["estimate"] + half)))

    r.check(len(r.records) == 96 and sum(record["se"] is None for record in r.records) == 8 and
            all(is_right(record) for record in r.records),
            "estimate: intervals of 95 %, none without a standard error")


def test_tables(t):
    draws = t.draw("-m", t.chain, "-k", "12", "--max-len", "9", "--seed", "5", "--draws", "2", "-T", "0.7,1")
    r = check_both(t, OF_DRAW, "draws and temperatures", draws, "--f", "entropy")
    headers = [line for line in r.lines if re.match(r"sbs  stream 0  k 12  T (0.7|1)  draw [01]  f entropy$", line)]
    r.check(len(headers) == 4 and r.lines.count("") == 3, "estimate: text: a table for each draw, with its header")
    r = check_both(t, OF_DRAW, "a curve", draws, "--f", "length", "--curve", "1..12")
    r.prints("^sbs +1 +[0-9.]+ +- +- +- +-$", "estimate: text: no standard error at k = 1")
    r = check_both(t, OF_SUMMARY, "a summary", draws, "--f", "entropy", "--summary")
    r.prints("^stream 0  k 12  T 0.7  draws 2  f entropy$", "estimate: text: the header of a summary")
    r = check_both(t, OF_SUMMARY, "a summary of a curve", draws, "--f", "entropy", "--summary", "--curve", "8..12")
    r.prints("^stream 0  k 8 to 12  T 0.7  draws 2  f entropy$", "estimate: text: the header of a curve")
    r = check_both(t, OF_TRUTH, "a truth", draws, "--f", "entropy", "--summary", "--curve", "8..12", "--truth", "3.25")
    r.prints("^stream 0  .*  truth 3.25000$", "estimate: text: the truth")
    given = ("-m", t.chain, "-k", "3", "--max-len", "9", "--method")
    mixed = draws + t.draw(*given, "beam") + t.draw(*given, "sample", "--seed", "5")
    r = check_both(t, OF_TRUTH, "all estimators", mixed, "--f", "entropy", "--summary", "--curve", "3..4",
                   "--truth", "3.25")
    r.prints("^beam-normalised  3 .* - .*", "estimate: text: a beam has no standard error")
    check_both(t, OF_DRAW, "all methods", mixed, "--f", "length")


def test_inputs(t):
    draws = t.draw("-m", t.chain, "-k", "3", "--max-len", "9", "--seed", "5", "a", "b " + "a " * 60)
    r = check_both(t, OF_DRAW, "inputs", draws, "--f", "length")
    r.prints("^input 0: a$", "estimate: text: the input")
    r.prints("^input 1: b a .*…$", "estimate: text: a long input is cut")


def test_huge_and_tiny_numbers(t):
    draws = t.draw("-m", t.fig1, "-k", "4", "--seed", "3", "--draws", "4")
    t.write("numbers", NUMBERS.replace(" ", "\n") + "\n")
    r = check_both(t, OF_DRAW, "huge and tiny numbers", draws, "--values", "numbers")
    r.prints("^sbs  stream 0  k 4  T 1  draw 3  values numbers$", "estimate: text: the file of values")
    curve = ("--values", "numbers", "--curve", "1..4")
    check_both(t, OF_DRAW, "a curve of huge and tiny numbers", draws, *curve)
    check_both(t, OF_TRUTH, "a summary of huge and tiny numbers", draws, *curve, "--summary", "--truth", "-1.5e-119")
    for columns in (40, 60, 200):
        r = t.run("estimate", *curve, "-f", "text", stdin=draws, env={"COLUMNS": str(columns)})
        width = min(columns, 80)
        r.check(fits(r.lines, width), "estimate: text in %d columns: COLUMNS %d" % (width, columns))


def test_largest_k(t):
    draws = t.draw("-m", t.fig1, "-k", "9", "--seed", "1")
    r = check_both(t, OF_DRAW, "the largest k", draws, "--f", "length", "--curve", "9999999..10000000")
    r.prints(r"^sbs +10000000 +3.000 +0 +3.000 +3.000 +-$", "estimate: text: a constant, and exact")
    r = t.run("estimate", "--f", "length", "-f", "text")
    r.has_lines(0, "estimate: text: no draws, no table")
