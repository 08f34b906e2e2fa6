"""What a draw returns."""
from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

import numpy as np

from . import _structs as s
from ._config import METHODS
from ._library import lib

# Including "none" of a prefix that still grows, which no result holds.
_ENDS = [lib.sb_end_name(i).decode() for i in range(5)]


class Sequence(NamedTuple):
    """One sequence. Numbers that a method does not have are NaN; all logs are natural."""

    text: Optional[str]  #: cut before a stop string; None where there is no text
    tokens: Tuple[int, ...]  #: the model's ids, without the end token
    log_p: float  #: under the distribution drawn from: tempered, masked
    log_p_model: float  #: under the model itself: temperature 1, unmasked
    g: float  #: the perturbed log-probability, by which samples are ordered
    log_weight: float  #: log p / q, the importance weight at the threshold kappa
    end: str  #: "eos", "max-len", "leaf" or "stop"

    def to_dict(self) -> Dict[str, Any]:
        """As in a JSON record of the command: what is not finite is None."""
        return {"text": self.text, "tokens": list(self.tokens), "log_p": _or_none(self.log_p),
                "log_p_model": _or_none(self.log_p_model), "g": _or_none(self.g),
                "log_weight": _or_none(self.log_weight), "end": self.end}


@dataclass(frozen=True)
class Draw:
    """One draw: what a JSON record of the command holds, under the same names.

    It is also a sequence of its sequences: `for s in draw`, `draw[0]`, `len(draw)`. For pandas:

        pandas.DataFrame(draw.arrays())         one row per sequence
        pandas.DataFrame(draw.sequences)        the same
        pandas.DataFrame([d.to_dict() for d in draws])     one row per draw
    """

    stream: int
    draw: int
    input: Optional[str]  #: None where a host owns the model
    method: str
    k: int  #: sequences asked for
    temperature: float
    settings: Dict[str, Any]  #: those that are not at their defaults
    seed: int
    kappa: float  #: the threshold: -inf when exhausted, NaN where the method has none
    exhausted: bool  #: every sequence of the model is here
    log_p_draw: float  #: of this ordered sample, or NaN
    model_rows: int  #: rows that the model evaluated
    complete: bool  #: reject: k distinct ones were found; else True
    samples: int  #: reject: samples drawn
    sampled_rows: int  #: reject: the rows that they would cost without sharing prefixes
    sequences: Tuple[Sequence, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.sequences)

    def __iter__(self) -> Iterator[Sequence]:
        return iter(self.sequences)

    def __getitem__(self, place):
        return self.sequences[place]

    def arrays(self) -> Dict[str, np.ndarray]:
        """The sequences by column, one element each: the numbers as float64, `text`, `tokens` (as
        tuples) and `end` as objects."""
        columns: Dict[str, np.ndarray] = {}
        for name in Sequence._fields:
            values = [getattr(sequence, name) for sequence in self.sequences]
            if name in ("text", "tokens", "end"):
                column = np.empty(len(values), dtype=object)
                for i, value in enumerate(values):  # NumPy would make a matrix of tuples
                    column[i] = value
            else:
                column = np.array(values, dtype=np.float64)
            columns[name] = column
        return columns

    def to_dict(self) -> Dict[str, Any]:
        """What `json.loads` makes of the command's record of this draw."""
        record: Dict[str, Any] = {
            "stream": self.stream, "draw": self.draw, "input": self.input, "method": self.method,
            "k": self.k, "temperature": self.temperature}
        record.update(self.settings)
        record.update(seed=self.seed, kappa=_or_none(self.kappa), exhausted=self.exhausted,
                      log_p_draw=_or_none(self.log_p_draw), model_rows=self.model_rows)
        if self.method == "reject":
            record.update(complete=self.complete, samples=self.samples,
                          sampled_rows=self.sampled_rows)
        record["sequences"] = [sequence.to_dict() for sequence in self.sequences]
        return record


def _or_none(x: float) -> Optional[float]:
    return x if math.isfinite(x) else None


def make_draw(result: s.sb_result, input: Optional[str], settings: Dict[str, Any],
              decode: Optional[Callable[[Tuple[int, ...], bool], str]]) -> Draw:
    """Copies a result out of C. `decode` gives the text of tokens, told whether a stop string ended
    them."""
    sequences: List[Sequence] = []
    for i in range(result.n_sequences):
        c = result.sequences[i]
        tokens = tuple(c.tokens[:c.n_tokens]) if c.n_tokens > 0 else ()
        end = _ENDS[c.end]
        text = None if decode is None else decode(tokens, end == "stop")
        sequences.append(Sequence(text, tokens, c.log_p, c.log_p_model, c.g, c.log_weight, end))
    return Draw(result.stream, result.draw, input, METHODS[result.method], result.k,
                result.temperature, settings, result.seed, result.kappa, result.exhausted,
                result.log_p_draw, result.model_rows, result.complete, result.samples,
                result.sampled_rows, tuple(sequences))
