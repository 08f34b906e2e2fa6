"""Exceptions: one class for each status of the library, carrying its text."""
from __future__ import annotations

from typing import Dict, Type


class Error(Exception):
    """What the library refused or could not do. `status` is its short name, such as "format"."""

    status = "error"


class ArgumentError(Error, ValueError):
    """An argument or a setting that is out of range, of the wrong shape or type, or refused."""

    status = "argument"


class OutOfMemoryError(Error, MemoryError):
    """An allocation failed."""

    status = "memory"


class IOFailure(Error, OSError):
    """A file could not be opened or read."""

    status = "io"


class FormatError(Error, ValueError):
    """A file is not what its format demands."""

    status = "format"


class InputError(Error, ValueError):
    """An input (prefix, source) or an output that the model cannot take."""

    status = "input"


class ModelError(Error, ArithmeticError):
    """A model failed, or gave NaN, +inf or a row without mass."""

    status = "model"


class LimitError(Error, RuntimeError):
    """The work is larger than a documented limit."""

    status = "limit"


class StateError(Error, RuntimeError):
    """A call out of order: something that is closed, done, failed or in use elsewhere."""

    status = "state"


class StoppedError(Error, RuntimeError):
    """The work was ended from outside."""

    status = "stopped"


# By the values of sb_status.
BY_STATUS: Dict[int, Type[Error]] = {
    1: ArgumentError,
    2: OutOfMemoryError,
    3: IOFailure,
    4: FormatError,
    5: InputError,
    6: ModelError,
    7: LimitError,
    8: StateError,
    9: StoppedError,
}


def make_error(status: int, message: str) -> Error:
    """The exception of a status of the library."""
    return BY_STATUS.get(status, Error)(message)
