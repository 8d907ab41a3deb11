"""JSON strings that belong together, read in one call.

A delta says a word or two, and a call of the decoder costs as much as a dozen of them. So the strings of many deltas are
joined as JSON writes them, without their quotes, and read as one. A mark stands where two meet, so that nothing runs
together which was no text before (half a character, an escape without its letter): with it the whole cannot be read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

__all__ = ["MARK", "marked", "read_marked"]

_MARK: Final = "\x7f"
"""JSON need not escape it, and nobody says it: where somebody does, the strings have to be read one by one."""
MARK: Final = _MARK.encode()

_string = msgspec.json.Decoder(str)


def marked(strings: Sequence[bytes]) -> bytes:
    """The strings, without their quotes, as one with marks in it."""
    return MARK.join(strings)


def read_marked(joined: bytes, count: int) -> str | None:
    """What so many strings say together; None if one of them is no sound string, or has a mark in it."""
    try:
        said = _string.decode(b'"%b"' % joined)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    text = said.replace(_MARK, "")
    return text if len(said) - len(text) == count - 1 else None
