"""The results of a draw. Each draw keeps the JSON record that the library writes of it."""
from __future__ import annotations

import ctypes
import json
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, NamedTuple, Optional, Tuple, Union, overload

import numpy as np

from . import _structs as s
from ._config import METHODS, Config
from ._library import call, lib
from ._text import to_str

# The first is "none", of a prefix that is not finished; no result holds it.
ENDS = [lib.sb_end_name(i).decode() for i in range(5)]
# The first stands for settings without a rule.
_RULES = [None] + [lib.sb_stopped_by_name(i).decode() for i in range(1, 5)]


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
    #: What ended a draw with until_mass or until_texts: "mass", "texts", "k" or "exhausted"; None
    #: if there was no such rule. With a rule there are no kappa and no weights.
    stopped_by: Optional[str]
    log_p_draw: float  #: log-probability of these sequences in this order, or NaN
    model_rows: int  #: number of rows that the model computed
    complete: bool  #: method reject: whether it found k distinct sequences; otherwise True
    samples: int  #: method reject: number of samples drawn
    sampled_rows: int  #: method reject: number of rows if samples shared no prefixes
    sequences: Tuple[Sequence, ...] = field(default=())
    model: Optional[str] = None  #: checksum of the model file; None if the model has no file
    version: str = ""  #: the version of sbeam that drew
    _record: bytes = field(default=b"", repr=False, compare=False)  # the JSON line of the library

    def __len__(self) -> int:
        return len(self.sequences)

    def __iter__(self) -> Iterator[Sequence]:
        return iter(self.sequences)

    @overload
    def __getitem__(self, index: int) -> Sequence: ...

    @overload
    def __getitem__(self, index: slice) -> Tuple[Sequence, ...]: ...

    def __getitem__(self, index: Union[int, slice]) -> Union[Sequence, Tuple[Sequence, ...]]:
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
        """Returns the command's JSON record of this draw, as `json.loads` reads it. The record was
        written when the sequences were drawn: a copy with other fields still has it."""
        record: Dict[str, Any] = json.loads(self._record)
        for entry, sequence in zip(record["sequences"], self.sequences):
            entry["text"] = sequence.text  # a Decoder has its texts from its host
        return record


def make_sequence(c: s.sb_sequence, text: Optional[bytes]) -> Sequence:
    """Returns a copy of a sequence of C."""
    tokens = tuple(c.tokens[:c.n_tokens]) if c.n_tokens > 0 else ()
    return Sequence(None if text is None else to_str(text), tokens, c.log_p, c.log_p_model, c.g,
                    c.log_weight, ENDS[c.end])


class DrawMaker:
    """Copies results of C to draws. They have one config, and one model unless the host computes
    the model."""

    def __init__(self, model: Optional[int], config: Config) -> None:
        self._config = config  # C reads it as long as the writer is open
        self._settings: Optional[Dict[str, Any]] = None
        self._model: Optional[str] = None
        self._version = ""
        self._writer = ctypes.c_void_p()
        call("sb_record_writer_open", ctypes.byref(self._writer), model,
             ctypes.byref(config.struct))

    def __del__(self) -> None:
        lib.sb_record_writer_close(self._writer)

    def make(self, result: Any, input: Any = None) -> Draw:
        """Returns the draw of a pointer to an sb_result. `input` is a pointer to its sb_input, or
        None if the host computes the model."""
        line, size = ctypes.c_void_p(), ctypes.c_size_t()
        call("sb_record_write", self._writer, input, result, ctypes.byref(line),
             ctypes.byref(size))
        record = ctypes.string_at(line, size.value)
        if self._settings is None:  # all records have the same
            members = json.loads(record)
            self._model, self._version = members.get("model"), members["version"]
            self._settings = {key: value for key, value in members.items()
                              if key not in Draw.__dataclass_fields__}
        source = None
        if input is not None:
            source = to_str(ctypes.string_at(input.contents.text, input.contents.size))
        c = result.contents
        sequences = tuple(
            make_sequence(c.sequences[i], lib.sb_record_writer_text(self._writer, i))
            for i in range(c.n_sequences))
        return Draw(c.stream, c.draw, source, METHODS[c.method], c.k, c.temperature, self._settings,
                    c.seed, c.kappa, c.exhausted, _RULES[c.stopped_by], c.log_p_draw, c.model_rows,
                    c.complete, c.samples, c.sampled_rows, sequences, self._model, self._version,
                    record)
