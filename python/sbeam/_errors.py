"""Exceptions: one class for each status of the library. Each carries the library's message."""
from __future__ import annotations

from typing import Dict, Type


class Error(Exception):
    """The base class of all errors of sbeam. `status` is a short name, such as "format"."""

    status = "error"


class ArgumentError(Error, ValueError):
    """An argument or a setting is out of range, of the wrong shape or type, or refused."""

    status = "argument"


class OutOfMemoryError(Error, MemoryError):
    """There was not enough memory."""

    status = "memory"


class IOFailure(Error, OSError):
    """A file could not be opened or read."""

    status = "io"


class FormatError(Error, ValueError):
    """A file does not follow its format, or this build of the library cannot read it."""

    status = "format"


class InputError(Error, ValueError):
    """The model cannot read an input (a prefix, a text to translate) or an output."""

    status = "input"


class ModelError(Error, ArithmeticError):
    """A model failed, or a row of its scores holds NaN or +inf, or only -inf."""

    status = "model"


class LimitError(Error, RuntimeError):
    """The work is larger than a documented limit."""

    status = "limit"


class StateError(Error, RuntimeError):
    """A call came at the wrong time: the object is closed, done, failed or in use elsewhere."""

    status = "state"


class StoppedError(Error, RuntimeError):
    """The work was interrupted."""

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
    """Returns the exception for a status of the library."""
    return BY_STATUS.get(status, Error)(message)
