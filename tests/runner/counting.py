"""Counts what a part of the check did, from its exit code and its output.

Only evidence counts as passed. A part that failed, crashed, was killed or printed nothing has at least one failure,
even if all the cases that it printed before had passed."""
import json
import re
from collections import namedtuple


class Counts(namedtuple("Counts", "passed failed skipped reasons", defaults=((),))):
    """The numbers of cases, and the lines that say why some were skipped."""


FAILED = Counts(0, 1, 0)


def judged(code, counts):
    """Adds a failure if the exit code says that there was one, or if nothing was counted at all."""
    if counts.failed == 0 and (code != 0 or counts.passed + counts.skipped == 0):
        return counts._replace(failed=1)
    return counts


def count_one(code, output):
    """A part that is one case: the exit code decides."""
    return Counts(1, 0, 0) if code == 0 else FAILED


def count_lines(code, output):
    """Lines "ok ...", "not ok ...", "skip ..." and "# skipped: ...". A plan "1..N", if there is one, must be kept."""
    passed = len(re.findall("^ok ", output, re.M))
    failed = len(re.findall("^not ok ", output, re.M))
    reasons = ["skipped: " + reason for reason in re.findall("^(?:skip|# skipped:) (.*)", output, re.M)]
    plans = [int(n) for n in re.findall(r"^1\.\.(\d+)$", output, re.M)]
    if any(plan != passed + failed for plan in plans):
        failed += 1
    return judged(code, Counts(passed, failed, len(reasons), reasons))


def count_summary(code, output):
    """A last line "N passed, N failed, N skipped"; without it the part did not come to its end."""
    totals = re.findall(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", output, re.M)
    if not totals:
        return FAILED
    reasons = re.findall("^skipped: .*", output, re.M)
    return judged(code, Counts(*(int(n) for n in totals[-1]), reasons))


def count_unittest(code, output):
    """The end of Python's unittest: "Ran N tests in S s", then OK."""
    ran = re.findall(r"^Ran (\d+) tests? in ", output, re.M)
    ended_well = re.search(r"^OK$", output, re.M)
    return judged(code, Counts(int(ran[-1]), 0, 0) if ran and ended_well else FAILED)


# --- the unit tests: meson's log, one JSON object for each program, with what cmocka printed ---


def count_program(test):
    """Counts the cases of one program. One that is not of cmocka is one case."""
    text = (test.get("stdout") or "") + (test.get("stderr") or "")
    reasons = ["skipped: " + name for name in re.findall(r"\[  SKIPPED \] ([A-Za-z_]\w*)", text)]
    reasons += re.findall(r"^skipped: .*", text, re.M)
    if test["result"] == "SKIP":
        why = (text.strip().splitlines() or ["no reason given"])[-1]
        return Counts(0, 0, 1, ["%s: %s" % (test["name"], why), *reasons])
    passed, failed, skipped = (sum(int(n) for n in re.findall(r"\[  %s *\] (\d+) test" % word, text))
                               for word in ("PASSED", "FAILED", "SKIPPED"))
    begun = sum(int(n) for n in re.findall(r"\[=+\] .*Running (\d+) test", text))
    if test["result"] not in ("OK", "EXPECTEDFAIL") or begun > passed + failed + skipped:
        failed = max(failed, 1)
    if passed + failed + skipped == 0:
        passed = 1
    return Counts(passed, failed, skipped, reasons)


def count_meson(code, log):
    """Counts the programs in the text of meson's testlog.json. A log that is empty or cut is a failure."""
    try:
        programs = [count_program(json.loads(line)) for line in log.splitlines()]
    except (ValueError, KeyError, TypeError):
        return FAILED
    totals = [sum(numbers) for numbers in zip(*(counts[:3] for counts in programs))] or [0, 0, 0]
    reasons = dict.fromkeys(reason for counts in programs for reason in counts.reasons)
    return judged(code, Counts(*totals, list(reasons)))
