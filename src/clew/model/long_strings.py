"""Decodes a long JSON string in slices, so that no single call holds the interpreter for long.

To decode a string of 32 MB takes one call of up to 90 ms, in which no other thread runs. A slice ends where a character
ends: never inside an escape, a surrogate pair of two escapes, or a character of several bytes. So the slices decode to the
same text, and a string that cannot be decoded has a slice that cannot.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

LONG_STRING_BYTES: Final = 256 * 1024
"""A longer string is decoded in slices of this size."""

_ESCAPE: Final = 6
"""Bytes of the longest escape, `\\u00e9`. A pair of two is never cut: there is an escape right before its second half."""
_NEAR: Final = 256
"""Bytes before the wanted end of a slice among which an end is looked for."""
_UNITS: Final = re.compile(
    rb"(?:[^\\]|\\[^u]|\\u[dD][89abAB][\da-fA-F]{2}\\u[\da-fA-F]{4}|\\u(?![dD][89abAB])[\da-fA-F]{4})*+", re.DOTALL
)
"""Whole characters and escapes. For strings with so many escapes that no end is found near the wanted one."""

_string = msgspec.json.Decoder(str)


def decode_string(raw: bytes | msgspec.Raw) -> str:
    """The text of a JSON string. Raises DecodeError if it is none."""
    view = memoryview(raw)
    if len(view) <= LONG_STRING_BYTES:
        return _string.decode(raw)
    if view[0] != 0x22 or view[-1] != 0x22:
        return _string.decode(raw)  # raises
    parts: list[str] = []
    start, last = 1, len(view) - 1
    while start < last:
        end = _end_of_slice(view, start, last)
        parts.append(_string.decode(b'"%b"' % view[start:end]))
        start = end
    return "".join(parts)


def _end_of_slice(view: memoryview, start: int, last: int) -> int:
    wanted = start + LONG_STRING_BYTES
    if wanted >= last:
        return last
    tail = bytes(view[wanted - _NEAR : wanted + 1])
    for at in range(_NEAR, _ESCAPE, -1):
        if tail[at] & 0xC0 != 0x80 and b"\\" not in tail[at - _ESCAPE : at]:
            return wanted - _NEAR + at
    units = _UNITS.match(view, start, wanted)
    end = units.end() if units is not None else start
    while end > start and view[end] & 0xC0 == 0x80:
        end -= 1
    return end if end > start else last
