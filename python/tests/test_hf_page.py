"""Runs the code of doc/transformers.md in order, from the top of the source tree, and then that of
the recipe and of the README, which use the same model. A text block after a block of code must be what it prints."""
import unittest

from support import ROOT, need, read_blocks, run_blocks

need("torch")
need("transformers")
import hf_models  # noqa: E402, F401: sets the number of threads

PAGE = ROOT / "doc" / "transformers.md"
RECIPE = ROOT / "python" / "hub_recipe" / "README.md"


class Page(unittest.TestCase):
    def test_blocks(self):
        blocks = read_blocks(PAGE)
        self.assertGreaterEqual(len(blocks), 8)
        self.assertGreaterEqual(sum(bool(expected) for _, expected in blocks), 6)
        recipe = read_blocks(RECIPE)
        self.assertEqual(len(recipe), 1)
        readme = [block for block in read_blocks(ROOT / "README.md") if "sbeam.hf" in block[0]]
        self.assertEqual(len(readme), 1)
        run_blocks(self, PAGE, blocks + recipe + readme)


if __name__ == "__main__":
    unittest.main()
