"""Models that the library reads from files."""
from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence as Items, Tuple, Union

import numpy as np

from . import _structs as s
from ._config import to_ints
from ._errors import ArgumentError, InputError, IOFailure, StateError
from ._interrupt import long_call
from ._library import PACKAGE, SOURCE_TREE, call, find_command, lib
from ._text import Text, to_bytes, to_c_string, to_str

DEFAULT_MODEL = "enfr-everyday.safetensors"

Path_ = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]


class ModelInfo(NamedTuple):
    """What a model is."""

    kind: str  #: "tree", "chain", "arpa", ...
    vocab_size: int  #: columns of a row
    eos: Optional[int]  #: the token that ends a sequence, None where there is none
    needs_input: bool  #: without an input there is nothing to do (translation)
    max_rows: Optional[int]  #: most rows alive at once, None for no limit
    max_len: Optional[int]  #: longest sequence, in steps; None for no limit


class Score(NamedTuple):
    """The log-probability of an output under the model itself: temperature 1, nothing masked."""

    log_p: float
    token_log_p: np.ndarray  #: (tokens and, where it was appended, the end token)
    tokens: Tuple[int, ...]  #: without the end token


def find_default_model() -> str:
    """The path that the command takes without -m: $SBEAM_MODEL, else the English-French model that
    comes with sbeam."""
    given = os.environ.get("SBEAM_MODEL")
    if given:
        return given
    folders = [PACKAGE / "models", SOURCE_TREE / "models"]
    command = find_command()
    if command is not None:
        beside = Path(command).resolve().parent
        folders += [beside, beside / "models", beside.parent / "models",
                    beside.parent / "share" / "sbeam"]
    folders += [Path("/usr/local/share/sbeam"), Path("/usr/share/sbeam")]
    for folder in folders:
        if (folder / DEFAULT_MODEL).exists():
            return str(folder / DEFAULT_MODEL)
    raise IOFailure("no model was given (or named by the environment variable SBEAM_MODEL), and "
                    "the default one, %s, is not in %s"
                    % (DEFAULT_MODEL, " or ".join(map(str, dict.fromkeys(folders)))))


class Model:
    """A model file: a tree or a chain in JSON, an ARPA n-gram model, a translation model, GGUF.

    It may be shared by threads. Closing it while another thread draws from it is fine: the memory
    is freed when that ends; every later use is a StateError."""

    def __init__(self, path: Optional[Path_] = None, pretokenized: bool = False,
                 bpe_marker: Optional[str] = None) -> None:
        self._lock = threading.Lock()
        self._handle: Optional[int] = None
        self._n_uses = 0
        self._is_closed = True
        name = os.fsencode(find_default_model() if path is None else path)
        if not name:
            raise ArgumentError("the name of the model's file is empty")
        handle = ctypes.c_void_p()
        data = to_c_string(name, "the path")
        with long_call():
            call("sb_model_open", ctypes.byref(handle), data)
        self._handle = handle.value
        self._is_closed = False
        self._path, self._options = os.fsdecode(name), (bool(pretokenized), bpe_marker)
        try:
            if bpe_marker is not None:
                marker = to_c_string(bpe_marker, "bpe_marker")
                if not marker:
                    raise ArgumentError("bpe_marker is empty")
                call("sb_model_set_marker", handle, marker)
            call("sb_model_set_pretokenized", handle, bool(pretokenized))
        except BaseException:
            self.close()
            raise
        info = lib.sb_model_get_info(handle).contents
        self._info = ModelInfo(info.kind.decode(), info.vocab_size,
                               info.eos if info.eos >= 0 else None, info.needs_input,
                               info.max_rows or None, info.max_len or None)

    # --- its life ---

    def close(self) -> None:
        """Frees the model, at the latest when its last use ends. Closing twice is fine."""
        with self._lock:
            self._is_closed = True
        self._free_if_idle()

    def _free_if_idle(self) -> None:
        with self._lock:
            if not self._is_closed or self._n_uses > 0:
                return
            handle, self._handle = self._handle, None
        if handle is not None:
            lib.sb_model_close(handle)

    @contextlib.contextmanager
    def _use(self) -> Iterator[int]:
        """The handle, which stays valid within."""
        with self._lock:
            if self._is_closed or self._handle is None:
                raise StateError("the model is closed")
            self._n_uses += 1
            handle = self._handle
        try:
            yield handle
        finally:
            with self._lock:
                self._n_uses -= 1
            self._free_if_idle()

    @property
    def closed(self) -> bool:
        return self._is_closed

    def __enter__(self) -> "Model":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self.close()

    def __reduce__(self):
        return type(self), (self._path,) + self._options  # opened anew where it is unpickled

    def __repr__(self) -> str:
        return "<sbeam.Model %r, %s%s>" % (self._path, self._info.kind,
                                           ", closed" if self._is_closed else "")

    # --- what it is ---

    @property
    def path(self) -> str:
        return self._path

    @property
    def info(self) -> ModelInfo:
        return self._info

    def describe(self) -> Dict[str, str]:
        """What is worth knowing about it, in words: what `sbeam info` prints."""
        facts: Dict[str, str] = {}

        @s.DESCRIBE_FN
        def say(_user, name, value):
            facts[name.decode()] = to_str(value)

        with self._use() as handle:
            lib.sb_model_describe(handle, say, None)
        return facts

    # --- text ---

    def encode(self, text: Text) -> Tuple[int, ...]:
        """The ids of an output's text. A word that the model does not know is an InputError."""
        data = to_bytes(text, "text")
        tokens = ctypes.POINTER(ctypes.c_int32)()
        n = ctypes.c_int32()
        with self._use() as handle:
            call("sb_model_encode", handle, data, len(data), ctypes.byref(tokens), ctypes.byref(n))
        try:
            return tuple(tokens[:n.value])
        finally:
            lib.sb_free(tokens)

    def decode(self, tokens: Items[int]) -> str:
        """The text of an output."""
        return to_str(self._decode(self._check_tokens(tokens)))

    def _decode(self, tokens: Items[int]) -> bytes:
        with self._use() as handle:
            return decode_tokens(handle, tokens)

    def token_text(self, token: int) -> Optional[str]:
        """The text of one token, None where the model has none for it."""
        [token] = self._check_tokens([token])
        with self._use() as handle:
            text = lib.sb_model_token_text(handle, token)
            return None if text is None else to_str(text)

    def find_token(self, text: Text) -> Optional[int]:
        """The id of a token's text, or None."""
        data = to_bytes(text, "text")
        with self._use() as handle:
            token = lib.sb_model_find_token(handle, data, len(data))
        return token if token >= 0 else None

    def _check_tokens(self, tokens: Items[int]) -> List[int]:
        ids = to_ints(tokens, "tokens", 0, 2**31 - 1)
        for token in ids:
            if token >= self._info.vocab_size:
                raise InputError("token %d is not below %d" % (token, self._info.vocab_size))
        return ids

    # --- scores ---

    def score(self, input: Optional[Text], output: Union[Text, Items[int]], *, eos: bool = True,
              max_len: Optional[int] = None) -> Score:
        """The log-probability of an output, text or tokens, after an input (None: the empty one).

        It is scored as a whole sequence: the end token is appended, where the model has one, unless
        `eos` is False or the output is as long as `max_len` or the model allow."""
        ids = (self._check_tokens(self.encode(output)) if isinstance(output, (str, bytes))
               else self._check_tokens(output))
        info = self._info
        if max_len is not None and len(ids) > max_len:
            raise InputError("the output has %d tokens, more than max_len" % len(ids))
        scored = list(ids)
        if eos and info.eos is not None and len(ids) not in (max_len, info.max_len):
            scored.append(info.eos)
        n = len(scored)
        log_p = (ctypes.c_double * max(n, 1))()
        data = None if input is None else to_bytes(input, "input")
        if data is None and info.needs_input:
            raise ArgumentError("a model of kind '%s' needs an input" % info.kind)
        with self._use() as handle, long_call():
            call("sb_score", handle, data, 0 if data is None else len(data),
                 (ctypes.c_int32 * max(n, 1))(*scored), n, log_p)
        total = 0.0
        for x in log_p[:n]:  # in this order, as the command adds them up
            total += x
        return Score(total, np.array(log_p[:n], dtype=np.float64), tuple(ids))


def decode_tokens(handle: int, tokens: Items[int]) -> bytes:
    """The text of tokens that the model gave."""
    text = ctypes.c_void_p()
    n = len(tokens)
    call("sb_model_decode", handle, (ctypes.c_int32 * max(n, 1))(*tokens), n, ctypes.byref(text))
    try:
        return ctypes.string_at(text.value)
    finally:
        lib.sb_free(text)
