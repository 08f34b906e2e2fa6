"""Models in files."""
from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from pathlib import Path
from typing import (Any, Dict, Iterator, List, NamedTuple, Optional, Sequence as Items, Tuple,
                    Union)

import numpy as np

from . import _structs as s
from ._config import to_bool, to_int, to_ints
from ._errors import ArgumentError, FormatError, InputError, IOFailure, StateError
from ._interrupt import long_call
from ._library import (INSTALL_COMMAND, SOURCE_TREE, call, find_command, is_packaged, lib,
                       offer_llama)
from ._text import Text, to_bytes, to_c_string, to_str

DEFAULT_MODEL = "enfr-everyday.safetensors"

Path_ = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]


class ModelInfo(NamedTuple):
    """The properties of a model."""

    kind: str  #: "tree", "chain", "arpa", ...
    vocab_size: int  #: number of tokens, the columns of a row
    eos: Optional[int]  #: the token that ends a sequence, or None
    needs_input: bool  #: whether it draws only with an input, such as a text to translate
    max_rows: Optional[int]  #: maximum number of live rows; None: no limit
    max_len: Optional[int]  #: maximum length of a sequence in tokens; None: no limit


class Score(NamedTuple):
    """The log-probability of an output under the model itself: temperature 1, nothing masked."""

    log_p: float
    token_log_p: np.ndarray  #: one for each token, and one for the end token if it was appended
    tokens: Tuple[int, ...]  #: without the end token


def _model_folders() -> List[Path]:
    """Returns the folders that may hold the models that come with sbeam."""
    folders = [SOURCE_TREE / "models"]
    command = find_command()
    if command is not None:
        folder = Path(command).resolve().parent
        folders += [folder, folder / "models", folder.parent / "models",
                    folder.parent / "share" / "sbeam"]
    return folders + [Path("/usr/local/share/sbeam"), Path("/usr/share/sbeam")]


def shipped_model(name: str = DEFAULT_MODEL) -> str:
    """Returns the path of a model that comes with sbeam: "weather.json", a chain; "fig1.json" and
    "greeting.json", trees; "rhymes.arpa", an n-gram model; or the translation model."""
    folders = _model_folders()
    for folder in folders:
        if (folder / name).is_file():
            return str(folder / name)
    raise IOFailure("the model %s was not found in %s: give the path of a model"
                    % (name, " or ".join(map(str, dict.fromkeys(folders)))))


def find_default_model() -> str:
    """Returns the path that the command uses without -m: the environment variable SBEAM_MODEL, or
    the English-French model that comes with sbeam."""
    given = os.environ.get("SBEAM_MODEL")
    if given:
        return given
    try:
        return shipped_model()
    except IOFailure as error:
        raise IOFailure("%s, or name one in the environment variable SBEAM_MODEL" % error) from None


class Model:
    """An open model file: a tree or a chain in JSON, an ARPA n-gram model, a translation model or a
    GGUF language model.

    path          the file; None opens the default translation model
    pretokenized  whether inputs and outputs are tokens separated by spaces
    bpe_marker    the mark at the end of a piece that the next piece continues, such as "@@"
    special       whether names of special tokens in an input, such as "</s>", are these tokens; by
                  default they are text. Only for GGUF models, and not with `pretokenized`

    Threads may share a model. You may close it while another thread draws from it, or while a
    Cursor is open: its memory is freed when the draw ends or the cursor is closed. Every new use
    after close raises a StateError."""

    def __init__(self, path: Optional[Path_] = None, pretokenized: bool = False,
                 bpe_marker: Optional[str] = None, special: bool = False) -> None:
        self._lock = threading.Lock()
        self._handle: Optional[int] = None
        self._n_uses = 0
        self._is_closed = True
        is_pretokenized = to_bool(pretokenized, "pretokenized")
        is_special = to_bool(special, "special")
        try:
            name = os.fsencode(find_default_model() if path is None else path)
        except UnicodeEncodeError:
            raise ArgumentError("the path of the model, %r, is not text" % (path,)) from None
        if not name:
            raise ArgumentError("the path of the model is empty")
        handle = ctypes.c_void_p()
        data = to_c_string(name, "the path")
        offer_llama()
        try:
            with long_call():
                call("sb_model_open", ctypes.byref(handle), data)
        except FormatError as error:
            if "built without llama.cpp" in str(error) and is_packaged():
                raise FormatError("%s, and install the package again: %s"
                                  % (error, INSTALL_COMMAND)) from None
            raise
        self._handle = handle.value
        self._is_closed = False
        self._path, self._options = os.fsdecode(name), (is_pretokenized, bpe_marker, is_special)
        try:
            if bpe_marker is not None:
                marker = to_c_string(bpe_marker, "bpe_marker")
                if not marker:
                    raise ArgumentError("bpe_marker is empty; expected a mark such as '@@'")
                call("sb_model_set_marker", handle, marker)
            call("sb_model_set_pretokenized", handle, is_pretokenized)
            if is_special and is_pretokenized:
                raise ArgumentError("special does not go with pretokenized, which names every "
                                    "token, special ones included")
            call("sb_model_set_special", handle, is_special)
        except BaseException:
            self.close()
            raise
        info = lib.sb_model_get_info(handle).contents
        self._info = ModelInfo(info.kind.decode(), info.vocab_size,
                               info.eos if info.eos >= 0 else None, info.needs_input,
                               info.max_rows or None, info.max_len or None)

    # --- opening and closing ---

    def close(self) -> None:
        """Frees the model when its last use has ended. Closing it twice does no harm."""
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

    def _begin_use(self) -> int:
        """Returns the handle, which stays valid until _end_use."""
        with self._lock:
            if self._is_closed or self._handle is None:
                raise StateError("the model is closed")
            self._n_uses += 1
            return self._handle

    def _end_use(self) -> None:
        with self._lock:
            self._n_uses -= 1
        self._free_if_idle()

    @contextlib.contextmanager
    def _use(self) -> Iterator[int]:
        """Yields the handle, which stays valid inside the with block."""
        handle = self._begin_use()
        try:
            yield handle
        finally:
            self._end_use()

    @property
    def closed(self) -> bool:
        return self._is_closed

    def __enter__(self) -> "Model":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self.close()

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self), (self._path,) + self._options  # unpickling opens the file again

    def __repr__(self) -> str:
        return "<sbeam.Model %r, %s%s>" % (self._path, self._info.kind,
                                           ", closed" if self._is_closed else "")

    # --- properties ---

    @property
    def path(self) -> str:
        return self._path

    @property
    def info(self) -> ModelInfo:
        return self._info

    def describe(self) -> Dict[str, str]:
        """Returns the facts that `sbeam info` prints, by name."""
        facts: Dict[str, str] = {}

        def say(_user: object, name: bytes, value: bytes) -> None:
            facts[name.decode()] = to_str(value)

        with self._use() as handle:
            lib.sb_model_describe(handle, s.DESCRIBE_FN(say), None)
        return facts

    # --- text ---

    def encode(self, text: Text) -> Tuple[int, ...]:
        """Returns the token ids of an output. Raises an InputError if the model has no token for a
        word."""
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
        """Returns the text of the tokens of an output."""
        return to_str(self._decode(self._check_tokens(tokens)))

    def _decode(self, tokens: Items[int]) -> bytes:
        with self._use() as handle:
            return decode_tokens(handle, tokens)

    def token_text(self, token: int) -> Optional[str]:
        """Returns the text of one token, or None if it has no text."""
        [token] = self._check_tokens([token])
        with self._use() as handle:
            text = lib.sb_model_token_text(handle, token)
            return None if text is None else to_str(text)

    def find_token(self, text: Text) -> Optional[int]:
        """Returns the id of the token with this text, or None."""
        data = to_bytes(text, "text")
        with self._use() as handle:
            token = lib.sb_model_find_token(handle, data, len(data))
        return token if token >= 0 else None

    def _check_tokens(self, tokens: Items[int]) -> List[int]:
        ids = to_ints(tokens, "tokens", 0, 2**31 - 1)
        for token in ids:
            if token >= self._info.vocab_size:
                raise InputError("token %d is not in the vocabulary; expected 0 to %d"
                                 % (token, self._info.vocab_size - 1))
        return ids

    # --- scores ---

    def score(self, input: Optional[Text], output: Union[Text, Items[int]], *, eos: bool = True,
              max_len: Optional[int] = None) -> Score:
        """Returns the log-probability of an output (text or tokens) after an input (None: empty).

        The output counts as a whole sequence: if the model has an end token, it is appended. It is
        not appended if `eos` is False, or if the output has already the length `max_len` or the
        model's own maximum."""
        ids = (self._check_tokens(self.encode(output)) if isinstance(output, (str, bytes))
               else self._check_tokens(output))
        info = self._info
        if max_len is not None and len(ids) > to_int(max_len, "max_len", 0, 2**31 - 1):
            raise InputError("the output has %d tokens; expected at most max_len, %d"
                             % (len(ids), max_len))
        scored = list(ids)
        if to_bool(eos, "eos") and info.eos is not None and len(ids) not in (max_len, info.max_len):
            scored.append(info.eos)
        n = len(scored)
        log_p = (ctypes.c_double * max(n, 1))()
        data = None if input is None else to_bytes(input, "input")
        if data is None and info.needs_input:
            raise ArgumentError("input is None, but a model of kind '%s' needs an input"
                                % info.kind)
        with self._use() as handle, long_call():
            call("sb_score", handle, data, 0 if data is None else len(data),
                 (ctypes.c_int32 * max(n, 1))(*scored), n, log_p)
        total = 0.0
        for x in log_p[:n]:  # in the order in which the command adds, for equal bits
            total += x
        return Score(total, np.array(log_p[:n], dtype=np.float64), tuple(ids))


def decode_tokens(handle: int, tokens: Items[int]) -> bytes:
    """Returns the text of tokens that come from the model itself."""
    text = ctypes.c_void_p()
    n = len(tokens)
    call("sb_model_decode", handle, (ctypes.c_int32 * max(n, 1))(*tokens), n, ctypes.byref(text))
    try:
        return ctypes.string_at(text)
    finally:
        lib.sb_free(text)
