"""Draws until the standard error of an estimate is below a limit: the wrong way and the right way.

    PYTHONPATH=python python3 python/examples/05_until.py

How likely is a holiday of exactly four days? You want a standard error below 0.02, and do not know
how many sequences this takes. A cursor gives one after the other until the error is small enough.
But weights hold only for a number that was chosen beforehand: the draw at which you stop is one
that happens to look precise, for example because it holds no such holiday. So choose the number
with one draw and estimate from another. The program repeats both ways for many seeds and compares
them with the exact probability. It takes about 30 seconds; --quick takes 3.
"""
import argparse
import math
from pathlib import Path

import numpy as np

import sbeam

MODEL = Path(__file__).resolve().parents[2] / "models" / "weather.json"
SETTINGS = dict(max_len=5)  # 363 sequences: few enough to know the truth
LIMIT = 0.02


def has_four_days(s):
    return len(s.tokens) == 4


def draw_until(model, f, limit, **settings):
    """Returns the sequences that a cursor has found when the standard error is below the limit."""
    with sbeam.Cursor(model, **settings) as cursor:
        for n, _ in enumerate(cursor, 1):
            # An error from a few sequences says little.
            if n >= 20 and n % 10 == 0 and sbeam.estimate(cursor.draw(), f).se < limit:
                break
        return cursor.draw()


def estimate_both_ways(model, f, limit, **settings):
    """Returns the estimate from the draw that chose k, and the one from another draw of k."""
    first = draw_until(model, f, limit, **settings)
    [second] = sbeam.draw(model, k=len(first), streams=1, **settings)  # another stream: other noise
    return sbeam.estimate(first, f), sbeam.estimate(second, f), len(first)


def measure(estimates, truth):
    """Returns the bias of the estimates, the error of that bias, the coverage of their 95 %
    intervals, their root mean square error and their mean standard error."""
    value, se = np.array([(e.value, e.se) for e in estimates]).T
    return (value.mean() - truth, value.std(ddof=1) / len(value) ** 0.5,
            np.mean(np.abs(value - truth) <= 1.96 * se), np.mean((value - truth) ** 2) ** 0.5,
            se.mean())


def main():
    parser = argparse.ArgumentParser(description="how many sequences a standard error takes")
    parser.add_argument("--quick", action="store_true", help="fewer seeds")
    n = 100 if parser.parse_args().quick else 1000
    with sbeam.Model(MODEL) as model:
        [whole] = sbeam.draw(model, k=400, seed=0, **SETTINGS)  # there are 363
        truth = math.fsum(math.exp(s.log_p) for s in whole if has_four_days(s))
        runs = [estimate_both_ways(model, has_four_days, LIMIT, seed=seed, **SETTINGS)
                for seed in range(n)]
    first, second, sizes = zip(*runs)
    print("P(four days) = %.4f; %d seeds, on average %.0f sequences each"
          % (truth, n, np.mean(sizes)))
    for name, estimates in (("from the draw that stopped", first),
                            ("from another draw of k", second)):
        bias, chance, coverage, error, se = measure(estimates, truth)
        print("%-27s bias %+.4f +- %.4f, 95 %% intervals hold it in %.1f %%, root mean square "
              "error %.4f, mean standard error %.4f"
              % (name + ":", bias, chance, 100 * coverage, error, se))


if __name__ == "__main__":
    main()
