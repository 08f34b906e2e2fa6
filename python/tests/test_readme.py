"""The code of README.md runs, in its order, from the top of the source tree."""
import contextlib
import io
import os
import re
import unittest

from support import HERE, ROOT, need


class Readme(unittest.TestCase):
    def test_blocks(self):
        text = (HERE.parent / "README.md").read_text(encoding="utf-8")
        blocks = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
        self.assertGreaterEqual(len(blocks), 4)
        names = {}
        before = os.getcwd()
        os.chdir(ROOT)
        try:
            for block in blocks:
                if "import torch" in block:
                    need("torch")
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(compile(block, "README.md", "exec"), names)
        finally:
            os.chdir(before)

    def test_install_lines(self):
        """They are those that test_install.py runs."""
        text = (HERE.parent / "README.md").read_text(encoding="utf-8")
        for line in ("scripts/build", "python3 -m venv --system-site-packages",
                     "pip install --no-build-isolation ./python"):
            self.assertIn(line, text)


if __name__ == "__main__":
    unittest.main()
