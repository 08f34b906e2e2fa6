"""Recommends 100 different items out of 10,000, none of them invalid.

    PYTHONPATH=python python3 python/examples/06_recommend.py

A generative recommender writes the id of an item token by token. Here an id has three tokens, each
one of 64, and 10,000 of the 262,144 ids are items. A model does not know which ids are items, so
most of what it writes is invalid. With `allow` every sequence is an item. The draw is without
replacement, so no item comes twice, and its weights give an unbiased estimate for the whole
catalogue: here the share of one category, compared with the exact share. The model is a small
recurrent network with random weights. The program takes a second.
"""
import math
from typing import Dict, List, Tuple

import numpy as np

import sbeam

N_ITEMS, LENGTH, CODES, WIDTH, K = 10_000, 3, 64, 32, 100

Item = Tuple[int, ...]


def make_catalogue(rng: np.random.Generator) -> Dict[Item, str]:
    """Returns the category of each item by its id."""
    numbers = rng.choice(CODES ** LENGTH, N_ITEMS, replace=False)
    ids = np.stack(np.unravel_index(numbers, (CODES,) * LENGTH), axis=1)
    names = ("books", "films", "games")
    return {tuple(item): names[c] for item, c in zip(ids.tolist(), rng.integers(0, 3, N_ITEMS))}


class Recommender:
    """A recurrent network: the state starts as the vector of a user."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.embedding = rng.normal(size=(CODES + 1, WIDTH))
        self.recurrent = rng.normal(size=(WIDTH, WIDTH)) / math.sqrt(WIDTH)
        self.output = rng.normal(size=(WIDTH, CODES)) * 0.6

    def step(self, states: np.ndarray, tokens: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
        """Returns the logits of the next token, and the new states. Token CODES starts an id."""
        states = np.tanh(states @ self.recurrent + self.embedding[tokens])
        return states @ self.output, states


def recommend(model: Recommender, user: np.ndarray, k: int, **settings) -> sbeam.Draw:
    return sbeam.sample_without_replacement(model.step, user[None], k=k, vocab_size=CODES,
                                            start_token=CODES, max_len=LENGTH, **settings)


def count_valid(draw: sbeam.Draw, catalogue: Dict[Item, str]) -> str:
    found: List[Item] = [s.tokens for s in draw]
    return "%d sequences, %d different, %d invalid" % (
        len(found), len(set(found)), sum(item not in catalogue for item in found))


def main() -> None:
    rng = np.random.default_rng(7)
    catalogue = make_catalogue(rng)
    model, user = Recommender(rng), rng.normal(size=WIDTH)
    items = sbeam.Trie(catalogue)  # built once, used for every user
    print("%d items: %d prefixes, %.0f KB" % (len(items), items.n_prefixes, items.nbytes / 1e3))

    draw = recommend(model, user, K, seed=1, allow=items)
    print("with the list:    " + count_valid(draw, catalogue))
    print("without the list: " + count_valid(recommend(model, user, K, seed=1), catalogue))

    def is_book(s: sbeam.Sequence) -> bool:
        return catalogue[s.tokens] == "books"

    whole = recommend(model, user, N_ITEMS, seed=1, allow=items)  # every item, with its probability
    truth = math.fsum(math.exp(s.log_p) for s in whole if is_book(s))
    share = sbeam.estimate(draw, is_book)
    print("share of books: %.4f +- %.4f from %d items; %.4f from all %d"
          % (share.value, share.se, K, truth, len(whole)))


if __name__ == "__main__":
    main()
