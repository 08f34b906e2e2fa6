"""Tests the limit of log-probabilities: float64 rows of a host that leave the noise just enough
room, and the refusals beyond the limit. tests/test_range.c has the same model and more tests."""
import collections
import math
import unittest

import numpy as np

from support import FALSE_ALARM, MODELS, chi_square_p, plackett_luce
from toys import run

import sbeam

INSIDE, OUTSIDE = 1e-9 * (1 + 1e-8), 1e-9 * (1 - 1e-7)
NEVER = -math.inf

# The row of a prefix depends on its last token; the first row is the root's. Sequence (0, 0) has
# nearly all of the probability. Nine others have a log-probability near -1 / T.
SCORES = np.array([[0, -1, -1 - 0.3e-9, -1 + 0.5e-9], [0, NEVER, NEVER, NEVER],
                   [0, -0.7e-9, 0.4e-9, -1], [1e-9, 0, 0, -1], [-0.2e-9, 0.3e-9, -1.1e-9, -1]])


def step_of(scores):
    return lambda parents, tokens, inputs: scores[tokens + 1]


def exact_law(scores, temperature):
    """Returns the shares of the nine far sequences, computed in long double."""
    rows = scores.astype(np.longdouble)
    rows = (rows - rows.max(axis=1, keepdims=True)) / np.longdouble(temperature)
    rows -= np.log(np.exp(rows).sum(axis=1, keepdims=True))
    far = {(a, b): rows[0, a] + rows[a + 1, b] for a in (1, 2, 3) for b in (0, 1, 2)}
    top = max(far.values())
    total = sum(np.exp(x - top) for x in far.values())
    return {tokens: float(np.exp(x - top) / total) for tokens, x in far.items()}


class Border(unittest.TestCase):
    def test_law_just_inside(self):
        """The second and third sequence of 40,960 draws, as test_law.py tests them."""
        counts = collections.Counter()
        for call in range(10):
            decoder = sbeam.Decoder(4, 3, max_len=2, seed=50 + call, inputs=4096,
                                    temperature=INSIDE)
            for draw in run(decoder, step_of(SCORES)):
                self.assertEqual(draw[0].tokens, (0, 0))
                counts[tuple(s.tokens for s in draw[1:])] += 1
        p = chi_square_p(counts, plackett_luce(exact_law(SCORES, INSIDE), 2))
        self.assertGreater(p, FALSE_ALARM)

    def test_refused_just_outside(self):
        for temperature in (OUTSIDE, 1e-17, 1e-100):
            for method in sbeam.METHODS:
                keywords = dict(max_len=2, seed=1, method=method, temperature=temperature)
                if method == "reject":
                    keywords["max_samples"] = 100
                decoder = sbeam.Decoder(4, 3, **keywords)
                if method not in ("sbs", "explicit", "resample", "beam-sample"):
                    run(decoder, step_of(SCORES))
                    continue
                with self.assertRaisesRegex(sbeam.LimitError, "^sequence 2 has the log-probability "
                                            "-.* after 2 steps at temperature .*method beam"):
                    run(decoder, step_of(SCORES))
                self.assertTrue(decoder.done)
                with self.assertRaises(sbeam.LimitError):
                    decoder.result()

    def test_one_sequence_needs_no_room(self):
        decoder = sbeam.Decoder(4, 1, max_len=2, seed=1, temperature=1e-17)
        [draw] = run(decoder, step_of(SCORES))
        self.assertEqual((draw[0].tokens, draw[0].log_weight, draw.log_p_draw), ((0, 0), 0, 0))
        self.assertAlmostEqual(draw.kappa / -1e17, 1, places=8)
        found = sbeam.estimate(draw, [2.5], "sbs")
        self.assertEqual((found.value, found.weight_sum), (2.5, 1))

    def test_masks(self):
        """Rows that mask tokens by a huge negative number give the same draws as rows with -inf."""
        draws = []
        for mask in (NEVER, -1e10, -1e300, np.finfo(np.float64).min):
            rows = np.array([[0.3, mask, mask, 0.1], [1, 2, mask, 1.5], [0] * 4, [0] * 4,
                             [0.4, 0.7, 1, 0.2]])
            decoder = sbeam.Decoder(4, 4, max_len=2, seed=3, temperature=0.5)
            [draw] = run(decoder, step_of(rows))
            draws.append([(s.tokens, s.g, s.log_p, s.log_weight) for s in draw] + [draw.kappa])
            with self.assertRaisesRegex(sbeam.LimitError, "sequence 8 .*the score -inf"):
                run(sbeam.Decoder(4, 8, max_len=2, seed=3), step_of(np.maximum(rows, -1e300)))
        self.assertEqual(draws, draws[:1] * 4)

    def test_smallest_double(self):
        rows = np.array([[0, -1e300, NEVER]] * 4)
        [draw] = run(sbeam.Decoder(3, 1, max_len=1, seed=1, temperature=1e-100), step_of(rows))
        self.assertEqual((draw.kappa, draw.exhausted), (-np.finfo(np.float64).max, False))
        with self.assertRaises(sbeam.LimitError):
            run(sbeam.Decoder(3, 2, max_len=1, seed=1, temperature=1e-100), step_of(rows))
        with self.assertRaisesRegex(sbeam.LimitError, "not a double"):
            run(sbeam.Decoder(3, 2, max_len=1, method="beam", temperature=1e-100), step_of(rows))

    def test_models(self):
        """The same for a model file, and for the function over a step function."""
        with self.assertRaisesRegex(sbeam.LimitError, "^input 0: sequence 2 has "):
            sbeam.draw(MODELS / "fig1.json", k=2, temperature=1e-17, seed=1)
        self.assertEqual(len(sbeam.draw(MODELS / "fig1.json", k=2, temperature=1e-17, seed=1,
                                        method="beam")[0]), 2)
        with self.assertRaises(sbeam.LimitError):
            sbeam.sample_without_replacement(lambda s, t: (SCORES[:len(t)], s), None, k=2,
                                             max_len=1, temperature=1e-17, seed=1)

    def test_flat_list(self):
        for value in (1.1e12, -1.1e12):
            with self.assertRaisesRegex(sbeam.ArgumentError, "-1e12 to 1e12.*no room"):
                sbeam.gumbel_topk([0.0, value], 1)

    def test_whole_bounds(self):
        for keywords, bound in ((dict(seed=10**23), "18446744073709551615"),
                                (dict(max_samples=10**23, method="reject"), "9007199254740992"),
                                (dict(draws=10**23), "9007199254740992")):
            with self.assertRaisesRegex(sbeam.ArgumentError, bound + "$"):
                sbeam.draw(MODELS / "fig1.json", **keywords)


if __name__ == "__main__":
    unittest.main()
