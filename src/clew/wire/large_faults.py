"""What is wrong with a large body, and where, by what the decoder said of it.

To read such a body a second time (`body.find_fault`) takes calls of a second each, in which no other thread gets the
interpreter. The decoder's complaint names a byte, so nothing is read but what stands before it, to count lines and
characters: in slices, so that others get their turn between two. The words are the decoder's own, and so less exact.
"""

from __future__ import annotations

import codecs
import re
from typing import Final, NamedTuple

from clew.wire.body import Fault

__all__ = ["LARGE_BYTES", "SLICE_BYTES", "find_large_fault"]

LARGE_BYTES: Final = 1024 * 1024
"""A body above this is not read a second time."""
SLICE_BYTES: Final = 256 * 1024

_NAMES_A_BYTE = re.compile(r"(?:JSON is malformed: )?(.*) \(byte (\d+)\)")
_HALF_A_PAIR = re.compile(rb"\\u[dD][89abAB][\da-fA-F]{2}")
_TRUNCATED: Final = "Input data was truncated"
_NEAR_THE_END: Final = 12  # bytes of a surrogate pair, both written as escapes


class _Place(NamedTuple):
    char: int = 0
    line: int = 1
    column: int = 1

    def after(self, text: str) -> _Place:
        lines = text.count("\n")
        column = len(text) - text.rfind("\n") if lines else self.column + len(text)
        return _Place(self.char + len(text), self.line + lines, column)


def find_large_fault(raw: bytes, complaint: str) -> Fault:
    """The fault that the decoder complained of; bytes before it that are no UTF-8 come first, as everywhere."""
    told = _NAMES_A_BYTE.fullmatch(complaint)
    reason, end = (told[1], int(told[2])) if told else (_without_place(raw, complaint), len(raw))
    place, decoder = _Place(), codecs.getincrementaldecoder("utf-8")()
    for start in range(0, end, SLICE_BYTES):
        try:
            text = decoder.decode(raw[start : min(start + SLICE_BYTES, end)])
        except UnicodeDecodeError as error:
            place = place.after(error.object[: error.start].decode())
            return Fault(f"not valid UTF-8 (byte 0x{error.object[error.start]:02x})", *place)
        place = place.after(text)
    return Fault(reason, *place)


def _without_place(raw: bytes, complaint: str) -> str:
    """The decoder says of half a surrogate pair near the end what it says of a body that ends early."""
    if complaint != _TRUNCATED:
        return complaint
    return "half a surrogate pair at the end" if _HALF_A_PAIR.search(raw[-_NEAR_THE_END:]) else "unexpected end of data"
