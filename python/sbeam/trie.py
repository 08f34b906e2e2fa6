"""Lists of permitted outputs."""
from __future__ import annotations

import ctypes
import itertools
import os
from typing import Any, Iterable, List, NoReturn, Optional, Sequence as Items, Tuple, Union

import numpy as np

from . import _structs as s
from ._arrays import is_tensor, to_numpy
from ._config import is_many
from ._errors import ArgumentError
from ._interrupt import long_call
from ._library import call, lib
from ._text import Text, to_bytes, to_c_string
from .model import Model, Path_

_TEXTS = (str, bytes, bytearray, memoryview)


class Trie:
    """A list of permitted outputs, for `allow` of draw, Cursor, Decoder and
    sample_without_replacement.

        items = sbeam.Trie([[17, 4, 9], [17, 4, 30], [8, 1, 1]])
        decoder = sbeam.Decoder(vocab_size, k=2, allow=items)

    lines        the outputs: lists of token ids without the end token, a matrix of ids, or texts.
                 Repeated lines count once
    model        the Model whose tokens the texts become

    `allow` also takes the lines themselves. Make a Trie if you use the list more than once: it is
    built once, and any number of threads can share it. 10^6 lines of 8 tokens take about a second
    to build, and about 8 bytes for each different prefix.

    A text of a model with subwords must be one that the model can write; otherwise an InputError
    says how the model would write it. The list holds the one sequence of tokens into which the
    model splits a text, and not the other ways to spell it."""

    def __init__(self, lines: Union[Text, Iterable[Union[Text, Iterable[int]]]],
                 model: Optional[Model] = None) -> None:
        self._handle: Optional[int] = None
        array = to_numpy(lines, "allow") if _is_array(lines) else None
        if array is not None and array.ndim == 2 and array.dtype.kind in "iu":
            self._open(array.ravel(), np.arange(1, len(array) + 1) * array.shape[1])
            return
        items = _list_lines(lines if array is None else array)
        if len(items) > 0 and isinstance(items[0], _TEXTS):
            self._open_texts(items, model)
        else:
            self._open(*_flatten(items))

    @classmethod
    def from_flat(cls, tokens: Any, ends: Any) -> "Trie":
        """Returns the list of lines that are stored one after the other: line i has the tokens
        tokens[ends[i - 1]:ends[i]], and the first line begins at 0. NumPy arrays of int32 and
        uint64 are not copied."""
        flat, limits = to_numpy(tokens, "tokens"), to_numpy(ends, "ends")
        for array, name in ((flat, "tokens"), (limits, "ends")):
            if array.ndim != 1 or (array.size > 0 and array.dtype.kind not in "iu"):
                raise ArgumentError("%s: the shape is %s and the type %s; expected a list of "
                                    "integers" % (name, array.shape, array.dtype))
        if limits.size > 0 and (int(limits.min()) < 0 or int(limits[-1]) != flat.size):
            raise ArgumentError("the last of ends is %d and the smallest %d; expected the last "
                                "to be %d, the number of tokens, and no number below 0"
                                % (limits[-1], limits.min(), flat.size))
        if limits.size > 1 and bool((limits[1:] < limits[:-1]).any()):
            raise ArgumentError("ends is not in ascending order")
        trie = cls.__new__(cls)
        trie._open(flat, limits)
        return trie

    @classmethod
    def read(cls, path: Path_, model: Model) -> "Trie":
        """Returns the list of the lines of a text file, plain or gzip, as `--allow` of the command
        reads it. An empty line is the empty output."""
        if not isinstance(model, Model):
            raise ArgumentError("model is of type %s; expected a Model" % type(model).__name__)
        trie = cls.__new__(cls)
        name = to_c_string(os.fsencode(path), "the path")
        handle = ctypes.c_void_p()
        with model._use() as opened, long_call():
            call("sb_trie_read", ctypes.byref(handle), opened, name)
        trie._handle = handle.value
        return trie

    def _open(self, tokens: np.ndarray, ends: np.ndarray) -> None:
        if tokens.size > 0 and not 0 <= int(tokens.min()) <= int(tokens.max()) < 2**31:
            bad = tokens.min() if tokens.min() < 0 else tokens.max()
            raise ArgumentError("allow: the token id is %d; expected 0 to %d" % (bad, 2**31 - 1))
        ids = np.ascontiguousarray(tokens, dtype=np.int32)
        limits = np.ascontiguousarray(ends, dtype=np.uint64)
        handle = ctypes.c_void_p()
        with long_call():
            call("sb_trie_open", ctypes.byref(handle), ids.ctypes.data, limits.ctypes.data,
                 len(limits))
        self._handle = handle.value

    def _open_texts(self, texts: Items[Any], model: Optional[Model]) -> None:
        if not isinstance(model, Model):
            raise ArgumentError("allow: the lines are texts, which need a Model; expected lists of "
                                "token ids")
        data: List[bytes] = [to_bytes(text, "allow: line %d" % (i + 1))
                             for i, text in enumerate(texts)]
        n = len(data)
        handle = ctypes.c_void_p()
        with model._use() as opened, long_call():
            call("sb_trie_open_texts", ctypes.byref(handle), opened, (ctypes.c_char_p * n)(*data),
                 (ctypes.c_size_t * n)(*map(len, data)), n)
        self._handle = handle.value

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            lib.sb_trie_close(self._handle)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Trie cannot be copied or pickled; make it from its lines again")

    # --- facts ---

    @property
    def _info(self) -> s.sb_trie_info:
        info: s.sb_trie_info = lib.sb_trie_get_info(self._handle).contents
        return info

    def __len__(self) -> int:
        """Returns the number of different lines."""
        return int(self._info.n_lines)

    @property
    def n_prefixes(self) -> int:
        """The number of different prefixes of lines, the empty one included."""
        return int(self._info.n_prefixes)

    @property
    def nbytes(self) -> int:
        """The memory of the list in bytes."""
        return int(self._info.bytes)

    @property
    def longest(self) -> int:
        """The number of tokens of the longest line."""
        return int(self._info.longest)

    @property
    def id(self) -> str:
        """The checksum of the lines, by which records name the list ("allow")."""
        return str(self._info.id.decode())

    def __repr__(self) -> str:
        return "<sbeam.Trie %s, %d lines, %d prefixes>" % (self.id, len(self), self.n_prefixes)


def to_trie(allow: Any, model: Optional[Model] = None) -> Optional[Trie]:
    """Returns the Trie of the keyword `allow`: a Trie, lines, or None."""
    return allow if allow is None or isinstance(allow, Trie) else Trie(allow, model)


def _is_array(lines: Any) -> bool:
    return isinstance(lines, np.ndarray) or is_tensor(lines)


def _list_lines(lines: Any) -> List[Any]:
    if isinstance(lines, _TEXTS):
        return [lines]
    try:
        items = list(lines)
    except TypeError:
        raise ArgumentError("allow is %r; expected a Trie, or a list of texts or of lists of token "
                            "ids" % (lines,)) from None
    are_texts = [isinstance(item, _TEXTS) for item in items]
    if any(are_texts) and not all(are_texts):
        raise ArgumentError("allow: line %d is %r; expected only texts or only lists of token ids"
                            % (are_texts.index(not are_texts[0]) + 1,
                               items[are_texts.index(not are_texts[0])]))
    return items


def _flatten(lines: List[Any]) -> Tuple[np.ndarray, np.ndarray]:
    """Returns the tokens of all lines, and where each line ends."""
    for i, line in enumerate(lines):
        if not is_many(line) or isinstance(line, (set, frozenset, dict)):  # which have no order
            raise ArgumentError("allow: line %d is %r; expected a list of token ids"
                                % (i + 1, line))
    plain = [line.tolist() if hasattr(line, "tolist") else list(line) for line in lines]
    ends = np.cumsum(np.fromiter(map(len, plain), dtype=np.int64, count=len(plain)))
    flat = list(itertools.chain.from_iterable(plain))
    # NumPy makes floats of signed with unsigned numbers, and a number of True.
    kinds = set(map(type, flat)) - {int}
    if any(issubclass(kind, np.integer) for kind in kinds):
        flat = [int(token) if isinstance(token, np.integer) else token for token in flat]
    try:
        tokens = np.array(flat) if flat else np.empty(0, dtype=np.int64)
    except ValueError:  # lists of different lengths within a line
        tokens = np.empty(0, dtype=object)
    if tokens.dtype.kind not in "iu" or tokens.ndim != 1 or bool in kinds or np.bool_ in kinds:
        i = next(i for i, line in enumerate(plain) if not _are_ids(line))
        raise ArgumentError("allow: line %d is %r; expected a list of token ids"
                            % (i + 1, lines[i]))
    return tokens, ends


def _are_ids(line: List[Any]) -> bool:
    return all(isinstance(token, (int, np.integer)) and not isinstance(token, bool)
               and -2**63 <= token < 2**63 for token in line)
