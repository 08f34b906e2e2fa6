"""A draw without a fixed number of sequences: it gives one after the other until you stop."""
from __future__ import annotations

import collections
import ctypes
import threading
from typing import Any, Deque, Iterable, NamedTuple, NoReturn, Optional, Union

from . import _structs as s
from ._config import Config, to_float, to_int, to_seed
from ._errors import ArgumentError, StateError
from ._interrupt import Interrupt, long_call, run_interruptibly
from ._library import call, call_counting, lib
from ._text import Text, to_bytes, to_str
from .draw import opened_model, set_lists
from .model import Model, Path_
from .results import ENDS, Draw, DrawMaker, Sequence, make_sequence
from .trie import Trie

# The settings of `draw` that a cursor does not have, and what to use instead.
_ONE_DRAW = "a cursor is one draw, which one thread computes"
_REFUSED = {
    "k": "a cursor has no k: take as many sequences as you need, or use sbeam.draw",
    "kappa": "a cursor always has its threshold, which is kappa of all sequences so far",
    "until_mass": "end the loop over the cursor instead",
    "until_texts": "end the loop over the cursor instead",
    "draws": "a cursor is one draw; its number is the keyword draw",
    "streams": "a cursor has one input; its number is the keyword stream",
    "inputs": "a cursor has one input, the keyword input",
    "threads": _ONE_DRAW,
    "batch": _ONE_DRAW,
    "cache": _ONE_DRAW,
}


class CursorUse(NamedTuple):
    """The work and the memory of a cursor so far."""

    sequences: int  #: number of sequences that it has found
    model_rows: int  #: number of rows that the model computed
    entries: int  #: number of prefixes and sequences that wait in the queue of the search
    bytes: int  #: memory of the search; the states of the model come on top of it


class Cursor:
    """Draws one sequence after the other, without replacement, for as long as you want more.

        with sbeam.Cursor("models/weather.json", seed=1) as cursor:
            for sequence in cursor:
                print(sequence.text, sequence.log_p)
                if cursor.threshold < -3:
                    break

    The first k sequences are those of draw(..., k=k) with the same settings, seed, stream and draw:
    for every k, bit for bit. So a cursor continues a draw instead of repeating it. The iteration
    ends when the model has no other sequences; many models have infinitely many.

    model        the path of a model, an open Model, or None for the default translation model
    input        the prefix to continue or the text to translate. None is the empty prefix; models
                 that need an input refuse it
    stream       the number of the input
    draw         the number of the draw; seed, stream and draw determine the noise
    temperature  divides the model's logits
    seed         the key of all noise; None: random below 2^53. The attribute `seed` holds it
    stop         strings that end a sequence; its text is cut before them, its tokens are kept
    ban          tokens of probability zero, by text or by id
    allow        the permitted outputs: texts, lists of token ids, or a Trie
    settings     max_len, min_len, top_k, top_p, min_p, parallel: see sbeam.options()

    The log_weight of a sequence is NaN, because weights need the number of sequences. `draw()`
    returns the sequences with weights, and says when these hold. The search is best-first. A model
    that keeps a limited number of states, such as a GGUF model, is refused.

    Ctrl-C ends the search for the next sequence before its next step and raises KeyboardInterrupt.
    Afterwards the cursor continues with the same sequences as without the interrupt. If the search
    itself has failed, later calls raise the same error again.

    The cursor keeps what it may need later, so its memory grows (`use`). Close it, or use it in a
    with block. Threads may share a cursor: each next() gives another sequence."""

    def __init__(self, model: Union[None, Path_, Model] = None, input: Optional[Text] = None, *,
                 stream: int = 0, draw: int = 0, temperature: float = 1.0,
                 seed: Optional[int] = None, stop: Union[None, Text, Iterable[Text]] = None,
                 ban: Union[None, Text, Iterable[Union[Text, int]]] = None,
                 allow: Union[None, Trie, Text, Iterable[Union[Text, Iterable[int]]]] = None,
                 pretokenized: bool = False, bpe_marker: Optional[str] = None,
                 special: bool = False, **settings: Any) -> None:
        # Held during each call of the library. The search runs in a helper thread, in which Python
        # raises no exceptions of signal handlers.
        self._lock = threading.RLock()
        self._handle: Optional[int] = None
        self._model: Optional[Model] = None
        self._maker: Optional[DrawMaker] = None
        self._without_text: Optional[Sequence] = None  # if its text could not be made yet
        self._found: Deque[Sequence] = collections.deque()  # to be given by next()
        self._is_at_end = False
        for keyword, why in _REFUSED.items():
            if keyword in settings:
                raise TypeError("unexpected keyword %r: %s" % (keyword, why))
        self._stream = to_int(stream, "stream", 0, 2**64 - 1)
        number = to_int(draw, "draw", 0, 2**64 - 1)
        self._config = Config(dict(settings, seed=to_seed(seed),
                                   temperature=to_float(temperature, "temperature")))
        text = None if input is None else to_bytes(input, "input")
        with opened_model(model, pretokenized, bpe_marker, special) as opened:
            set_lists(self._config, opened, ban, stop, allow)
            if text is None and opened.info.needs_input:
                raise ArgumentError("input is None, but a model of kind '%s' needs an input"
                                    % opened.info.kind)
            self._text = text or b""
            self._open(opened, number)

    def _open(self, model: Model, number: int) -> None:
        # The model stays in memory while the cursor is open, even if the model is closed.
        self._model_handle = model._begin_use()
        self._model = model
        spec = s.sb_cursor_spec(ctypes.cast(ctypes.c_char_p(self._text), ctypes.c_void_p),
                                len(self._text), self._stream, number)
        handle = ctypes.c_void_p()
        try:
            with long_call():
                call("sb_cursor_open", ctypes.byref(handle), self._model_handle,
                     ctypes.byref(spec), ctypes.byref(self._config.struct))
        finally:
            self._handle = handle.value
            if self._handle is None:
                self._free()

    # --- opening and closing ---

    def _get_handle(self) -> int:
        if self._handle is None:
            raise StateError("the cursor is closed")
        return self._handle

    def _free(self) -> None:
        """Frees the cursor, then what it refers to."""
        handle, self._handle = self._handle, None
        if handle is not None:
            lib.sb_cursor_close(handle)
        self._maker = None
        model, self._model = self._model, None
        if model is not None:
            model._end_use()

    def close(self) -> None:
        """Frees the cursor, after a search that another thread has under way. Sequences and draws
        that it gave stay. Closing it twice does no harm."""
        with self._lock:
            self._free()

    def __enter__(self) -> "Cursor":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_model", None) is not None:
            self._free()

    def __reduce_ex__(self, _protocol: Any) -> NoReturn:
        raise TypeError("a Cursor can be neither copied nor pickled")

    # --- sequences ---

    def __iter__(self) -> "Cursor":
        return self

    def __next__(self) -> Sequence:
        while self._handle is not None:
            try:
                return self._found.popleft()
            except IndexError:
                if self._is_at_end:
                    raise StopIteration from None
            interrupt = Interrupt()
            run_interruptibly(lambda: self._find(interrupt), interrupt)
        raise StateError("the cursor is closed")

    def _find(self, interrupt: Interrupt) -> None:
        """Finds the next sequence, unless there is one that was not given: an interrupt may come
        when a sequence has just been found."""
        with self._lock:
            handle = self._get_handle()
            if self._found or self._is_at_end:
                return
            if self._without_text is None:
                c = s.sb_sequence()
                lib.sb_cursor_set_interrupt(handle, interrupt.handle)
                try:
                    n = call_counting("sb_cursor_next", handle, ctypes.byref(c))
                finally:
                    lib.sb_cursor_set_interrupt(handle, None)
                if n == 0:
                    self._is_at_end = True
                    return
                self._without_text = make_sequence(c, None)
            text = self._read_text(self._without_text)
            self._found.append(self._without_text._replace(text=text))
            self._without_text = None

    def _read_text(self, sequence: Sequence) -> str:
        c = s.sb_sequence(n_tokens=len(sequence.tokens), end=ENDS.index(sequence.end))
        c.tokens = (ctypes.c_int32 * max(c.n_tokens, 1))(*sequence.tokens)
        text = ctypes.c_void_p()
        call("sb_sequence_text", self._model_handle, ctypes.byref(self._config.struct),
             ctypes.byref(c), ctypes.byref(text))
        try:
            return to_str(ctypes.string_at(text))
        finally:
            lib.sb_free(text)

    @property
    def threshold(self) -> float:
        """The g of the next sequence, which is kappa of all sequences so far; -inf if there is no
        other sequence. The search is not continued for it."""
        with self._lock:
            return float(lib.sb_cursor_threshold(self._get_handle()))

    def draw(self) -> Draw:
        """Returns all sequences so far as a draw of that many, with kappa and weights.

        **The weights hold only if you chose the number of sequences beforehand**, without looking
        at the sequences. If you stop as soon as you like what you see (a total probability, a
        standard error, a certain text), weights at this number are biased, and so is every estimate
        from them. Then choose the number n with this cursor, and estimate from another draw:
        sbeam.draw(..., k=n) with another stream or seed. python/README.md shows how.

        If an interrupt came just when the next sequence had been found, it is in the draw, too,
        and next() gives it next."""
        with self._lock:
            handle = self._get_handle()
            if self._maker is None:
                self._maker = DrawMaker(self._model_handle, self._config)
            text = ctypes.cast(ctypes.c_char_p(self._text), ctypes.c_void_p)
            source = s.sb_input(text, len(self._text), self._stream, None)
            result = ctypes.POINTER(s.sb_result)()
            call("sb_result_open", ctypes.byref(result))
            try:
                call("sb_cursor_get_result", handle, result)
                return self._maker.make(result, ctypes.pointer(source))
            finally:
                lib.sb_result_close(result)

    # --- properties ---

    @property
    def seed(self) -> int:
        return int(self._config.struct.seed)

    @property
    def use(self) -> CursorUse:
        """The work and the memory of the cursor so far: sequences, rows, entries, bytes."""
        with self._lock:
            use = lib.sb_cursor_get_use(self._get_handle())
            return CursorUse(use.sequences, use.model_rows, use.entries, use.bytes)
