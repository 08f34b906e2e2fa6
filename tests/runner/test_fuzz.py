"""Tests what scripts/fuzz counts and prints, and that a harness with a bug becomes a small finding."""
import contextlib
import io
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import fuzz

LOG = """INFO: Seed: 7
#2\tINITED cov: 5 ft: 5 corp: 1/1b exec/s: 0 rss: 30Mb
#4096\tpulse  cov: 6 ft: 7 corp: 2/3b lim: 43 exec/s: 2048 rss: 31Mb
"""
STATISTICS = "stat::number_of_executed_units: 5120\nstat::average_exec_per_sec:     2560\n"
ARTIFACT = "artifact_prefix='/x/a-'; Test unit written to /x/findings/a-crash-0123\nBase64: YQ==\n"

# A harness that stops at inputs that begin with "bug", and one without a bug.
HARNESS = """#include <stdint.h>
#include <stdlib.h>
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 3 && data[0] == 'b' && data[1] == 'u' && data[2] == 'g')
        %s;
    return 0;
}
"""


class Logs(unittest.TestCase):
    def test_executions(self):
        self.assertEqual(fuzz.count_executions(LOG + STATISTICS), 5120)
        self.assertEqual(fuzz.count_executions(LOG), 4096)  # killed before the statistics
        self.assertEqual(fuzz.count_executions("cannot execute"), 0)

    def test_artifact(self):
        self.assertEqual(fuzz.find_artifact(LOG + ARTIFACT), "/x/findings/a-crash-0123")
        self.assertIsNone(fuzz.find_artifact(LOG))

    def test_table(self):
        lines = fuzz.table([fuzz.Row("arpa", 3000, 2.0, 4, 0), fuzz.Row("shuf", 1000000, 8.0, 1, 1)])
        self.assertEqual([line.split() for line in lines[1:]],
                         [["arpa", "3,000", "2", "1500", "4", "0"], ["shuf", "1,000,000", "8", "125000", "1", "1"],
                          ["all", "1,003,000", "10", "100300", "5", "1"]])
        self.assertEqual(fuzz.table([])[-1].split()[:3], ["all", "0", "0"])


class Arguments(unittest.TestCase):
    def refuses(self, *arguments):
        with contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit) as caught:
            fuzz.parse(["--folder", "x", *arguments])
        self.assertEqual(caught.exception.code, 2)

    def test_arguments(self):
        parsed = fuzz.parse(["--folder", "x", "--minutes", "0.5", "--harness", "arpa", "--harness", "shuf"])
        self.assertEqual((parsed.minutes, parsed.harness, parsed.jobs, parsed.seed), (0.5, ["arpa", "shuf"], 1, None))
        for wrong in (["--minutes", "0"], ["--minutes", "nan"], ["--jobs", "0"], ["--seed", "0"], ["arpa"]):
            self.refuses(*wrong)

    def test_harnesses(self):
        self.assertEqual(fuzz.choose([], ["a", "b"]), ["a", "b"])
        self.assertEqual(fuzz.choose(["b"], ["a", "b"]), ["b"])
        with self.assertRaisesRegex(SystemExit, "no harness c here; expected one of: a, b"):
            fuzz.choose(["c"], ["a", "b"])


class Harnesses(unittest.TestCase):
    """With libFuzzer itself."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder, self.said = Path(folder.name), []

    def fuzz(self, name, effect, seconds):
        source = self.folder / (name + ".c")
        source.write_text(HARNESS % effect)
        subprocess.run(["clang", "-fsanitize=fuzzer", source, "-o", self.folder / ("fuzz_" + name)], check=True)
        (self.folder / "corpus" / name).mkdir(parents=True)
        fuzzing = fuzz.Fuzzing(self.folder / "cache", 1, seconds, {}, lambda *lines: self.said.extend(lines))
        with mock.patch.object(fuzz, "PROGRAMS", self.folder), mock.patch.object(fuzz, "SEEDS", self.folder / "corpus"):
            return fuzzing.run(name)

    def test_a_bug_is_found_and_made_small(self):
        with mock.patch.object(fuzz, "MINIMISE_SECONDS", 5):
            row = self.fuzz("broken", "abort()", 60)
        self.assertEqual(row.findings, 1)
        self.assertGreater(row.executions, 0)
        program, path = self.said[-1].split()
        self.assertEqual(len(Path(path).read_bytes()), 4)
        self.assertTrue(Path(path).read_bytes().startswith(b"bug"))
        again = subprocess.run([program, path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        self.assertNotEqual(again.returncode, 0)  # the command that is printed repeats it

    def test_the_corpus_grows_and_is_kept(self):
        row = self.fuzz("whole", "return 0", 1)
        self.assertEqual(row.findings, 0)
        self.assertGreater(row.new, 0)
        corpus = list((self.folder / "cache/whole").iterdir())
        self.assertEqual(len(corpus), row.new)
        self.assertEqual(self.said, [])
        self.assertFalse((self.folder / "cache/whole.merged").exists())


if __name__ == "__main__":
    unittest.main()
