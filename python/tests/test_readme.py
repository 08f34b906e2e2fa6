"""Runs the code of README.md in order, from the top of the source tree. A text block after a block
of code must be what it prints."""
import contextlib
import io
import os
import re
import unittest

from support import HERE, ROOT, need

TEXT = (HERE.parent / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", TEXT, re.M | re.S)


class Readme(unittest.TestCase):
    def run_blocks(self, with_torch):
        names = {}
        before = os.getcwd()
        os.chdir(ROOT)
        try:
            for code, expected in BLOCKS:
                if not with_torch and ("torch" in code or "decoder" in code):
                    continue
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed):
                    exec(compile(code, "README.md", "exec"), names)
                if expected:
                    self.assertEqual(printed.getvalue(), expected, code)
        finally:
            os.chdir(before)

    def test_blocks(self):
        self.assertGreaterEqual(len(BLOCKS), 10)
        self.assertGreaterEqual(sum(bool(expected) for _, expected in BLOCKS), 6)
        self.run_blocks(with_torch=False)

    def test_blocks_of_pytorch(self):
        need("torch")
        self.assertGreaterEqual(sum("torch" in code for code, _ in BLOCKS), 4)
        self.run_blocks(with_torch=True)


if __name__ == "__main__":
    unittest.main()
