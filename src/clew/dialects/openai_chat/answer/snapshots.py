"""Deltas that repeat all that came before them.

MiniMax's own sample code reads each delta as the whole text so far; measured streams of the same vendor send only what is
new. The second delta decides: if it begins with the first and is longer, the deltas are snapshots, otherwise they are
pieces, to the end of the run. A text that honestly repeats itself ("ha", "ha") is not longer, so it survives.
"""

from __future__ import annotations

__all__ = ["Snapshots"]


class Snapshots:
    """`new` gives what a delta adds."""

    __slots__ = ("_decided", "_size", "_so_far")

    def __init__(self) -> None:
        self._so_far = ""
        self._size = 0
        self._decided: bool | None = None

    @property
    def are_pieces(self) -> bool:
        """Whether it is settled that each delta is new as a whole."""
        return self._decided is False

    def new(self, text: str) -> str:
        if self._decided is None:
            self._decide(text)
        if not self._decided:
            return text
        added = text[self._size :]
        self._size = max(self._size, len(text))
        return added

    def _decide(self, text: str) -> None:
        if not self._so_far:
            self._so_far = text
            return
        self._decided = len(text) > len(self._so_far) and text.startswith(self._so_far)
        self._size = len(self._so_far)
        self._so_far = ""
