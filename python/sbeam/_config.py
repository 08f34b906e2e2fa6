"""Settings by name, from the library's own option table (sb_config_option).

Names, types, defaults, bounds and the refusals of each method are the library's; a keyword is the
option's name with '_' for '-'."""
from __future__ import annotations

import ctypes
import operator
import secrets
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from . import _structs as s
from ._errors import ArgumentError
from ._library import call, lib, names_of
from ._text import Text, to_c_string

METHODS: Tuple[str, ...] = tuple(names_of("sb_method_name"))


class Option(NamedTuple):
    """One setting: as a keyword, on the command line, and what it means."""

    keyword: str
    name: str
    kind: str  # "int", "float", "bool" or "choice"
    choices: Tuple[str, ...]
    default: Any
    minimum: float
    maximum: float
    methods: Tuple[str, ...]
    help: str


_KINDS = {s.OPTION_INT: "int", s.OPTION_REAL: "float", s.OPTION_FLAG: "bool",
          s.OPTION_CHOICE: "choice"}


def _from_text(kind: str, text: str) -> Any:
    if kind == "int":
        return int(text)
    if kind == "float":
        return float(text)
    return text == "true" if kind == "bool" else text


def options() -> List[Option]:
    """The settings that `draw` and `Decoder` take as keywords, from the library's table."""
    found: List[Option] = []
    while True:
        entry = lib.sb_config_option(len(found))
        if not entry:
            return found
        o = entry.contents
        kind = _KINDS[o.type]
        name = o.name.decode()
        found.append(Option(
            name.replace("-", "_"), name, kind,
            tuple(o.metavar.decode().split("|")) if kind == "choice" else (),
            _from_text(kind, o.default_text.decode()), o.min, o.max,
            tuple(m for i, m in enumerate(METHODS) if o.methods >> i & 1), o.help.decode()))


_OPTIONS: Dict[str, Option] = {option.keyword: option for option in options()}


def to_int(value: Any, name: str, low: int, high: int) -> int:
    """A whole number within bounds: ctypes would cut off what does not fit."""
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        number = low - 1
    if not low <= number <= high:
        raise ArgumentError("%s is %r; expected a whole number from %d to %d"
                            % (name, value, low, high))
    return number


def is_many(value: Any) -> bool:
    """Whether it can be gone through; an array without an axis is one number."""
    return hasattr(value, "__iter__") and getattr(value, "ndim", 1) > 0


def to_ints(values: Any, name: str, low: int, high: int) -> List[int]:
    """A list of whole numbers, from any iterable of them."""
    try:
        items = list(values)
    except TypeError:
        raise ArgumentError("%s is %r; expected a list of whole numbers" % (name, values)) from None
    return [to_int(item, "%s[%d]" % (name, i), low, high) for i, item in enumerate(items)]


def to_seed(seed: Optional[int]) -> int:
    """The seed given, or one at random below 2^53, which any JSON reader keeps."""
    return secrets.randbits(53) if seed is None else to_int(seed, "seed", 0, 2**64 - 1)


def to_floats(value: Any, name: str) -> List[float]:
    """One number or a list of them."""
    try:
        items = list(value) if is_many(value) and not isinstance(value, (str, bytes)) else [value]
        if any(isinstance(item, (str, bytes, bool, np.bool_)) for item in items):
            raise TypeError
        return [float(item) for item in items]
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError("%s is %r; expected a number or a list of numbers"
                            % (name, value)) from None


def _to_text(option: Option, value: Any) -> str:
    """As sb_config_set reads it, which complains about what makes no sense."""
    is_flag = isinstance(value, (bool, np.bool_))
    if option.kind == "bool" or is_flag:
        if option.kind == "bool" and is_flag:
            return "true" if value else "false"
        return str(value)
    try:
        if option.kind == "int":
            return str(operator.index(value))
        if option.kind == "float" and not isinstance(value, (str, bytes)):
            return repr(float(value))
    except (TypeError, ValueError, OverflowError):
        pass
    return str(value)


class Config:
    """An sb_config and the memory behind its lists."""

    def __init__(self, settings: Dict[str, Any]) -> None:
        self.struct = s.sb_config()
        lib.sb_config_default(ctypes.byref(self.struct))
        for keyword, value in settings.items():
            option = _OPTIONS.get(keyword)
            if option is None:
                raise TypeError("unexpected keyword %r: the settings are %s"
                                % (keyword, ", ".join(_OPTIONS)))
            text = to_c_string(_to_text(option, value), keyword)
            call("sb_config_set", ctypes.byref(self.struct), option.name.encode(), text)
        call("sb_config_check", ctypes.byref(self.struct))
        self._ban: Any = None
        self._stop: Any = None
        self._told: Dict[str, Any] = {}

    def set_ban(self, ids: Sequence[int], told: Sequence[Union[str, int]]) -> None:
        """Token ids of probability zero, and what a record calls them."""
        self._ban = (ctypes.c_int32 * len(ids))(*ids)
        self.struct.ban = self._ban
        self.struct.n_ban = len(ids)
        if told:
            self._told["ban"] = list(told)

    def set_stop(self, stops: Sequence[bytes], told: Sequence[str]) -> None:
        """Strings that end a sequence."""
        self._stop = (ctypes.c_char_p * len(stops))(*stops)
        self.struct.stop = self._stop
        self.struct.n_stop = len(stops)
        if told:
            self._told["stop"] = list(told)

    def get(self, keyword: str) -> Any:
        option = _OPTIONS[keyword]
        text = ctypes.create_string_buffer(64)
        call("sb_config_get", ctypes.byref(self.struct), option.name.encode(), text, len(text))
        return _from_text(option.kind, text.value.decode())

    def told(self) -> Dict[str, Any]:
        """What a record of the command says of the settings: those that are not at their defaults
        and have no key of their own; the groups and the strength of `diverse` always."""
        told: Dict[str, Any] = {}
        is_diverse = METHODS[self.struct.method] == "diverse"
        for option in _OPTIONS.values():
            if option.keyword in ("method", "k", "temperature", "seed", "kappa"):
                continue
            value = self.get(option.keyword)
            always = is_diverse and option.keyword in ("groups", "strength")
            if value == option.default and not always:
                continue
            if option.keyword == "groups" and value == 0:
                value = self.struct.k
            told[option.keyword] = value
        told.update(self._told)
        return told


def to_list(value: Union[None, Text, Iterable[Any]], what: str) -> List[Any]:
    """None, one text, or many."""
    if value is None:
        return []
    if isinstance(value, (str, bytes, bytearray, memoryview)):
        return [value]
    try:
        return list(value)
    except TypeError:
        raise ArgumentError("%s is %r; expected one or a list" % (what, value)) from None
