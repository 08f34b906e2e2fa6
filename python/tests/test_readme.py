"""Runs the code of README.md in order, from the top of the source tree. A text block after a block
of code must be what it prints."""
import unittest

from support import HERE, need, read_blocks, run_blocks

PAGE = HERE.parent / "README.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = read_blocks(PAGE)


class Readme(unittest.TestCase):
    def run_blocks(self, with_torch):
        run_blocks(self, PAGE, [(code, expected) for code, expected in BLOCKS
                                if with_torch or not ("torch" in code or "decoder" in code)])

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
