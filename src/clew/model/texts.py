"""Texts of a conversation: long ones, which come in many pieces or are decoded in slices, and asides.

An *aside* is text that a client writes for the model alone, beside what a person wrote: in tags of its own, or as a system
message. People who read a conversation want to know that it is there, and not to read pages of it.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

_PIECES: Final = 512
"""How many pieces are kept before they are joined."""


class LongText:
    """A text that comes in many small pieces, kept in few long ones: a piece for each delta takes more memory than its
    words.

    `add` appends a piece; `whole` is the text.

    >>> text = LongText("Hel")
    >>> text.add("lo")
    >>> text.whole()
    'Hello'
    """

    __slots__ = ("_joined", "_pieces")

    def __init__(self, text: str = "") -> None:
        self._joined: list[str] = []
        self._pieces = [text]

    def add(self, piece: str) -> None:
        self._pieces.append(piece)
        if len(self._pieces) >= _PIECES:
            self._joined.append("".join(self._pieces))
            self._pieces.clear()

    def copy(self) -> LongText:
        same = LongText()
        same._joined, same._pieces = [*self._joined], [*self._pieces]
        return same

    def whole(self) -> str:
        return "".join([*self._joined, *self._pieces])


_ALONE: Final = "hidden text for the model"
_ASIDES: Final = {
    "system-reminder": _ALONE,
    "conversation-summary": "a summary of the earlier conversation",
    "summary-request": "a request for a summary",
    "environment_context": _ALONE,
}
"""The kind of aside, by its tag."""
_RULES: Final = r"# AGENTS\.md instructions [^\n]*\s+<INSTRUCTIONS>.*</INSTRUCTIONS>"
"""What Codex says first, where a directory has rules."""
_IN_TAGS: Final = re.compile(rf"\s*(?:<({'|'.join(_ASIDES)})[ >].*</\1>|{_RULES})\s*", re.DOTALL)
_FOR_MODELS: Final = ("system", "developer")


def aside_in(text: str, role: str = "") -> str:
    """The kind of aside that a text is, in a message of this role; "" if it is none.

    >>> aside_in("<system-reminder>Mind the gap.</system-reminder>")
    'hidden text for the model'
    """
    found = _IN_TAGS.fullmatch(text)
    if found:
        return _ASIDES[found[1]] if found[1] else _ALONE
    return _ALONE if role in _FOR_MODELS else ""


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
