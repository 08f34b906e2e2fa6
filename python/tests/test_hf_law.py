"""Draws from models of Transformers follow the exact probabilities of ordered samples.

A GPT-2 and a T5 with 5 tokens and at most 4 steps are enumerated by passes without a cache. A
chi-square test compares the counts of ordered pairs in 40,000 draws with the Plackett-Luce law. It
would reject a correct sampler with probability 1e-6."""
import collections
import unittest

import numpy as np

from support import FALSE_ALARM, chi_square_p, need, plackett_luce

torch = need("torch")
need("transformers")
import sbeam.hf  # noqa: E402
from hf_models import enumerate_sequences, make_model  # noqa: E402
from transformers.cache_utils import DynamicLayer  # noqa: E402

DRAWS, K, LENGTH = 40000, 2, 4
PROMPT = [3, 4, 2]
SCALE = {"GPT-2": 1.6, "T5": 8}  # of the output weights: makes the distributions peaked


class Law(unittest.TestCase):
    def model(self, name, **settings):
        return make_model(name, seed=5, scale=SCALE[name], vocab_size=5, **settings)

    def draw(self, model, length=LENGTH, **settings):
        return sbeam.hf.generate(model, torch.tensor([PROMPT]), k=K, max_new_tokens=length,
                                 seed=31, draws=DRAWS, **settings)

    def p_value(self, draws, law):
        self.assertAlmostEqual(sum(law.values()), 1, places=9)
        self.assertEqual(len(draws), DRAWS)
        pairs = plackett_luce(law, K)
        # Rare pairs share a cell. Most of the mass has cells of its own, or the test sees nothing.
        self.assertGreater(sum(p for p in pairs.values() if p * DRAWS >= 10), 0.7)
        counts = collections.Counter(tuple((s.tokens, s.end) for s in draw) for draw in draws)
        return chi_square_p(counts, pairs)

    def check_weights(self, draws):
        """The mean of the sum of weights is 1. A correct sampler differs by more than 5 standard
        errors once in 1.7 million cases."""
        sums = np.array([np.exp([s.log_weight for s in draw]).sum() for draw in draws])
        self.assertLess(abs(sums.mean() - 1), 5 * sums.std(ddof=1) / len(sums) ** 0.5)

    def test_law(self):
        for name in "GPT-2", "T5":
            with self.subTest(name):
                model = self.model(name)
                law = enumerate_sequences(model, PROMPT, LENGTH)
                self.assertGreater(len(law), 300)
                draws = self.draw(model)
                self.assertGreater(self.p_value(draws, law), FALSE_ALARM)
                self.check_weights(draws)
                for draw in draws[:100]:
                    for s in draw:
                        self.assertAlmostEqual(s.log_p, np.log(law[s.tokens, s.end]), places=4)

    def test_two_ends(self):
        """Two end tokens are one leaf, and their probabilities are added before the temperature:
        added after it, the law is another one."""
        model = self.model("GPT-2")
        draws = self.draw(model, eos_token_id=[1, 4], temperature=0.5)
        self.assertEqual(draws[0].settings["end_tokens"], [1, 4])
        law = enumerate_sequences(model, PROMPT, LENGTH, 0.5, ends=(1, 4))
        self.assertGreater(self.p_value(draws, law), FALSE_ALARM)
        self.check_weights(draws)
        other = collections.Counter()  # the end tokens are added after the temperature
        for (tokens, end), p in enumerate_sequences(model, PROMPT, LENGTH, 0.5, ends=(1,)).items():
            cut = next((i for i, token in enumerate(tokens) if token == 4), None)
            other[(tokens, end) if cut is None else (tokens[:cut], "eos")] += p
        self.assertLess(self.p_value(draws, dict(other)), FALSE_ALARM)

    def test_allow(self):
        allow = [(2, 3), (2,), (4, 4, 0), (0,), (3, 2, 2), (2, 3, 4), (0, 0, 0)]
        model = self.model("T5")
        draws = self.draw(model, allow=[list(a) for a in allow])
        law = enumerate_sequences(model, PROMPT, LENGTH, allow=allow)
        self.assertEqual({tokens for tokens, _ in law}, set(allow))
        self.assertGreater(self.p_value(draws, law), FALSE_ALARM)
        self.check_weights(draws)

    def test_rows_that_stay_are_caught(self):
        """The number of rows is right, but the cache is not reordered by parent."""
        model = self.model("GPT-2")
        law = enumerate_sequences(model, PROMPT, LENGTH)
        reorder = DynamicLayer.reorder_cache

        def stay(layer, index):
            n = layer.keys.shape[0]
            reorder(layer, torch.arange(len(index)) * n // len(index))

        DynamicLayer.reorder_cache = stay
        try:
            self.assertLess(self.p_value(self.draw(model), law), FALSE_ALARM)
        finally:
            DynamicLayer.reorder_cache = reorder


if __name__ == "__main__":
    unittest.main()
