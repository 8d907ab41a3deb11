"""A text that comes in many small pieces, kept in few long ones: a piece for each delta takes more memory than its words."""

from __future__ import annotations

from typing import Final

__all__ = ["LongText"]

_PIECES: Final = 512
"""So many wait until they are joined."""


class LongText:
    """`add` to it; `whole` is all of it.

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
