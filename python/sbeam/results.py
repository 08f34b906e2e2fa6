"""The results of a draw."""
from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

import numpy as np

from . import _structs as s
from ._config import METHODS
from ._library import lib

# The first is "none", of a prefix that is not finished; no result holds it.
_ENDS = [lib.sb_end_name(i).decode() for i in range(5)]


class Sequence(NamedTuple):
    """One sequence and its numbers. All logarithms are natural. A number that the method does not
    have is NaN. They are plain numbers: log_p is not a tensor and has no graph."""

    text: Optional[str]  #: cut before a stop string; None if nothing decodes the tokens
    tokens: Tuple[int, ...]  #: token ids, without the end token
    log_p: float  #: log-probability in the distribution drawn from: with temperature and bans
    log_p_model: float  #: log-probability in the model itself: temperature 1, nothing banned
    g: float  #: log_p plus noise; a draw lists its sequences by falling g
    log_weight: float  #: log(p / q), where q is the probability that g exceeds kappa
    end: str  #: why it ends: "eos", "max-len", "leaf" or "stop"

    def to_dict(self) -> Dict[str, Any]:
        """Returns the sequence as in the command's JSON. Numbers that are not finite are None."""
        return {"text": self.text, "tokens": list(self.tokens), "log_p": _or_none(self.log_p),
                "log_p_model": _or_none(self.log_p_model), "g": _or_none(self.g),
                "log_weight": _or_none(self.log_weight), "end": self.end}


@dataclass(frozen=True)
class Draw:
    """One draw: k sequences and their threshold. The names are those of the command's JSON record.

    You can iterate over its sequences, index and count them: `for s in draw`, `draw[0]`,
    `len(draw)`. For pandas:

        pandas.DataFrame(draw.arrays())         one row per sequence
        pandas.DataFrame(draw.sequences)        the same
        pandas.DataFrame([d.to_dict() for d in draws])     one row per draw
    """

    stream: int  #: the number of the input
    draw: int  #: the number of the draw; seed, stream and draw determine the noise
    input: Optional[str]  #: None if the host computes the model
    method: str
    k: int  #: number of sequences asked for
    temperature: float
    settings: Dict[str, Any]  #: the settings that differ from their defaults
    seed: int
    kappa: float  #: threshold, the g of the next sequence; -inf if exhausted, NaN if not computed
    exhausted: bool  #: whether these are all sequences of the model
    log_p_draw: float  #: log-probability of these sequences in this order, or NaN
    model_rows: int  #: number of rows that the model computed
    complete: bool  #: method reject: whether it found k distinct sequences; otherwise True
    samples: int  #: method reject: number of samples drawn
    sampled_rows: int  #: method reject: number of rows if samples shared no prefixes
    sequences: Tuple[Sequence, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.sequences)

    def __iter__(self) -> Iterator[Sequence]:
        return iter(self.sequences)

    def __getitem__(self, index):
        return self.sequences[index]

    def arrays(self) -> Dict[str, np.ndarray]:
        """Returns the sequences as columns, with one element per sequence: numbers as float64;
        `text`, `tokens` (tuples) and `end` as objects."""
        columns: Dict[str, np.ndarray] = {}
        for name in Sequence._fields:
            values = [getattr(sequence, name) for sequence in self.sequences]
            if name in ("text", "tokens", "end"):
                column = np.empty(len(values), dtype=object)
                for i, value in enumerate(values):  # np.array would turn tuples into a matrix
                    column[i] = value
            else:
                column = np.array(values, dtype=np.float64)
            columns[name] = column
        return columns

    def to_dict(self) -> Dict[str, Any]:
        """Returns the command's JSON record of this draw, as `json.loads` reads it."""
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
    """Returns a copy of a result of C. `decode` returns the text of tokens; its second argument
    says whether a stop string ended them."""
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
