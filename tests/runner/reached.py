"""Counts the lines and branches that the tests reach; scripts/coverage calls it.

The build folder is made with gcc --coverage. Each object then has a .gcno file, which knows its lines, and each
program that ends adds its counts to the .gcda file beside it. gcov joins the two, as JSON. A file that is compiled
more than once, such as a header or the kernels, counts as reached if one of its objects was reached."""
import json
import os
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

sys.dont_write_bytecode = True
import plan  # noqa: E402
from check import Check, Part  # noqa: E402
from counting import count_lines  # noqa: E402

FOLDER = Path("build-coverage")
DOCUMENT = Path("doc/testing.md")
BEGIN, END = "<!-- scripts/coverage writes from here -->", "<!-- to here -->"

NOUNS = {"unit tests": "unit tests", "command line": "cases of the command line",
         "recorded outputs": "recorded outputs", "python": "tests of the Python package"}

Total = namedtuple("Total", "lines reached branches taken")


# --- reading gcov ---


class Source:
    """The counts of a source file: the executions of each line and of each branch of a line."""

    def __init__(self):
        self.lines, self.branches = {}, {}

    def add(self, line):
        """Adds one of gcov's lines. Branches that only exceptions take are left out: C++ has one at every call."""
        number = line["line_number"]
        self.lines[number] = self.lines.get(number, 0) + line["count"]
        counts = [branch["count"] for branch in line["branches"] if not branch["throw"]]
        known = self.branches.get(number, [])
        if len(known) == len(counts):
            counts = [a + b for a, b in zip(known, counts)]
        if len(counts) >= len(known):
            self.branches[number] = counts

    def total(self):
        branches = [count for counts in self.branches.values() for count in counts]
        return Total(len(self.lines), sum(count > 0 for count in self.lines.values()),
                     len(branches), sum(count > 0 for count in branches))

    def unreached(self):
        """Returns the ranges (first, last) of lines that were never executed. Lines without code do not end a range."""
        ranges, is_open = [], False
        for number in sorted(self.lines):
            if self.lines[number] > 0:
                is_open = False
            elif is_open:
                ranges[-1] = (ranges[-1][0], number)
            else:
                ranges.append((number, number))
                is_open = True
        return ranges


def add_report(sources, report, top):
    """Adds what gcov says of one object to the sources below src and apps, by their path from `top`."""
    for file in report["files"]:
        path = os.path.relpath(os.path.join(report["current_working_directory"], file["file"]), top)
        if path.startswith(("src" + os.sep, "apps" + os.sep)):
            for line in file["lines"]:
                sources.setdefault(path, Source()).add(line)


def run_gcov(objects, top):
    """Returns the sources of these .gcno files, by path."""
    sources = {}
    for path in objects:
        done = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities", path.resolve()],
                              cwd=FOLDER, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
        for line in done.stdout.decode().splitlines():
            if line.strip():
                add_report(sources, json.loads(line), top)
    return sources


# --- the report ---


def add_up(totals):
    return Total(*(sum(numbers) for numbers in zip(*totals)))


def percent(part, whole):
    """Returns one decimal, rounded down, so that 100.0 means all."""
    return "%.1f" % (part * 1000 // whole / 10) if whole else "-"


def table(sources):
    """Returns the lines of a Markdown table: each folder, then all."""
    folders = {}
    for path, source in sources.items():
        folders.setdefault(os.path.dirname(path), []).append(source.total())
    rows = [(folder, add_up(totals)) for folder, totals in sorted(folders.items())]
    rows.append(("all", add_up([total for _, total in rows])))
    lines = ["| folder | lines | reached | % | branches | taken | % |", "|---|---|---|---|---|---|---|"]
    for folder, t in rows:
        name = folder if folder == "all" else "`%s`" % folder
        lines.append("| %s | %s | %s | %s | %s | %s | %s |" % (
            name, format(t.lines, ","), format(t.reached, ","), percent(t.reached, t.lines),
            format(t.branches, ","), format(t.taken, ","), percent(t.taken, t.branches)))
    return lines


def sentence(outcomes):
    """Returns the sentence above the table: the parts that ran, with the numbers of cases that passed."""
    parts = ["%s %s" % (format(outcome.counts.passed, ","), NOUNS[outcome.name]) for outcome in outcomes
             if outcome.name in NOUNS]
    return "Reached by %s together:" % (", ".join(parts[:-1]) + " and " + parts[-1])


def list_unreached(sources):
    """Returns lines "path:first-last"."""
    return ["%s:%d" % (path, first) + ("-%d" % last if last > first else "")
            for path, source in sorted(sources.items()) for first, last in source.unreached()]


def replace_between(text, lines):
    """Returns the text with these lines between the two markers. Both must be there once."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end or BEGIN in rest or END in after:
        raise ValueError("expected one line '%s' and then one line '%s'" % (BEGIN, END))
    return "\n".join([before + begin, *lines, end + after])


# --- the tests ---


def run_tests(check):
    """Runs all tests that count. Returns whether none failed."""
    os.environ["LC_ALL"] = "C.UTF-8"
    folder, share = str(FOLDER), {"SBEAM_TEST_SHARE": plan.SHARE}
    if not check.run(plan.build("build", "build"),
                     plan.build("coverage: build", folder, "-Dtests=enabled", "-Db_coverage=true", "-Dbuildtype=debug",
                                "-Db_ndebug=true")):
        return False
    for old in FOLDER.rglob("*.gcda"):
        old.unlink()
    parts = [plan.unit_tests("unit tests", folder, env=share), plan.command_line("command line", folder),
             Part("recorded outputs", ["tests/outputs", "check", FOLDER / "sbeam"], FOLDER / "check-outputs.log",
                  count_lines),
             plan.python_tests("python", folder, env={"SBEAM_LIBRARY": str((FOLDER / "libsbeam.so").resolve())})]
    return all([check.run(part) for part in parts])


def main():
    check = Check()
    is_good = run_tests(check)
    if not is_good:
        print("coverage: a test failed, so the table is not written")
        return 1
    sources = run_gcov(sorted(FOLDER.rglob("*.gcno")), Path.cwd())
    rows = [sentence(check.outcomes), "", *table(sources)]
    unreached = list_unreached(sources)
    (FOLDER / "unreached.txt").write_text("".join(line + "\n" for line in unreached), encoding="utf-8")
    DOCUMENT.write_text(replace_between(DOCUMENT.read_text(encoding="utf-8"), rows), encoding="utf-8")
    print("", *rows, "", "%d ranges of lines that no test reaches are in %s" % (len(unreached), FOLDER / "unreached.txt"),
          sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
