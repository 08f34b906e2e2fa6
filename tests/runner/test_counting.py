"""Proves that a part that failed, crashed, hung or printed nothing never counts as passed."""
import json
import unittest

from counting import FAILED, Counts, count_lines, count_meson, count_one, count_summary, count_unittest

GOOD = "[==========] Running 3 test(s).\n[==========] 3 test(s) run.\n[  PASSED  ] 3 test(s).\n"


def log_of(*programs):
    """A log of meson: (name, result, output) of each program."""
    return "".join(json.dumps({"name": name, "result": result, "stdout": output}) + "\n"
                   for name, result, output in programs)


class One(unittest.TestCase):
    def test_exit_codes(self):
        self.assertEqual(count_one(0, ""), Counts(1, 0, 0))
        for code in (1, 2, 127, -9, -11):
            self.assertEqual(count_one(code, "ok 1 - all is well\n"), FAILED)


class Lines(unittest.TestCase):
    def test_cases(self):
        counts = count_lines(0, "ok 1 - a\nok 2 - b\n# skipped: c: why\nskip d: why\n1..2\n")
        self.assertEqual(counts, Counts(2, 0, 2, ["skipped: c: why", "skipped: d: why"]))

    def test_a_failed_case(self):
        self.assertEqual(count_lines(1, "ok 1 - a\nnot ok 2 - b\n1..2\n")[:3], (1, 1, 0))

    def test_a_failed_case_with_exit_0(self):
        self.assertEqual(count_lines(0, "ok a\nnot ok b\n")[:3], (1, 1, 0))

    def test_a_crash_after_good_cases(self):
        self.assertEqual(count_lines(-11, "ok 1 - a\nok 2 - b\n")[:3], (2, 1, 0))

    def test_an_empty_log(self):
        self.assertEqual(count_lines(0, "")[:3], (0, 1, 0))
        self.assertEqual(count_lines(0, "okay, nothing to do\n")[:3], (0, 1, 0))

    def test_a_plan_that_is_not_fulfilled(self):
        self.assertEqual(count_lines(0, "1..3\nok 1 - a\nok 2 - b\n")[:3], (2, 1, 0))
        self.assertEqual(count_lines(0, "1..1\nok 1 - a\nok 2 - b\n")[:3], (2, 1, 0))

    def test_only_skipped(self):
        self.assertEqual(count_lines(0, "skip all: no Python\n")[:3], (0, 0, 1))
        self.assertEqual(count_lines(1, "skip all: no Python\n")[:3], (0, 1, 1))


class Summary(unittest.TestCase):
    def test_totals(self):
        counts = count_summary(0, "ok a\nskipped: b: why\n1 passed, 0 failed, 1 skipped\n")
        self.assertEqual(counts, Counts(1, 0, 1, ["skipped: b: why"]))

    def test_no_last_line(self):
        self.assertEqual(count_summary(0, "ok a\nok b\n"), FAILED)
        self.assertEqual(count_summary(0, ""), FAILED)

    def test_exit_code_decides(self):
        self.assertEqual(count_summary(1, "2 passed, 0 failed, 0 skipped\n")[:3], (2, 1, 0))

    def test_nothing_ran(self):
        self.assertEqual(count_summary(0, "0 passed, 0 failed, 0 skipped\n")[:3], (0, 1, 0))


class Unittest(unittest.TestCase):
    def test_totals(self):
        self.assertEqual(count_unittest(0, "....\n\nRan 4 tests in 0.1s\n\nOK\n"), Counts(4, 0, 0))

    def test_failures(self):
        self.assertEqual(count_unittest(1, "Ran 4 tests in 0.1s\n\nFAILED (failures=1)\n"), FAILED)
        self.assertEqual(count_unittest(0, "Ran 0 tests in 0.0s\n\nOK\n")[:3], (0, 1, 0))
        self.assertEqual(count_unittest(-9, "Ran 4 tests in 0.1s\n\nOK\n")[:3], (4, 1, 0))
        self.assertEqual(count_unittest(0, ""), FAILED)


class Meson(unittest.TestCase):
    def test_cases_of_cmocka(self):
        self.assertEqual(count_meson(0, log_of(("a", "OK", GOOD), ("b", "OK", GOOD)))[:3], (6, 0, 0))

    def test_a_program_that_is_one_case(self):
        self.assertEqual(count_meson(0, log_of(("a", "OK", "")))[:3], (1, 0, 0))

    def test_failed_cases(self):
        output = "[==========] Running 3 test(s).\n[  PASSED  ] 1 test(s).\n[  FAILED  ] tests: 2 test(s)\n"
        self.assertEqual(count_meson(1, log_of(("a", "FAIL", output)))[:3], (1, 1, 0))
        output = output.replace("tests: 2", "2")
        self.assertEqual(count_meson(1, log_of(("a", "FAIL", output)))[:3], (1, 2, 0))

    def test_a_crash(self):
        for result in ("FAIL", "ERROR", "TIMEOUT", "INTERRUPT", "UNEXPECTEDPASS", "something new"):
            self.assertEqual(count_meson(1, log_of(("a", "OK", GOOD), ("b", result, "")))[:3], (3, 1, 0))
            self.assertEqual(count_meson(0, log_of(("a", result, GOOD)))[:3], (3, 1, 0))

    def test_a_program_that_left_early_with_exit_0(self):
        output = "[==========] Running 3 test(s).\n[ RUN      ] first\n"
        self.assertEqual(count_meson(0, log_of(("a", "OK", output)))[:3], (0, 1, 0))

    def test_exit_code_of_meson(self):
        self.assertEqual(count_meson(1, log_of(("a", "OK", GOOD)))[:3], (3, 1, 0))

    def test_an_empty_or_broken_log(self):
        self.assertEqual(count_meson(0, "")[:3], (0, 1, 0))
        self.assertEqual(count_meson(0, log_of(("a", "OK", GOOD))[:-20]), FAILED)
        self.assertEqual(count_meson(0, "{}\n"), FAILED)

    def test_skips(self):
        output = ("[==========] Running 2 test(s).\nskipped: x.arpa: no folder\n[  SKIPPED ] phones\n"
                  "[  PASSED  ] 1 test(s).\n[  SKIPPED ] 1 test(s), listed below:\n[  SKIPPED ] phones\n")
        counts = count_meson(0, log_of(("a", "OK", output), ("b", "SKIP", "x\nno model\n")))
        self.assertEqual(counts, Counts(1, 0, 2, ["skipped: phones", "skipped: x.arpa: no folder", "b: no model"]))


if __name__ == "__main__":
    unittest.main()
