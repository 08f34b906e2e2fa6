"""GGUF models: the draws of the command, and its errors as exceptions.

The environment variable SBEAM_GGUF names the model stories260K.gguf. All tests are skipped without
it, and without llama.cpp, except those of how llama.cpp is found."""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support import run_command

import sbeam

PATH = os.environ.get("SBEAM_GGUF")
PROMPT = "Once upon a time"


class Gguf(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not PATH:
            raise unittest.SkipTest("SBEAM_GGUF does not name a model")
        try:
            cls.model = sbeam.Model(PATH)
        except sbeam.Error as error:
            if "without llama.cpp" not in str(error):
                raise
            raise unittest.SkipTest("this build has no llama.cpp")

    @classmethod
    def tearDownClass(cls):
        cls.model.close()

    def draw(self, inputs=PROMPT, **keywords):
        keywords = dict({"k": 16, "seed": 3, "max_len": 24}, **keywords)
        return sbeam.draw(self.model, inputs, **keywords)

    def command(self, *options, inputs=(PROMPT,)):
        return run_command("draw", "-m", PATH, "--seed=3", "-k16", "--max-len=24", "-f", "jsonl",
                           *options, *inputs)

    def test_info(self):
        self.assertEqual(self.model.info.kind, "gguf")
        self.assertTrue(self.model.info.needs_input)  # a prompt

    def test_as_the_command(self):
        """The same library with the same number of threads computes the same rows, bit for bit."""
        inputs = [PROMPT, "The dog"]
        found = [d.to_dict() for d in self.draw(inputs, temperature=[1, 0.5], draws=2)]
        self.assertEqual(found, self.command("-T1,0.5", "--draws=2", inputs=inputs))

    def test_special_tokens(self):
        """In a prompt </s> is text, unless special=True makes it the token that ends a text."""
        prompt = "The end.</s><s>Tom"
        settings = {"k": 16, "seed": 3, "max_len": 24}
        for special, words in ((False, ()), (True, ("--special",))):
            with sbeam.Model(PATH, special=special) as model:
                [opened] = sbeam.draw(model, prompt, **settings)
            [drawn] = sbeam.draw(PATH, prompt, special=special, **settings)
            self.assertEqual(drawn.to_dict(), opened.to_dict())
            self.assertEqual([drawn.to_dict()], self.command(*words, inputs=(prompt,)))
        [text] = self.draw(prompt)
        self.assertNotEqual(drawn[0].log_p, text[0].log_p)
        with self.assertRaisesRegex(sbeam.ArgumentError, "open Model"):
            self.draw(special=True)
        with self.assertRaisesRegex(sbeam.ArgumentError, "pretokenized"):
            sbeam.Model(PATH, pretokenized=True, special=True)

    def test_distinct(self):
        for temperature in (0.3, 1.0):
            [draw] = self.draw(temperature=temperature)
            self.assertEqual(len({s.tokens for s in draw}), 16)
            g = [s.g for s in draw]
            self.assertEqual(g, sorted(g, reverse=True))
            self.assertLess(draw.kappa, g[-1])
            for s in draw:
                self.assertEqual(self.model.decode(s.tokens), s.text)

    def test_scores(self):
        """log_p at temperature 1 is the score of the tokens. llama.cpp sums the rows of other
        batches in another order, in float32; the bound is the one in the tests of the library."""
        for s in self.draw()[0][:4]:
            again = self.model.score(PROMPT, s.tokens, max_len=24)
            self.assertAlmostEqual(again.log_p, s.log_p, delta=1e-4)

    def test_threads(self):
        [one] = self.draw()
        [two] = self.draw(threads=2)
        self.assertEqual([s.tokens for s in two], [s.tokens for s in one])
        for a, b in zip(one, two):
            self.assertAlmostEqual(a.g, b.g, delta=1e-4)
        self.assertEqual([two.to_dict()], self.command("--threads=2"))

    def test_stop(self):
        [draw] = self.draw(stop=[".", "named"])
        ends = {s.end for s in draw}
        self.assertIn("stop", ends)
        for s in draw:
            self.assertNotIn(".", s.text)
            self.assertNotIn("named", s.text)
            whole = self.model.decode(s.tokens)
            self.assertEqual(s.end == "stop", "." in whole or "named" in whole)
            self.assertTrue(whole.startswith(s.text))
        self.assertEqual([draw.to_dict()], self.command("--stop=.", "--stop=named"))

    def test_estimate(self):
        [draw] = self.draw(stop=".", temperature=0.7)
        found = sbeam.estimate(draw, lambda s: "girl" in s.text)
        self.assertTrue(0 <= found.value <= 1 and found.se > 0)

    def test_errors(self):
        with self.assertRaisesRegex(sbeam.InputError, "shorten the prompt"):
            self.draw("once upon a time " * 300)
        with self.assertRaises(ValueError):  # the same error by its built-in class
            self.draw("once upon a time " * 300)
        with self.assertRaisesRegex(sbeam.LimitError, "rows at once"):
            self.draw(k=self.model.info.max_rows + 1)
        self.assertEqual(len(self.draw(k=2)[0]), 2)  # the model still works


class Places(unittest.TestCase):
    """Where the package looks for llama.cpp."""

    def run_python(self, program, *folders, **variables):
        env = {name: value for name, value in os.environ.items()
               if not name.startswith("SBEAM_LLAMA")}
        path = [*map(str, folders), str(Path(sbeam.__file__).parent.parent)]
        env.update(variables, PYTHONPATH=os.pathsep.join(path))
        done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, universal_newlines=True, env=env,
                              check=False)
        return done.stdout.strip()

    def test_llama_cpp_python(self):
        """Its libraries are offered to libsbeam.so without importing it."""
        program = ("import os, sys, sbeam\n"
                   "sbeam._library.offer_llama()\n"
                   "print(os.environ.get('SBEAM_LLAMA_PACKAGE'), 'llama_cpp' in sys.modules)")
        with tempfile.TemporaryDirectory() as folder:
            package = Path(folder) / "llama_cpp"
            package.mkdir()
            (package / "__init__.py").write_text("raise SystemExit('was imported')\n")
            self.assertEqual(self.run_python(program, folder), "None False")
            (package / "lib").mkdir()
            (package / "lib" / "libllama.so").write_text("")
            self.assertEqual(self.run_python(program, folder), "%s False" % (package / "lib"))
            self.assertEqual(self.run_python(program, folder, SBEAM_LLAMA_PACKAGE="/mine"),
                             "/mine False")

    def test_absent(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "empty.gguf"
            path.write_bytes(b"GGUF\3\0\0\0")
            said = self.run_python("import sbeam; sbeam.Model(%r)" % str(path),
                                   SBEAM_LLAMA="/nonexistent")
        if "built without llama.cpp" in said:
            self.skipTest("this build has no llama.cpp")
        self.assertIn("IOFailure: %s: GGUF models cannot be opened without llama.cpp" % path, said)
        self.assertIn("names '/nonexistent', which has no libllama.so", said)


if __name__ == "__main__":
    unittest.main()
