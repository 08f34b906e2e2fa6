"""Draws from a PyTorch model follow the exact probabilities of ordered samples.

A network with three tokens and two steps has nine sequences and 72 ordered pairs. A chi-square test
compares the counts of pairs with the Plackett-Luce distribution. The seed is fixed, and the test
would reject a correct sampler with probability 1e-6. With 40,960 draws it finds a relative error of
4.2 % in the probability of every pair, up or down, in half of all cases: this error adds
40960 * 0.042^2 = 72 to the mean of 71, which gives 143, the quantile. The samplers that are broken
on purpose have much larger errors."""
import collections
import unittest

import numpy as np

from support import FALSE_ALARM, chi_square_p, gamma_tail, need, plackett_luce
from toys import enumerate_law, make_network

import sbeam

K, PER_CALL, CALLS = 2, 4096, 10


class Law(unittest.TestCase):
    def setUp(self):
        self.torch = need("torch")
        self.step, self.state, self.vocab_size = make_network(self.torch)
        self.set_up(2)

    def set_up(self, length):
        self.length = length
        self.law = enumerate_law(self.torch, self.step, self.state, self.vocab_size,
                                 self.vocab_size, length)
        self.assertAlmostEqual(sum(self.law.values()), 1, places=12)

    def count(self, method="sbs", dtype=None, step=None):
        """Returns how often each ordered pair was drawn."""
        dtype = dtype or self.torch.float64

        def cast(states, tokens):
            logits, states = (step or self.step)(states, tokens)
            return logits.to(dtype), states

        counts = collections.Counter()
        for call in range(CALLS):
            draws = sbeam.sample_without_replacement(
                cast, self.state.repeat(PER_CALL, 1), k=K, max_len=self.length, seed=20 + call,
                method=method, inputs=PER_CALL, start_token=self.vocab_size)
            counts.update(tuple(s.tokens for s in draw) for draw in draws)
        return counts

    def p_value(self, counts):
        return chi_square_p(counts, plackett_luce(self.law, K))

    def test_exact(self):
        for dtype in (self.torch.float64, self.torch.float32):
            p = self.p_value(self.count(dtype=dtype))
            self.assertGreater(p, FALSE_ALARM)

    def test_fresh_noise_is_caught(self):
        """Fresh noise at each step is the shortcut that the paper warns of."""
        self.assertLess(self.p_value(self.count(method="resample")), FALSE_ALARM)

    def test_states_that_stay_are_caught(self):
        """The host does not reorder its states by parent."""
        kept = None

        def stubborn(states, tokens):
            nonlocal kept
            if (tokens == self.vocab_size).all():  # the start
                kept = states
            logits, kept = self.step(kept[self.torch.arange(len(tokens)) % len(kept)], tokens)
            return logits, kept

        self.set_up(3)  # up to the second step all rows of an input have one state
        self.assertGreater(self.p_value(self.count()), FALSE_ALARM)
        self.assertLess(self.p_value(self.count(step=stubborn)), FALSE_ALARM)

    def test_importance_weights(self):
        """The mean of sum w f over many draws is E[f]. A correct sampler differs by more than 5
        standard errors once in 1.7 million cases."""
        draws = sbeam.sample_without_replacement(
            self.step, self.state.repeat(PER_CALL, 1), k=3, max_len=self.length, seed=7,
            inputs=PER_CALL, start_token=self.vocab_size)
        f = {tokens: (i % 4) + 0.5 for i, tokens in enumerate(self.law)}
        exact = sum(p * f[tokens] for tokens, p in self.law.items())
        values = np.array([sbeam.estimate(d, lambda s: f[s.tokens], "sbs").value for d in draws])
        error = values.std(ddof=1) / np.sqrt(len(values))
        self.assertLess(abs(values.mean() - exact), 5 * error)


class Statistics(unittest.TestCase):
    """Tests the statistics that the tests use."""

    def test_gamma_tail(self):
        for a, x, expected in ((0.5, 0.5, 0.31731050786291415), (1, 3, np.exp(-3)),
                               (2.5, 1.0, 0.8491450360846096), (10, 20, 0.0049954123083075785),
                               (35.5, 60, 0.000251238468516289)):
            self.assertAlmostEqual(gamma_tail(a, x), expected, delta=1e-12)
        self.assertEqual(gamma_tail(2, 0), 1)

    def test_plackett_luce(self):
        law = plackett_luce({"a": 0.6, "b": 0.3, "c": 0.1}, 2)
        self.assertAlmostEqual(law["b", "a"], 0.3 * 0.6 / 0.7)
        self.assertAlmostEqual(sum(law.values()), 1)

    def test_chi_square(self):
        self.assertEqual(chi_square_p({"x": 1}, {"a": 1.0}), 0)
        fair = {"a": 0.5, "b": 0.5}
        self.assertAlmostEqual(chi_square_p({"a": 60, "b": 40}, fair), 0.04550026389635842)


if __name__ == "__main__":
    unittest.main()
