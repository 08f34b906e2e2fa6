"""Text on its way into C and back."""
from __future__ import annotations

import codecs
from typing import Tuple, Union

from ._errors import ArgumentError

Text = Union[str, bytes]


def _replace_byte(problem: UnicodeError) -> Tuple[str, int]:
    assert isinstance(problem, UnicodeDecodeError)
    return "\ufffd", problem.start + 1


# Each byte that is no UTF-8 becomes U+FFFD, as in the records of the command; Python's own
# "replace" takes several bytes for one where they begin a character.
codecs.register_error("sbeam-replace", _replace_byte)


def to_bytes(text: Text, what: str) -> bytes:
    """UTF-8; bytes are taken as they are."""
    if isinstance(text, str):
        try:
            return text.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError as problem:
            raise ArgumentError("%s cannot be written as UTF-8: %s" % (what, problem)) from None
    if isinstance(text, (bytes, bytearray, memoryview)):
        return bytes(text)
    raise ArgumentError("%s is of type %s; expected str or bytes" % (what, type(text).__name__))


def to_c_string(text: Text, what: str) -> bytes:
    """The same for what C takes as a terminated string."""
    data = to_bytes(text, what)
    if b"\0" in data:
        raise ArgumentError("%s holds a zero byte" % what)
    return data


def to_str(data: bytes) -> str:
    return data.decode("utf-8", "sbeam-replace")
