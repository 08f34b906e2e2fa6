"""Runs the programs of python/examples, without a warning, and checks the numbers they print."""
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support import HERE, ROOT, environment, need

import sbeam

EXAMPLES = HERE.parent / "examples"


def run(name, *arguments, fails=False, warnings="error", **variables):
    """Returns what a program prints, or its error message if it should fail."""
    done = subprocess.run([sys.executable, "-W", warnings, str(EXAMPLES / name),
                           *map(str, arguments)], cwd=str(ROOT),
                          env=dict(environment(), PYTHONDONTWRITEBYTECODE="1", **variables),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if fails != (done.returncode != 0):
        raise AssertionError("%s: exit %d\n%s" % (name, done.returncode, done.stderr))
    return done.stderr if fails else done.stdout


class Examples(unittest.TestCase):
    def test_all_are_tested_and_told(self):
        names = {path.name for path in EXAMPLES.glob("*.py")}
        told = (EXAMPLES / "README.md").read_text(encoding="utf-8")
        source = Path(__file__).read_text(encoding="utf-8")
        for name in names:
            self.assertIn(name, told)
            self.assertIn('run("%s"' % name, source)
            text = (EXAMPLES / name).read_text(encoding="utf-8")
            self.assertIn("python/examples/" + name, text)

    def test_gru(self):
        need("torch")
        text = run("01_gru.py", "--quick")
        different = [int(n) for n in re.findall(r"(\d+) different ones", text)]
        self.assertEqual([n == 50 for n in different], [False, True] * 2)  # for two temperatures
        means = [(float(mean), float(se))
                 for mean, se in re.findall(r"^    \d+ \w.* ([\d.]+) \+- ([\d.]+)$", text, re.M)]
        self.assertEqual(len(means), 6)
        for group in (means[:3], means[3:]):  # 50, 50 without replacement, very many
            truth, se = group[2]
            for mean, own in group[:2]:
                self.assertLess(abs(mean - truth), 6 * (own + se))
        self.assertLess(means[4][1], means[3][1])  # at the lower temperature repetitions cost

    def test_policy_gradient(self):
        text = run("02_policy_gradient.py", "--quick")
        rows = re.findall(r"^((?:REINFORCE|SBS)[a-z ]*?) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+)$",
                          text, re.M)
        self.assertEqual(len(rows), 3 * 7)
        tables = [{name: tuple(map(float, numbers)) for name, *numbers in rows[i:i + 7]}
                  for i in (0, 7, 14)]
        for table in tables:
            for name, (bias, chance, variance, ratio) in table.items():
                if "normalised" not in name:
                    # Without a bias the square of this number is a sum of 20 squares with the mean
                    # chance^2. In the worst case one square is the whole sum: then 5 * chance is 5
                    # standard deviations, exceeded once in 10^6.
                    self.assertLess(bias, 5 * chance, name)
        flat, _, peaked = tables
        self.assertGreater(flat["SBS normalised less their mean"][0], 0.07)  # a shrunken gradient
        self.assertTrue(0.7 < flat["SBS normalised less the others"][3] < 1.3)  # no gain
        self.assertGreater(peaked["SBS normalised less the others"][3], 6)
        reached = re.findall(r"^(?:REINFORCE|SBS).*?( +[\d.]+ \+- [\d.]+){3}$", text, re.M)
        self.assertEqual(len(reached), 7)

    def test_walkthrough(self):
        need("matplotlib")
        try:
            sbeam.Model().close()
        except sbeam.FormatError as error:
            self.skipTest("this build has no neural models: %s" % error)
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "new" / "pictures"
            # Warnings inside matplotlib's own modules do not concern the program.
            text = run("03_walkthrough.py", "--quick", "--out", out, MPLCONFIGDIR=folder,
                       warnings="error:::__main__")
            pictures = sorted(path.name for path in out.iterdir())
            self.assertEqual(pictures, ["1_repeats.png", "2_law.png", "3_prefix.png",
                                        "4_errors.png", "5_temperatures.png"])
            for picture in pictures:
                self.assertEqual((out / picture).read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
            self.assertIn("pictures: %s" % out, text)
        self.assertIn("every draw begins with the smaller one: True", text)
        differences = re.findall(r"differ by ([\d.]+) at most; chance allows about ([\d.]+)", text)
        self.assertEqual(len(differences), 2)
        for found, allowed in differences:
            self.assertLess(float(found), 2 * float(allowed))
        for mc, sbs in re.findall(r"an error of ([\d.]+) days .* ([\d.]+) without", text):
            self.assertLess(float(sbs), float(mc))

    def test_gguf(self):
        path = os.environ.get("SBEAM_GGUF")
        if not path:
            self.skipTest("SBEAM_GGUF does not name a model")
        try:
            sbeam.Model(path).close()
        except sbeam.Error as error:
            self.assertIn("without llama.cpp", str(error))
            self.assertRegex(str(error), "scripts/setup --with llama|SBEAM_LLAMA")
            self.assertIn(str(error), run("04_gguf.py", path, fails=True))
            self.skipTest("this build has no llama.cpp; its error message was checked")
        text = run("04_gguf.py")
        self.assertIn("16 different continuations of 16", text)
        [(p, se)] = re.findall(r"P\(.*\) = ([\d.]+) \+- ([\d.]+)", text)
        [(mean, scatter)] = re.findall(r"without replacement: +mean ([\d.]+) .* ([\d.]+)$", text,
                                       re.M)
        self.assertLess(abs(float(p) - float(mean)), 6 * float(scatter))

    def test_until(self):
        text = run("05_until.py", "--quick")
        rows = re.findall(r"bias ([-+\d.]+) \+- ([\d.]+), .* in ([\d.]+) %", text)
        (wrong, _, low), (right, chance, high) = [map(float, row) for row in rows]
        self.assertLess(wrong, right)
        self.assertLess(abs(right), 5 * chance)
        self.assertLess(low, high)

    def test_recommend(self):
        text = run("06_recommend.py")
        self.assertIn("with the list:    100 sequences, 100 different, 0 invalid", text)
        [invalid] = re.findall(r"without the list: 100 sequences, 100 different, (\d+) invalid", text)
        self.assertGreater(int(invalid), 90)  # 96 % of all ids are not items
        [(share, se, truth)] = re.findall(r"books: ([\d.]+) \+- ([\d.]+) from 100 items; ([\d.]+) "
                                          "from all 10000", text)
        self.assertLess(abs(float(share) - float(truth)), 5 * float(se))

    def test_tours(self):
        text = run("07_tours.py")
        counts = re.findall(r"(\d+) tours, (\d+) different; of (\d+) samples (\d+) are", text)
        self.assertEqual(len(counts), 2)
        for found, different, samples, different_samples in (map(int, row) for row in counts):
            self.assertEqual((found, different, samples), (100, 100, 100))
            self.assertLess(different_samples, 100)
        best = [float(x) for x in re.findall(r"best length ([\d.]+)", text)]
        self.assertEqual(len(best), 8)
        for rounds in (best[:4], best[4:]):
            self.assertEqual(rounds, sorted(rounds, reverse=True))
        for numbers in re.findall(r"policy ([\d.]+) \+- ([\d.]+); .* ([\d.]+) \+- ([\d.]+)", text):
            mean, se, sampled, sampled_se = map(float, numbers)
            self.assertLess(abs(mean - sampled), 6 * (se + sampled_se))

    def test_gguf_refusals(self):
        self.assertIn("not a model file", run("04_gguf.py", "README.md", fails=True))
        self.assertIn("set SBEAM_GGUF", run("04_gguf.py", fails=True, SBEAM_GGUF=""))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "empty.gguf"
            path.write_bytes(b"GGUF\3\0\0\0")  # refused by llama.cpp, or by a build without it
            self.assertIn("04_gguf: %s: " % path, run("04_gguf.py", path, fails=True))


if __name__ == "__main__":
    unittest.main()
