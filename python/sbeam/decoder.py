"""The search step by step, around a model that the host computes."""
from __future__ import annotations

import contextlib
import ctypes
import sys
import threading
from typing import (Any, Callable, Iterable, Iterator, List, NamedTuple, NoReturn, Optional, Set,
                    Tuple, Union)

import numpy as np

from . import _structs as s
from ._arrays import count, to_rows
from ._config import Config, is_many, to_bool, to_floats, to_int, to_ints, to_list, to_seed
from ._errors import (ArgumentError, Error, LimitError, ModelError, OutOfMemoryError,
                      StateError)
from ._library import call, call_counting, lib
from .results import Draw, DrawMaker
from .trie import Trie, to_trie

_MOST_INPUTS = 4096


class Rows(NamedTuple):
    """The rows that the decoder needs next: three int32 arrays of shape (n_rows,). Row i belongs to
    input[i]. It continues row parent[i] of the previous rows with token[i]; both are -1 at the
    start of an input."""

    parent: np.ndarray
    token: np.ndarray
    input: np.ndarray


class States(NamedTuple):
    """The states of the rows that the decoder needs next: three int32 arrays, the first two of
    shape (n_rows,). Row i continues state from_[i], or no state if it is -1, and its own state
    becomes state to[i]. No row needs the states `released` any more."""

    from_: np.ndarray
    to: np.ndarray
    released: np.ndarray


def _copy(numbers: Any, n: int) -> np.ndarray:
    """Returns a copy of n int32 of C."""
    if n == 0:  # then the pointer may be NULL
        return np.empty(0, dtype=np.int32)
    return np.ctypeslib.as_array(numbers, (n,)).astype(np.int32, copy=True)


def number_inputs(n: int, temperature: Union[float, Iterable[float]],
                  streams: Optional[Iterable[int]], draws: Union[None, int, Iterable[int]]
                  ) -> Tuple[List[float], List[int], List[int]]:
    """Returns the temperatures, the streams and the draws of n inputs."""
    temperatures = to_floats(temperature, "temperature")
    if len(temperatures) == 1:
        temperatures *= n
    numbers = list(range(n)) if streams is None else to_ints(streams, "streams", 0, 2**64 - 1)
    rounds = (to_ints(draws, "draws", 0, 2**64 - 1) if is_many(draws)
              else [to_int(0 if draws is None else draws, "draws", 0, 2**64 - 1)] * n)
    for name, given in (("temperature", temperatures), ("streams", numbers), ("draws", rounds)):
        if len(given) != n:
            raise ArgumentError("%s has %s for %s%s" % (
                name, count(len(given), "number"), count(n, "input"),
                "; for a batch use inputs=%d" % len(given) if n == 1 and len(given) > 1 else ""))
    return temperatures, numbers, rounds


class Decoder:
    """Draws k distinct sequences from a model whose logits you compute, step by step.

        decoder = sbeam.Decoder(vocab_size, k=5, eos=2, seed=1)
        while not decoder.done:
            parent, token, input = decoder.rows()
            ... reorder the model's states by parent, feed it token (-1 at the start) ...
            decoder.advance(logits)                 # (n_rows, vocab_size)
        draw = decoder.result()

    vocab_size   number of tokens, the columns of the logits
    k            number of sequences to draw
    eos          the token that ends a sequence; None: sequences end by max_len or is_leaf
    method       "sbs" or another of sbeam.METHODS
    temperature  divides the logits: a number, or one for each input
    seed         the key of all noise; None: random below 2^53. The result holds it
    inputs       number of inputs that are decoded together, each with rows of its own; at most 4096
    streams      the number of each input; default 0, 1, ...
    draws        the number of the draw: one for all inputs, or one for each; default 0
    is_leaf      (row, token) -> bool: whether this child of a row just given is a leaf
    is_stop      (tokens) -> bool: whether a sequence ends here because of its text
    decode       (tokens) -> str: the text of a sequence, for the results and for until_texts
    keeps_states whether you keep the states of the model by number (see States below)
    ban          token ids of probability zero
    allow        the permitted outputs: lists of token ids without the end token, or a Trie. At each
                 step a token that continues none of them has probability zero. Without `eos` a
                 sequence ends at the end of its line
    settings     max_len, min_len, top_k, ...: see sbeam.options()

    Seed, stream and draw determine the noise. In a loop that opens a decoder in each step, a fixed
    seed gives every step the same noise. Pass draws=step, or other streams in each step.

    Logits are NumPy arrays or PyTorch tensors of unnormalised log-probabilities. -inf is a token of
    probability zero. float32 and float64 are not copied if the elements of a row are adjacent in
    memory; float16 and bfloat16 are converted. Graphs are ignored: the log_p of a result is a
    number, not a tensor. To differentiate, let your model compute log_p again with the same
    temperature and bans (python/README.md shows how).

    States. With keeps_states=True the search is best-first: it evaluates fewer rows, and a row may
    continue a row of any earlier step. Then parent is -1 in every row, and states() tells what each
    row continues:

        kept = {}                                   # your states by number
        while not decoder.done:
            _, token, input = decoder.rows()
            from_, to, released = decoder.states()
            for number in released: del kept[number]
            before = [kept.get(number, start) for number in from_]      # -1: the start
            ... one row of logits and one new state for each row ...
            kept.update(zip(to, new_states))        # after all states before were read
            decoder.advance(logits)

    Both searches draw the same sequences, bit for bit if the logits of a row do not depend on the
    other rows. search="best-first", parallel, until_mass and until_texts need keeps_states.

    Errors. advance raises a ModelError if a row is not a distribution (NaN, +inf, all -inf). Only
    its input has failed: result(input) raises the error again, `errors` holds it, and the other
    inputs have advanced. advance also raises the exceptions of your own functions; after that you
    can only close the decoder. Logits of the wrong shape or type are refused and change nothing.

    Only one thread at a time may use a decoder; a second one gets a StateError."""

    def __init__(self, vocab_size: int, k: int = 5, *, eos: Optional[int] = None,
                 method: str = "sbs", temperature: Union[float, Iterable[float]] = 1.0,
                 seed: Optional[int] = None, inputs: int = 1,
                 streams: Optional[Iterable[int]] = None,
                 draws: Union[None, int, Iterable[int]] = None,
                 is_leaf: Optional[Callable[[int, int], bool]] = None,
                 is_stop: Optional[Callable[[Tuple[int, ...]], bool]] = None,
                 decode: Optional[Callable[[Tuple[int, ...]], str]] = None,
                 keeps_states: bool = False, ban: Optional[Iterable[int]] = None,
                 allow: Union[None, Trie, Iterable[Iterable[int]]] = None,
                 **settings: Any) -> None:
        self._lock = threading.Lock()
        self._handle: Optional[int] = None
        self._is_failed = False
        self._has_advanced = False
        self._needs_states = to_bool(keeps_states, "keeps_states")
        self._has_states = False  # whether states() was called for the rows that are needed next
        self._problem: Optional[BaseException] = None
        self._decode = decode
        self._vocab_size = to_int(vocab_size, "vocab_size", 1, 2**31 - 1)
        n = self._n_inputs = to_int(inputs, "inputs", 1, _MOST_INPUTS)
        eos = -1 if eos is None else to_int(eos, "eos", 0, self._vocab_size - 1)
        temperatures, numbers, rounds = number_inputs(n, temperature, streams, draws)
        banned = to_ints(to_list(ban, "ban"), "ban", 0, self._vocab_size - 1)
        if "stop" in settings:
            raise TypeError("unexpected keyword 'stop': a decoder does not know the text of "
                            "tokens; use is_stop")
        for x in temperatures:  # checks each: C would read 0 as "not given"
            Config({"temperature": x})
        config = Config(dict(settings, k=k, method=method, seed=to_seed(seed),
                             temperature=temperatures[0]))
        config.set_ban(banned)
        config.set_allow(to_trie(allow))
        if config.struct.until_texts > 0 and decode is None:
            raise ArgumentError("until_texts is %d, but decode is None; expected a function, because "
                                "a decoder does not know the text of tokens"
                                % config.struct.until_texts)
        self._maker = DrawMaker(None, config)
        self._texts: List[Set[str]] = [set() for _ in range(n)]
        # C calls them as long as the decoder is open: they must not be freed before.
        self._callbacks = (s.LEAF_FN() if is_leaf is None else s.LEAF_FN(self._guard_leaf(is_leaf)),
                           s.STOP_FN() if is_stop is None
                           else s.STOP_FN(self._guard_stop(is_stop)),
                           s.NEW_TEXT_FN() if config.struct.until_texts == 0 or decode is None
                           else s.NEW_TEXT_FN(self._guard_new_text(decode)))
        spec = s.sb_decoder_spec(self._vocab_size, eos, s.ROW_FLOAT, n, 0,
                                 self._needs_states, False, 0, None, *self._callbacks)
        handle = ctypes.c_void_p()
        call("sb_decoder_open", ctypes.byref(handle), ctypes.byref(spec),
             ctypes.byref(config.struct))
        self._handle = handle.value
        self._row_type = s.ROW_FLOAT
        self._draws: List[Union[None, Draw, Error]] = [None] * n
        try:
            for i in range(n):
                job = s.sb_job(numbers[i], rounds[i], temperatures[i])
                call("sb_decoder_add", self._handle, ctypes.byref(job), None)
        except BaseException:
            self.close()
            raise

    # --- functions of the host that C calls ---

    def _guard_leaf(self, function: Callable[[int, int], bool]) -> Callable[..., bool]:
        def guarded(_user: object, row: int, token: int) -> bool:
            try:
                return self._problem is None and bool(function(row, token))
            except BaseException as problem:  # no exception may pass through C
                self._problem = problem
                return True
        return guarded

    def _guard_stop(self, function: Callable[[Tuple[int, ...]], bool]) -> Callable[..., int]:
        def guarded(_user: object, tokens: Any, n_tokens: int) -> int:
            try:
                if self._problem is not None:
                    return -1
                return int(bool(function(tuple(tokens[:n_tokens]))))
            except BaseException as problem:
                self._problem = problem
                return -1
        return guarded

    def _guard_new_text(self, function: Callable[[Tuple[int, ...]], str]) -> Callable[..., int]:
        def guarded(_user: object, slot: int, rank: int, sequence: Any) -> int:
            try:
                if self._problem is not None:
                    return -1
                texts = self._texts[slot]
                if rank == 0:
                    texts.clear()
                c = sequence.contents
                text = function(tuple(c.tokens[:c.n_tokens]) if c.n_tokens > 0 else ())
                is_new = text not in texts
                texts.add(text)
                return int(is_new)
            except BaseException as problem:
                self._problem = problem
                return -1
        return guarded

    @contextlib.contextmanager
    def _catching(self) -> Iterator[None]:
        """Keeps the exception of a signal handler (Ctrl-C) that Python runs between C and a guarded
        function of the host, before its try block. There ctypes only reports the exception to
        sys.unraisablehook, so this replaces the hook. Other threads run no signal handlers."""
        if (not any(self._callbacks)
                or threading.current_thread() is not threading.main_thread()):
            yield
            return
        report = sys.unraisablehook

        def catch(args: Any) -> None:
            if "ctypes callback" in (args.err_msg or ""):
                self._problem = args.exc_value or args.exc_type()
            else:
                report(args)

        sys.unraisablehook = catch
        try:
            yield
        finally:
            sys.unraisablehook = report

    # --- opening and closing ---

    @contextlib.contextmanager
    def _use(self) -> Iterator[int]:
        if not self._lock.acquire(blocking=False):
            raise StateError("the decoder is in use, by another thread or by the function that "
                             "it is calling")
        try:
            if self._handle is None:
                raise StateError("the decoder is closed")
            if self._is_failed:
                raise StateError("the decoder has failed before; close it and open a new one")
            yield self._handle
        finally:
            self._lock.release()

    def close(self) -> None:
        """Frees the decoder. Finished results stay. Closing it twice does no harm."""
        if not self._lock.acquire(blocking=False):
            raise StateError("the decoder is in use and cannot be closed")
        try:
            handle, self._handle = self._handle, None
            if handle is not None:
                lib.sb_decoder_close(handle)
        finally:
            self._lock.release()

    def __enter__(self) -> "Decoder":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            lib.sb_decoder_close(self._handle)
            self._handle = None

    def __reduce_ex__(self, _protocol: Any) -> NoReturn:
        raise TypeError("a Decoder can be neither copied nor pickled")

    # --- steps ---

    @property
    def vocab_size(self) -> int:
        return self._vocab_size

    @property
    def done(self) -> bool:
        """Whether all inputs have finished."""
        with self._use() as handle:
            return bool(lib.sb_decoder_done(handle))

    def rows(self) -> Rows:
        """Returns the rows that are needed next, as copies: (parent, token, input). They are empty
        when the decoder is done."""
        with self._use() as handle:
            return self._rows(handle)

    @staticmethod
    def _rows(handle: int) -> Rows:
        lists = [ctypes.POINTER(ctypes.c_int32)() for _ in range(3)]
        n = lib.sb_decoder_rows(handle, *map(ctypes.byref, lists))
        return Rows(*(_copy(numbers, n) for numbers in lists))

    def states(self) -> States:
        """Returns the states of the rows that are needed next, as copies: (from_, to, released).
        Only with keeps_states=True; call it for each rows(), before advance.

        First free the states `released`, because a row may get one of their numbers. Then read the
        states from_ of all rows, and only after that store the new states `to`: a number may be
        both."""
        with self._use() as handle:
            lists = [ctypes.POINTER(ctypes.c_int32)() for _ in range(3)]
            n = lib.sb_decoder_rows(handle, None, None, None)
            try:
                n_released = call_counting("sb_decoder_states", handle, *map(ctypes.byref, lists))
            except OutOfMemoryError:
                self._is_failed = True
                raise
            self._has_states = True
            return States(_copy(lists[0], n), _copy(lists[1], n), _copy(lists[2], n_released))

    def advance(self, logits: Any) -> None:
        """Reads the logits of the rows, (n_rows, vocab_size), and takes one step."""
        with self._use() as handle:
            n = lib.sb_decoder_rows(handle, None, None, None)
            if n == 0:
                raise StateError("the decoder is done and needs no more rows")
            if self._needs_states and not self._has_states:
                raise StateError("the rows have no states yet: call states() before each advance")
            is_first_of_one = self._n_inputs == 1 and not self._has_advanced
            rows = to_rows(logits, n, self._vocab_size, is_first_of_one)
            self._has_advanced = True
            self._has_states = False
            row_type = s.ROW_DOUBLE if rows.dtype == np.float64 else s.ROW_FLOAT
            if row_type != self._row_type:
                call("sb_decoder_set_row_type", handle, row_type)
                self._row_type = row_type
            stride = rows.strides[0] // rows.itemsize if n > 1 else self._vocab_size
            failure: Optional[Error] = None
            try:
                with self._catching():
                    call("sb_decoder_advance", handle, rows.ctypes.data, stride)
            except (ModelError, LimitError) as error:  # only one input has failed
                failure = error
            except Error:
                self._is_failed = True
                if self._problem is None:
                    raise
            if self._problem is not None:
                self._is_failed = True
                raise self._problem
            self._collect(handle)
        if failure is not None:
            raise failure

    def _collect(self, handle: int) -> None:
        """Copies the results of the inputs that have finished."""
        while True:
            slot = lib.sb_decoder_finished(handle)
            if slot < 0:
                return
            result = ctypes.POINTER(s.sb_result)()
            call("sb_result_open", ctypes.byref(result))
            try:
                call("sb_decoder_take", handle, slot, result)
                self._draws[slot] = self._maker.make(result)
            except (ModelError, LimitError) as error:
                self._draws[slot] = error
            finally:
                lib.sb_result_close(result)

    # --- results ---

    @property
    def errors(self) -> List[Optional[Error]]:
        """The error of each input, or None."""
        return [d if isinstance(d, Error) else None for d in self._draws]

    def result(self, input: int = 0) -> Draw:
        """Returns the draw of an input that has finished. Raises the error of one that failed."""
        found = self._draws[to_int(input, "input", 0, self._n_inputs - 1)]
        if found is None:
            raise StateError("input %d has not finished: advance until the decoder is done" % input)
        if isinstance(found, Error):
            raise found
        return self._add_text(found)

    def results(self) -> List[Draw]:
        """Returns the draws of all inputs, in order. Raises the first error of an input."""
        return [self.result(i) for i in range(self._n_inputs)]

    def _add_text(self, draw: Draw) -> Draw:
        decode = self._decode
        if decode is None:
            return draw
        fields = dict(vars(draw))
        fields["sequences"] = tuple(sequence._replace(text=decode(sequence.tokens))
                                    for sequence in draw.sequences)
        return Draw(**fields)
