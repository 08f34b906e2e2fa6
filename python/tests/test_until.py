"""A number of sequences that depends on the sample biases the weights; a number chosen by another
draw does not.

Both ways are measured with the same function and the same seeds, so a test of the right way would
notice the bias of the wrong one."""
import importlib.util
import json
import math
import os
import tempfile
import threading
import unittest

import numpy as np

from support import HERE, MODELS

import sbeam


def in_a_thread(work):
    """Returns the result of work(). In the main thread each search would start a thread."""
    found = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]


class Rules(unittest.TestCase):
    """until_mass and until_texts: a draw without weights, and the way out."""

    def test_mass(self):
        for seed in range(20):
            [whole] = sbeam.draw(MODELS / "weather.json", k=300, seed=seed)
            [draw] = sbeam.draw(MODELS / "weather.json", k=300, seed=seed, until_mass=0.4)
            total, n = 0.0, 0
            while total < 0.4:
                total += math.exp(whole[n].log_p)
                n += 1
            self.assertEqual(([s.tokens for s in draw], draw.stopped_by),
                             ([s.tokens for s in whole[:n]], "mass"))
            self.assertTrue(math.isnan(draw.kappa))
            [same] = sbeam.draw(MODELS / "weather.json", k=n, seed=seed)
            self.assertAlmostEqual(draw.log_p_draw, same.log_p_draw, places=10)
            self.assertTrue(all(math.isnan(s.log_weight) for s in draw))
            self.assertEqual([s.g for s in draw], [s.g for s in whole[:n]])

    def test_reasons(self):
        for keywords, reason, n in (({"until_texts": 7}, "texts", 7),
                                    ({"until_mass": 1, "k": 6}, "k", 6),
                                    ({"until_mass": None}, None, 300),
                                    ({"until_mass": 0.01}, "mass", 1)):
            [draw] = sbeam.draw(MODELS / "weather.json", **{"k": 300, "seed": 1, **keywords})
            self.assertEqual((draw.stopped_by, len(draw)), (reason, n))
        [draw] = sbeam.draw(MODELS / "fig1.json", k=50, seed=1, until_texts=30)
        self.assertEqual((draw.stopped_by, len(draw), draw.exhausted), ("exhausted", 8, True))

    def test_estimates_are_refused(self):
        [draw] = sbeam.draw(MODELS / "weather.json", k=300, seed=1, until_mass=0.3)
        for keywords in ({}, {"estimator": "sbs"}, {"kappa": -3.0}):
            with self.assertRaisesRegex(sbeam.ArgumentError, "ended by a rule .* would be biased"
                                        r".* estimate from another one: draw\(..., k=%d\)"
                                        % len(draw)):
                sbeam.estimate(draw, lambda s: 1, **keywords)

    def test_searches(self):
        [draw] = sbeam.draw(MODELS / "weather.json", k=20, seed=1)
        rows = {}
        for keywords in ({"search": "level"}, {"search": "best-first"}, {"parallel": 1},
                         {"parallel": 64}, {"search": "auto", "parallel": None}):
            [other] = sbeam.draw(MODELS / "weather.json", k=20, seed=1, **keywords)
            self.assertEqual((other.sequences, other.kappa), (draw.sequences, draw.kappa))
            rows[str(keywords)] = other.model_rows
        self.assertEqual(min(rows.values()), rows["{'parallel': 1}"])
        self.assertLess(rows["{'parallel': 1}"], rows["{'search': 'level'}"])
        for keywords, text in (({"search": "level", "parallel": 2}, "parallel is 2, but search"),
                               ({"search": "level", "until_mass": 0.5}, "needs search best-first"),
                               ({"search": "deepest"}, "search is 'deepest'"),
                               ({"parallel": 0}, "parallel is '0'"),
                               ({"until_mass": 0}, "until-mass is '0"),
                               ({"until_mass": 1.5}, "until-mass is '1.5'"),
                               ({"until_texts": 0}, "until-texts is '0'"),
                               ({"method": "beam", "until_mass": 0.5}, "no option until-mass"),
                               ({"method": "sample", "parallel": 2}, "no option parallel")):
            with self.subTest(**keywords), self.assertRaisesRegex(ValueError, text):
                sbeam.draw(MODELS / "weather.json", **keywords)


class Mass(unittest.TestCase):
    """Four sequences with the probabilities 0.5, 0.3, 0.15 and 0.05, drawn until they add up to
    0.75. The weighted estimate of the last probability has the mean 0.01785: numpy computed it from
    10^6 draws, with a standard error of 0.00006."""

    N = 6000
    P = {"a": 0.5, "b": 0.3, "c": 0.15, "d": 0.05}

    def estimate(self, model, seed):
        """Returns estimates of the last probability: from the cursor that stopped, with its
        threshold as kappa, and from another one."""
        def is_last(s):
            return s.text == "d"
        with sbeam.Cursor(model, seed=seed) as cursor:
            mass = 0.0
            while mass < 0.75:
                mass += math.exp(next(cursor).log_p)
            draw, threshold = cursor.draw(), cursor.threshold
        self.assertEqual(draw.kappa, threshold)
        with sbeam.Cursor(model, seed=seed, draw=1) as other:
            for _ in range(len(draw)):
                next(other)
            return [sbeam.estimate(d, is_last, "sbs").value for d in (draw, other.draw())]

    def test_bias(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "four.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"format": "sbeam-tree",
                           "tree": {name: [p, None] for name, p in self.P.items()}}, file)
            with sbeam.Model(path) as model:
                values = np.array(in_a_thread(
                    lambda: [self.estimate(model, seed) for seed in range(self.N)]))
        wrong, right = values.mean(axis=0)
        wrong_se, right_se = values.std(axis=0, ddof=1) / self.N ** 0.5
        # 5 standard errors: exceeded once in 10^6. They are about 0.0007 and 0.0022.
        self.assertLess(abs(wrong - 0.01785), 5 * wrong_se)
        self.assertLess(abs(right - 0.05), 5 * right_se)
        self.assertLess(max(wrong_se, right_se), 0.003)


class StandardError(unittest.TestCase):
    """The functions of examples/05_until.py: draw until the standard error is below a limit."""

    N = 250

    def test_bias_and_coverage(self):
        path = HERE.parent / "examples" / "05_until.py"
        spec = importlib.util.spec_from_file_location("until", path)
        until = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(until)
        f = until.has_four_days
        with sbeam.Model(until.MODEL) as model:
            [whole] = sbeam.draw(model, k=400, **until.SETTINGS)
            self.assertTrue(whole.exhausted)
            truth = math.fsum(math.exp(s.log_p) for s in whole if f(s))
            self.assertAlmostEqual(truth, 0.1024, places=12)
            runs = in_a_thread(lambda: [
                until.estimate_both_ways(model, f, until.LIMIT, seed=seed, **until.SETTINGS)
                for seed in range(self.N)])
        first, second, sizes = zip(*runs)
        self.assertTrue(all(size % 10 == 0 and size >= 20 for size in sizes))
        self.assertTrue(all(estimate.se < until.LIMIT for estimate in first))
        wrong, chance, low, _, _ = until.measure(first, truth)
        self.assertLess(wrong, -3 * chance)
        self.assertLess(low, 0.9)
        right, chance, high, _, _ = until.measure(second, truth)
        self.assertLess(abs(right), 3 * chance)
        # 0.934 in 1,000 seeds; with 250 seeds the standard deviation is 0.016.
        self.assertGreater(high, 0.9)


if __name__ == "__main__":
    unittest.main()
