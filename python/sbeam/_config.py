"""Settings by name, from the library's option tables (sb_config_option, sb_plan_option).

The library owns the names, types, defaults and bounds, and decides which method refuses which
setting. A keyword is the name of an option with '_' for '-'."""
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


def method_info(method: str) -> Optional[s.sb_method_info]:
    """Returns the properties of a method, or None if there is none of this name."""
    if not isinstance(method, str) or method not in METHODS:
        return None
    info: s.sb_method_info = lib.sb_method_get_info(METHODS.index(method)).contents
    return info


class Option(NamedTuple):
    """One setting."""

    keyword: str  #: in Python
    name: str  #: on the command line
    kind: str  # "int", "float", "bool" or "choice"
    choices: Tuple[str, ...]
    default: Any
    minimum: float
    maximum: float
    methods: Tuple[str, ...]  #: the methods that accept it
    help: str
    is_plan: bool  #: it is about the work, not about one draw: only `draw` takes it
    none_means: Optional[str] = None  #: "auto" or "none" if the default is None, else None


_KINDS = {s.OPTION_INT: "int", s.OPTION_REAL: "float", s.OPTION_FLAG: "bool",
          s.OPTION_CHOICE: "choice"}


def _from_text(kind: str, text: str) -> Any:
    if kind in ("int", "float") and text.isalpha():
        return None  # the library's word for a number that is not given
    if kind == "int":
        return int(text)
    if kind == "float":
        return float(text)
    return text == "true" if kind == "bool" else text


def _read_table(function: str, is_plan: bool) -> Dict[str, Option]:
    found: Dict[str, Option] = {}
    while True:
        entry = getattr(lib, function)(len(found))
        if not entry:
            return found
        o = entry.contents
        kind = _KINDS[o.type]
        name = o.name.decode()
        keyword = name.replace("-", "_")
        word = o.default_text.decode()
        default = _from_text(kind, word)
        found[keyword] = Option(
            keyword, name, kind,
            tuple(o.metavar.decode().split("|")) if kind == "choice" else (), default, o.min, o.max,
            tuple(m for i, m in enumerate(METHODS) if o.methods >> i & 1), o.help.decode(), is_plan,
            word if default is None else None)


_OPTIONS = _read_table("sb_config_option", is_plan=False)
PLAN_OPTIONS = _read_table("sb_plan_option", is_plan=True)


def options() -> List[Option]:
    """Returns the settings that `draw` takes as keywords. `Decoder` takes those without is_plan."""
    return [*_OPTIONS.values(), *PLAN_OPTIONS.values()]


def to_int(value: Any, name: str, low: int, high: int) -> int:
    """Returns a whole number within bounds. ctypes would silently cut off larger numbers."""
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
    """Returns whether value holds several items. An array without an axis is one number."""
    return hasattr(value, "__iter__") and getattr(value, "ndim", 1) > 0


def to_ints(values: Any, name: str, low: int, high: int) -> List[int]:
    """Returns the whole numbers of an iterable as a list."""
    try:
        items = list(values)
    except TypeError:
        raise ArgumentError("%s is %r; expected a list of whole numbers" % (name, values)) from None
    return [to_int(item, "%s[%d]" % (name, i), low, high) for i, item in enumerate(items)]


def to_bool(value: Any, name: str) -> bool:
    """Returns whether a value is true. Refuses an array unless it has one element. (For an empty
    one NumPy before 2.2 only warned.)"""
    try:
        if isinstance(value, np.ndarray) and value.size != 1:
            raise TypeError
        return bool(value)
    except (TypeError, ValueError):
        raise ArgumentError("%s is %r; expected True or False" % (name, value)) from None


def to_seed(seed: Optional[int]) -> int:
    """Returns the given seed, or a random one below 2^53, which every JSON reader keeps exactly."""
    return secrets.randbits(53) if seed is None else to_int(seed, "seed", 0, 2**64 - 1)


def _to_number(value: Any) -> float:
    """Returns a number as a float. Raises TypeError for some objects that float() takes: texts,
    truth values, masked elements, and complex numbers, which would lose their imaginary part."""
    kind = getattr(getattr(value, "dtype", None), "kind", "f")
    if isinstance(value, (str, bytes, bool)) or kind not in "iuf" or np.ma.is_masked(value):
        raise TypeError
    return float(value)


def to_floats(value: Any, name: str) -> List[float]:
    """Returns a list of numbers, from one number or from an iterable."""
    try:
        items = list(value) if is_many(value) and not isinstance(value, (str, bytes)) else [value]
        return [_to_number(item) for item in items]
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError("%s is %r; expected a number or a list of numbers"
                            % (name, value)) from None


def to_float(value: Any, name: str) -> float:
    """Returns one number."""
    if is_many(value) or isinstance(value, (str, bytes)):
        raise ArgumentError("%s is %r; expected a number" % (name, value))
    return to_floats(value, name)[0]


def _to_text(option: Option, value: Any) -> str:
    """Returns the value as text for the library, which also refuses values of the wrong type."""
    is_flag = isinstance(value, (bool, np.bool_))
    if option.kind == "bool" or is_flag:
        if option.kind == "bool" and is_flag:
            return "true" if value else "false"
        return str(value)
    try:
        if option.kind == "int":
            return str(operator.index(value))
        if option.kind == "float" and not isinstance(value, (str, bytes)):
            return repr(_to_number(value))
    except (TypeError, ValueError, OverflowError):
        pass
    return str(value)


def _set_all(setter: str, struct: Any, table: Dict[str, Option], settings: Dict[str, Any]) -> None:
    for keyword, value in settings.items():
        option = table.get(keyword)
        if option is None:
            raise TypeError("unexpected keyword %r; expected one of %s"
                            % (keyword, ", ".join(table)))
        if value is None and option.default is None:
            continue
        text = to_c_string(_to_text(option, value), keyword)
        call(setter, ctypes.byref(struct), option.name.encode(), text)


def make_plan(settings: Dict[str, Any], temperatures: Sequence[float]) -> s.sb_plan:
    """Returns the plan of a draw. ctypes keeps its array of temperatures alive."""
    plan = s.sb_plan()
    lib.sb_plan_default(ctypes.byref(plan))
    _set_all("sb_plan_set", plan, PLAN_OPTIONS, settings)
    plan.temperatures = (ctypes.c_double * max(len(temperatures), 1))(*temperatures)
    plan.n_temperatures = len(temperatures)
    call("sb_plan_check", ctypes.byref(plan))
    return plan


class Config:
    """An sb_config, with the memory of its lists."""

    def __init__(self, settings: Dict[str, Any]) -> None:
        self.struct = s.sb_config()
        lib.sb_config_default(ctypes.byref(self.struct))
        _set_all("sb_config_set", self.struct, _OPTIONS, settings)
        call("sb_config_check", ctypes.byref(self.struct))
        self._ban: Any = None
        self._stop: Any = None
        self._allow: Any = None

    def set_ban(self, ids: Sequence[int]) -> None:
        """Sets the token ids of probability zero."""
        self._ban = (ctypes.c_int32 * len(ids))(*ids)
        self.struct.ban = self._ban
        self.struct.n_ban = len(ids)

    def set_stop(self, stops: Sequence[bytes]) -> None:
        """Sets the strings that end a sequence."""
        self._stop = (ctypes.c_char_p * len(stops))(*stops)
        self.struct.stop = self._stop
        self.struct.n_stop = len(stops)

    def set_allow(self, trie: Any) -> None:
        """Sets the permitted outputs: a Trie, which is kept alive, or None."""
        self._allow = trie
        self.struct.allow = None if trie is None else trie._handle


def to_list(value: Union[None, Text, Iterable[Any]], what: str) -> List[Any]:
    """Returns a list from None, one text, or an iterable."""
    if value is None:
        return []
    if isinstance(value, (str, bytes, bytearray, memoryview)):
        return [value]
    try:
        return list(value)
    except TypeError:
        raise ArgumentError("%s is %r; expected a text or a list" % (what, value)) from None
