"""Tests the helper of the command line's tests: what must fail does, and a function that raises does not hide."""
import io
import os
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))
from harness import Report, Result, run_function  # noqa: E402

SOURCE = Path(__file__).resolve().parent.parent.parent


class Harness(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.program = Path(temporary.name) / "sbeam"

    def outcomes(self, script, function):
        """Runs a test function with a program that is this script of sh; returns which of its cases passed."""
        self.program.write_text("#!/bin/sh\n" + script)
        os.chmod(self.program, 0o755)
        self.tester = run_function(function, self.program, SOURCE)
        return [ok for ok, _, _ in self.tester.cases]

    def test_exit_codes(self):
        def function(t):
            t.run().exits(0, "success")
            t.run().exits(1, "failure")

        self.assertEqual(self.outcomes("exit 0", function), [True, False])
        self.assertEqual(self.outcomes("echo sbeam: why >&2; exit 1", function), [False, True])
        self.assertEqual(self.outcomes("exit 1", function), [False, False])  # a failure must say something
        self.assertEqual(self.outcomes("echo sbeam: why >&2", function), [False, False])  # success must not
        self.assertEqual(self.outcomes("kill -SEGV $$", function), [False, False])

    def test_patterns_are_of_one_line(self):
        def function(t):
            t.run().prints("^b$", "there").prints("a.*b", "in two lines").says("a", "not there").has_lines(2, "two")

        self.assertEqual(self.outcomes("echo a; echo b", function), [True, False, False, True])

    def test_usage(self):
        def function(t):
            t.usage("wrong")

        good = "echo sbeam: why >&2; echo \"try 'sbeam --help'\" >&2; exit 2"
        self.assertEqual(self.outcomes(good, function), [True])
        self.assertEqual(self.outcomes("echo out; " + good, function), [False])
        self.assertEqual(self.outcomes(good.replace("exit 2", "exit 1"), function), [False])

    def test_an_exception_is_a_failed_case(self):
        def function(t):
            t.run().exits(0, "before")
            t.run().records[5]

        self.assertEqual(self.outcomes("exit 0", function), [True, False])

    def test_a_command_that_hangs_is_a_failed_case(self):
        self.assertEqual(self.outcomes("exec sleep 60", lambda t: t.run(timeout=0.2).exits(0, "never")), [False])

    def test_bytes_and_environment(self):
        def function(t):
            t.same(t.run(b"\377", stdin=b"\376").out, "\udcff\udcfe", "bytes go through")
            t.same(t.run("$", env={"X": "y"}).out, "$y", "environment")

        self.assertEqual(self.outcomes('printf %s "$1$X"; cat', function), [True, True])

    def test_terminal(self):
        def function(t):
            r = t.run_on_terminal("x", typed="hello\n", answer="got hello")
            if r is not None:
                r.prints("got hello", "answered while it runs")

        self.assertIn(self.outcomes('read line; echo "got $line"; cat', function), ([True], []))

    def test_report(self):
        def function(t):
            t.check(True, "good")
            t.check(False, "bad\033", Result(t, 1, "out", "err"))
            t.skip("no terminal")

        self.outcomes("exit 0", function)
        stream = io.StringIO()
        report = Report(stream)
        self.assertEqual(report.finish(), 1)  # no case at all is a failure
        report.add(self.tester)
        self.assertEqual(report.finish(), 1)
        self.assertEqual(stream.getvalue().splitlines()[2:], [
            "ok 1 - good", "not ok 2 - bad?", "#   exit 1", "#   out", "#   err", "# skipped: no terminal", "1..2",
            "1 passed, 1 failed"])


if __name__ == "__main__":
    unittest.main()
