"""Converts text to the bytes that C reads, and back."""
from __future__ import annotations

import codecs
from typing import Tuple, Union

from ._errors import ArgumentError

Text = Union[str, bytes]


def _replace_byte(problem: UnicodeError) -> Tuple[str, int]:
    assert isinstance(problem, UnicodeDecodeError)
    return "\ufffd", problem.start + 1


# Each byte that is not UTF-8 becomes U+FFFD, as in the records of the command. Python's own
# "replace" writes one U+FFFD for several bytes if they begin a character.
codecs.register_error("sbeam-replace", _replace_byte)


def to_bytes(text: Text, what: str) -> bytes:
    """Returns text as UTF-8, and bytes unchanged. `what` names it in error messages."""
    if isinstance(text, str):
        try:
            return text.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError as problem:
            raise ArgumentError("%s cannot be written as UTF-8: %s" % (what, problem)) from None
    if isinstance(text, (bytes, bytearray, memoryview)):
        return bytes(text)
    raise ArgumentError("%s is of type %s; expected str or bytes" % (what, type(text).__name__))


def to_c_string(text: Text, what: str) -> bytes:
    """Returns the same for a C function that reads up to a zero byte."""
    data = to_bytes(text, what)
    if b"\0" in data:
        raise ArgumentError("%s contains a zero byte" % what)
    return data


def to_str(data: bytes) -> str:
    return data.decode("utf-8", "sbeam-replace")
