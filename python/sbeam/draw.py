"""Draws from a model file in one call, like the command `sbeam draw`."""
from __future__ import annotations

import contextlib
import ctypes
import inspect
import os
import textwrap
from typing import Any, Iterable, Iterator, List, Optional, Sequence as Items, Union

from . import _structs as s
from ._arrays import count
from ._config import (METHODS, PLAN_OPTIONS, Config, Option, make_plan, options, to_bool, to_floats,
                      to_int, to_ints, to_list, to_seed)
from ._errors import ArgumentError
from ._interrupt import Interrupt, run_interruptibly
from ._library import call, lib
from ._text import Text, to_bytes, to_c_string, to_str
from .model import Model, Path_
from .results import Draw, DrawMaker
from .trie import Trie, to_trie

_DEFAULTS = {option.keyword: option.default for option in options()}
_OF_KIND = {"int": int, "float": float, "bool": bool, "choice": str}
_TYPES = {option.keyword: (_OF_KIND[option.kind] if option.none_means is None
                           else Optional[_OF_KIND[option.kind]]) for option in options()}


def draw(model: Union[None, Path_, Model] = None, inputs: Union[None, Text, Iterable[Text]] = None,
         k: int = _DEFAULTS["k"],
         temperature: Union[float, Iterable[float]] = _DEFAULTS["temperature"],
         method: str = _DEFAULTS["method"], seed: Optional[int] = None,
         draws: int = _DEFAULTS["draws"], *, stop: Union[None, Text, Iterable[Text]] = None,
         ban: Union[None, Text, Iterable[Union[Text, int]]] = None,
         allow: Union[None, Trie, Text, Iterable[Union[Text, Iterable[int]]]] = None,
         pretokenized: bool = False,
         bpe_marker: Optional[str] = None, special: bool = False,
         streams: Union[None, int, Iterable[int]] = None, **settings: Any) -> List[Draw]:
    """Draws k distinct sequences from a model by Stochastic Beam Search, or by another method.

        >>> for s in sbeam.draw("models/weather.json", k=3, seed=1)[0]:
        ...     print(s.text, s.log_p)

    model        the path of a model, an open Model, or None for the default translation model
    inputs       prefixes to continue or texts to translate: one, or a list. None draws from the
                 empty prefix; models that need an input refuse it
    temperature  divides the model's logits: a number, or a list of numbers
    seed         the key of all noise; None: random below 2^53. The results hold it
    stop         strings that end a sequence; its text is cut before them, its tokens are kept
    ban          tokens of probability zero, by text or by id
    allow        the permitted outputs: texts, lists of token ids without the end token, or a Trie.
                 At each step a token that continues none of them has probability zero
    streams      the numbers of the inputs: a list, or the first of them; default 0, 1, ...

    The settings below come from the library. threads, batch and cache change the speed, not the
    draws, apart from the rounding of GGUF models. The command `sbeam draw` makes the same draws
    for the same seed, bit for bit. `pretokenized`, `bpe_marker` and `special` are for a model that
    is opened here; give those of an open Model to Model().

    Seed, stream and draw determine the noise. In a loop with a fixed seed, each call starts at
    stream 0 again and has the same noise. To avoid this, continue the numbers of the inputs:
    streams=n after n inputs.

    Returns one Draw for each input, temperature and draw, in this order. Ctrl-C ends the work
    before its next step."""
    plan_settings = {name: settings.pop(name) for name in PLAN_OPTIONS if name in settings}
    temperatures = to_floats(temperature, "temperature")
    config = Config(dict(settings, k=k, method=method, seed=to_seed(seed)))
    plan = make_plan(dict(plan_settings, draws=draws), temperatures)
    with opened_model(model, pretokenized, bpe_marker, special) as opened:
        set_lists(config, opened, ban, stop, allow)
        return _draw_from(opened, inputs, config, plan, streams)


@contextlib.contextmanager
def opened_model(model: Union[None, Path_, Model], pretokenized: bool, bpe_marker: Optional[str],
                 special: bool) -> Iterator[Model]:
    """Yields the model, which is opened for the with block unless it is open."""
    if isinstance(model, Model):
        if (to_bool(pretokenized, "pretokenized") or to_bool(special, "special") or
                bpe_marker is not None):
            raise ArgumentError("pretokenized, bpe_marker and special cannot change an open "
                                "Model; give them to Model()")
        yield model
        return
    if not (model is None or isinstance(model, (str, bytes, os.PathLike))):
        raise ArgumentError("model is of type %s; expected a path or a Model"
                            % type(model).__name__)
    with Model(model, pretokenized=pretokenized, bpe_marker=bpe_marker, special=special) as opened:
        yield opened


def _make_signature() -> inspect.Signature:
    """Returns the signature of draw with the settings of the library's tables by name."""
    written = inspect.signature(draw)
    parameters = dict(written.parameters)
    del parameters["settings"]
    for keyword, default in _DEFAULTS.items():
        if keyword not in parameters:
            parameters[keyword] = inspect.Parameter(keyword, inspect.Parameter.KEYWORD_ONLY,
                                                    default=default, annotation=_TYPES[keyword])
    return written.replace(parameters=list(parameters.values()))


def _describe(option: Option) -> str:
    """Returns the lines of a setting for the docstring: its phrase, methods, choices and default."""
    facts = [] if option.methods == METHODS else [", ".join(option.methods)]
    if option.choices:
        facts.append(", ".join(repr(choice) for choice in option.choices))
    facts.append("default: %r%s" % (option.default,
                                    ", chosen for the model" if option.none_means == "auto"
                                    else ""))
    return textwrap.fill("%-14s %s (%s)" % (option.keyword, option.help, "; ".join(facts)), 96,
                         subsequent_indent=15 * " ")


draw.__signature__ = _make_signature()  # type: ignore[attr-defined]
if draw.__doc__ is not None:  # python -OO has no docstrings
    # Python removes the indentation from version 3.13 on.
    draw.__doc__ = inspect.cleandoc(draw.__doc__) + "\n\n" + "\n".join(
        _describe(option) for option in options() if option.keyword not in ("temperature", "seed"))


def _find_bans(model: Model, ban: Any) -> List[int]:
    ids: List[int] = []
    for token in to_list(ban, "ban"):
        if isinstance(token, (str, bytes)):
            found = model.find_token(token)
            if found is None:
                with model._use() as handle:
                    own = lib.sb_model_has_own_text(handle)
                raise ArgumentError("ban: the model has no token %r%s" % (
                    to_str(to_bytes(token, "ban"))[:60],
                    "; its tokens are pieces of words, and the first piece of a word begins with "
                    "'\u2581'" if own else ""))
            ids.append(found)
        else:
            ids.append(to_int(token, "ban", 0, model.info.vocab_size - 1))
    return ids


def _number_inputs(streams: Any, n: int) -> List[int]:
    most = 2**64 - 1
    if streams is None:
        return list(range(n))
    try:
        first = to_int(streams, "streams", 0, most - max(n - 1, 0))
        return list(range(first, first + n))
    except ArgumentError:
        if not hasattr(streams, "__iter__"):
            raise
    numbers = to_ints(streams, "streams", 0, most)
    if len(numbers) != n:
        raise ArgumentError("streams has %s for %s" % (count(len(numbers), "number"),
                                                       count(n, "input")))
    return numbers


def set_lists(config: Config, model: Model, ban: Any, stop: Any, allow: Any) -> None:
    """Sets the banned tokens, the stop strings and the permitted outputs, and checks the config
    again."""
    config.set_ban(_find_bans(model, ban))
    config.set_stop([to_c_string(text, "stop") for text in to_list(stop, "stop")])
    config.set_allow(to_trie(allow, model))
    call("sb_config_check", ctypes.byref(config.struct))


def _draw_from(model: Model, inputs: Any, config: Config, plan: s.sb_plan,
               streams: Any) -> List[Draw]:
    if inputs is None:
        if model.info.needs_input:
            raise ArgumentError("inputs is None, but a model of kind '%s' needs inputs"
                                % model.info.kind)
        texts = [b""]
    else:
        texts = [to_bytes(text, "an input") for text in to_list(inputs, "inputs")]
    return _Work(model, texts, _number_inputs(streams, len(texts)), config, plan).run()


class _Work:
    """One call of sb_draw_all. C asks it for the inputs and hands it the results."""

    def __init__(self, model: Model, texts: Items[bytes], streams: Items[int], config: Config,
                 plan: s.sb_plan) -> None:
        self.model, self.config, self.plan = model, config, plan
        self.texts, self.streams = texts, streams
        self.pointers = [ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p) for text in texts]
        self.n_given = 0
        self.draws: List[Draw] = []
        self.problem: Optional[BaseException] = None

    def run(self) -> List[Draw]:
        interrupt = Interrupt()
        self.plan.interrupt = interrupt.handle
        run_interruptibly(self._call, interrupt)
        return self.draws

    def _call(self) -> None:
        pipe = s.sb_pipe(None, s.SOURCE_FN(self._give), s.SINK_FN(self._take), s.DONE_FN())
        with self.model._use() as handle:
            self.maker = DrawMaker(handle, self.config)
            try:
                call("sb_draw_all", handle, ctypes.byref(self.config.struct),
                     ctypes.byref(self.plan), ctypes.byref(pipe))
            except Exception:
                if self.problem is None:
                    raise
        if self.problem is not None:
            raise self.problem

    def _give(self, _user: object, input: Any, _error: object) -> int:
        try:
            i = self.n_given
            if i == len(self.texts):
                return 0
            self.n_given += 1
            input[0] = s.sb_input(self.pointers[i], len(self.texts[i]), self.streams[i], None)
            return 1
        except BaseException as problem:  # no exception may pass through C
            self.problem = problem
            return -1

    def _take(self, _user: object, input: Any, result: Any, _error: object) -> int:
        try:
            self.draws.append(self.maker.make(result, input))
            return 0
        except BaseException as problem:
            self.problem = problem
            return -1
