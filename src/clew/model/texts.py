"""Texts of a conversation: long ones that come in many pieces, and asides.

An *aside* is text that a client writes for the model alone, beside what a person wrote: in tags of its own, or as a system
message. People who read a conversation want to know that it is there, and not to read pages of it.
"""

from __future__ import annotations

import re
from typing import Final

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

    def whole(self) -> str:
        return "".join([*self._joined, *self._pieces])


_ALONE: Final = "for the model alone"
_ASIDES: Final = {
    "system-reminder": _ALONE,
    "conversation-summary": "a summary of what was said before",
    "summary-request": "a summary is asked for",
}
"""The kind of aside, by its tag."""
_IN_TAGS: Final = re.compile(rf"\s*<({'|'.join(_ASIDES)})[ >].*</\1>\s*", re.DOTALL)


def aside_in(text: str, role: str = "") -> str:
    """The kind of aside that a text is, in a message of this role; "" if it is none.

    >>> aside_in("<system-reminder>Mind the gap.</system-reminder>")
    'for the model alone'
    """
    found = _IN_TAGS.fullmatch(text)
    return _ASIDES[found[1]] if found else _ALONE if role == "system" else ""
