"""Draws distinct tours from a small policy for the travelling salesman.

    PYTHONPATH=python python3 python/examples/07_tours.py

A tour visits 20 cities. The policy goes to the next city with a probability that falls with its
distance: a softmax of -distance, as a trained network would give its own numbers. The tree of all
tours has 19! leaves. Its states are Python objects, the rows have 19, 18, ... scores, and two
instances are searched in one call. The rounds never repeat a tour, so the best one improves with
each of them. The weights estimate the mean length of the policy's tours from the same results.
It takes about one second.
"""
import math
from typing import NamedTuple, Tuple

import numpy as np

import sbeam

CITIES, K, ROUNDS = 20, 25, 4
SHARPNESS = 60  # the policy is the softmax of -SHARPNESS * distance


class Tour(NamedTuple):
    """A state: where the tour has been, and where it can still go."""

    distances: np.ndarray  # (CITIES, CITIES)
    visited: Tuple[int, ...]
    left: Tuple[int, ...]

    def length(self):
        return sum(self.distances[a, b]
                   for a, b in zip(self.visited, self.visited[1:] + self.visited[:1]))


def children(tours):
    """Returns the log-weights of the next cities of each tour. sbeam normalises them."""
    return [-SHARPNESS * tour.distances[tour.visited[-1], list(tour.left)] for tour in tours]


def step(tours, choices):
    """Goes to the chosen city. The tour is a result when only one city is left."""
    after = []
    for tour, choice in zip(tours, choices):
        left = tour.left[:choice] + tour.left[choice + 1:]
        visited = tour.visited + (tour.left[choice],)
        after.append(Tour(tour.distances, visited, left) if len(left) > 1
                     else sbeam.Leaf(Tour(tour.distances, visited + left, ())))
    return after


def make_instance(seed):
    places = np.random.default_rng(seed).random((CITIES, 2))
    distances = np.linalg.norm(places[:, None] - places[None], axis=2)
    return Tour(distances, (0,), tuple(range(1, CITIES)))


def sample(tour, generator):
    """Returns one independent sample of the policy."""
    while tour.left:
        [weights] = children([tour])
        p = np.exp(weights - weights.max())
        [after] = step([tour], [generator.choice(len(p), p=p / p.sum())])
        if isinstance(after, sbeam.Leaf):
            return after.value
        tour = after


def main():
    roots = [make_instance(1), make_instance(2)]
    generator = np.random.default_rng(3)
    for root, found in zip(roots, sbeam.search(children, step, roots, K, rounds=ROUNDS, seed=1)):
        different = {result.value.visited for result in found}
        samples = [sample(root, generator) for _ in range(len(found))]
        print("instance %d: %d tours, %d different; of %d samples %d are different"
              % (found.stream, len(found), len(different), len(samples),
                 len({tour.visited for tour in samples})))
        for r in range(1, ROUNDS + 1):
            best = min(found.after(r), key=lambda result: result.value.length())
            print("    after round %d: best length %.3f, probability %.2g"
                  % (r, best.value.length(), math.exp(best.log_p)))
        mean = sbeam.estimate(found, lambda result: result.value.length())
        print("    mean length of the policy %.3f +- %.3f; of the samples %.3f +- %.3f"
              % (mean.value, mean.se, np.mean([tour.length() for tour in samples]),
                 np.std([tour.length() for tour in samples], ddof=1) / len(samples) ** 0.5))
        print("    %d states were evaluated, instead of %d without shared beginnings"
              % (found.evaluated, len(found) * (CITIES - 2)))


if __name__ == "__main__":
    main()
