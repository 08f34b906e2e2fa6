"""Tests the running and reporting of parts with small commands."""
import io
import tempfile
import time
import unittest
from pathlib import Path

from check import Check, Outcome, Part, lines_of
from counting import Counts, count_lines, count_meson
from probe import why_not


class Running(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        self.stream = io.StringIO()
        self.check = Check(self.stream)

    def part(self, name, script, **given):
        return Part(name, ["sh", "-c", script], self.folder / "logs" / (name + ".log"), **given)

    def lines(self):
        return self.stream.getvalue().splitlines()

    def test_parts_are_printed_in_their_order(self):
        self.assertTrue(self.check.run(self.part("slow", "sleep 0.3"), self.part("quick", "true"),
                                       self.part("cases", "echo ok 1 - a; echo ok 2 - b", count=count_lines)))
        self.assertEqual([line.split()[:3] for line in self.lines()],
                         [["slow", "ok", "1"], ["quick", "ok", "1"], ["cases", "ok", "2"]])
        self.assertEqual(self.check.finish(), 0)
        self.assertEqual(self.lines()[-1], "check: 4 passed, 0 failed, 0 skipped")

    def test_failures(self):
        self.assertFalse(self.check.run(self.part("exit", "echo error: it broke; exit 3"),
                                        self.part("crash", "kill -SEGV $$")))
        self.assertFalse(self.check.run(Part("missing", ["/no/such/program"], self.folder / "missing.log")))
        self.assertEqual(self.check.totals, [0, 3, 0])
        self.assertIn("    error: it broke", self.lines())
        self.assertIn("    full log: %s" % (self.folder / "logs/exit.log"), self.lines())
        self.assertEqual(self.check.finish(), 1)

    def test_a_part_that_hangs_is_killed_with_its_children(self):
        started = time.monotonic()
        self.assertFalse(self.check.run(self.part("hangs", "echo ok 1 - a; sleep 60 & sleep 60", count=count_lines,
                                                  limit=0.3)))
        self.assertLess(time.monotonic() - started, 30)
        self.assertEqual(self.check.totals, [1, 1, 0])

    def test_results_of_an_earlier_run_do_not_count(self):
        (self.folder / "testlog.json").write_text('{"name": "a", "result": "OK"}\n')
        self.assertFalse(self.check.run(self.part("tests", "true", count=count_meson,
                                                  results=(self.folder, "testlog*.json"))))
        self.assertEqual(self.check.totals, [0, 1, 0])

    def test_skips(self):
        self.check.skip("TSan", "it cannot start here")
        self.assertEqual(self.lines(), ["TSan                   skipped      0 passed, 1 skipped  (0 s)",
                                        "    it cannot start here"])
        self.assertEqual(self.check.finish(), 0)


class Reporting(unittest.TestCase):
    def test_forms(self):
        def line(*counts):
            return lines_of(Outcome("unit tests", Counts(*counts), 12.7))[0]

        self.assertEqual(line(339, 0, 0), "unit tests             ok         339 passed  (12 s)")
        self.assertEqual(line(339, 0, 2), "unit tests             ok         339 passed, 2 skipped  (12 s)")
        self.assertEqual(line(3, 1, 0), "unit tests             FAILED       3 passed, 1 failed  (12 s)")


class Probe(unittest.TestCase):
    def test_reasons(self):
        self.assertIsNone(why_not("-O0"))
        self.assertIn("no-such", why_not("-fno-such-option"))
        self.assertIn("ended with 1", why_not("-O0", ["false"]))
        self.assertIn("no-such-wrapper", why_not("-O0", ["no-such-wrapper"]))


if __name__ == "__main__":
    unittest.main()
