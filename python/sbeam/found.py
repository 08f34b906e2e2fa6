"""The results of a search through trees of any states."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterator, List, NamedTuple, Tuple

import numpy as np

from ._config import to_int
from ._library import lib


@dataclass(frozen=True)
class Leaf:
    """The answer of `step` for a finished result, instead of a state. The value is any object."""

    value: Any = None


class Result(NamedTuple):
    """One leaf of a tree and its numbers, which are those of Sequence. All logarithms are
    natural."""

    value: Any  #: the value of its Leaf
    choices: Tuple[int, ...]  #: the numbers of the children on the way from the root
    log_p: float  #: log-probability of the leaf: the sum over its choices, each row normalised
    g: float  #: log_p plus noise; the result with the largest g comes first
    log_weight: float  #: log(p / q), where q is the probability that g exceeds kappa


@dataclass(frozen=True)
class Found:
    """The results of one root: a draw without replacement of all rounds together.

    You can iterate over its results, index and count them. `sbeam.estimate(found, f)` estimates
    the expectation of f(result) over all leaves."""

    stream: int  #: the number of the root
    draw: int  #: the number of the draw; seed, stream and draw determine the noise
    seed: int
    results: Tuple[Result, ...]  #: of all rounds, with the weights of all rounds together
    sizes: Tuple[int, ...]  #: number of results that each round asked for
    kappas: Tuple[float, ...]  #: threshold after each round, the g of the next leaf; -inf: no more
    evaluated: int  #: number of states of this root that were given to `children`

    method = "sbs"
    stopped_by = None

    @property
    def kappa(self) -> float:
        """The threshold of all rounds together."""
        return self.kappas[-1]

    @property
    def exhausted(self) -> bool:
        """Whether these are all leaves of the tree."""
        return self.kappa == -np.inf

    @property
    def rounds(self) -> List[Tuple[Result, ...]]:
        """The results of each round, without those of earlier rounds. Their weights are those of
        all rounds together; `after` gives those of the first rounds."""
        ends = np.cumsum(self.sizes).tolist()
        return [self.results[end - size:end] for end, size in zip(ends, self.sizes)]

    def after(self, rounds: int) -> "Found":
        """Returns the results of the first rounds, with their threshold and their weights: together
        these rounds are a draw without replacement, too."""
        r = to_int(rounds, "rounds", 1, len(self.sizes))
        kappa = self.kappas[r - 1]
        return Found(self.stream, self.draw, self.seed,
                     tuple(result._replace(log_weight=lib.sb_log_weight(result.log_p, kappa))
                           for result in self.results[:sum(self.sizes[:r])]),
                     self.sizes[:r], self.kappas[:r], self.evaluated)

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def __getitem__(self, index: int) -> Result:
        return self.results[index]
