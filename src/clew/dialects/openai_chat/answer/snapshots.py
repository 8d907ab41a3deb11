"""Deltas that repeat all that came before them.

MiniMax's own sample code reads each delta as the whole text so far; measured streams of the same vendor send only what is
new. The second delta decides: if it begins with the first and is longer, the deltas are snapshots, otherwise they are
pieces, to the end of the run. A text that honestly repeats itself ("ha", "ha") is not longer, so it survives. A piece may
begin like the one before it ("h", "ha"), and another thought begins anew: so the first delta that does not begin with all
that came before is new as a whole, and the one behind it decides again.
"""

from __future__ import annotations

__all__ = ["Snapshots"]


class Snapshots:
    """`new` gives what a delta adds."""

    __slots__ = ("_decided", "_so_far")

    def __init__(self) -> None:
        self._so_far = ""
        """What the deltas have said, as long as they may be snapshots."""
        self._decided: bool | None = None

    def new(self, text: str) -> str:
        if self._decided is None:
            self._decide(text)
        if not self._decided:
            return text
        if not text.startswith(self._so_far):
            self._decided, self._so_far = None, text
            return text
        added, self._so_far = text[len(self._so_far) :], text
        return added

    def _decide(self, text: str) -> None:
        if not self._so_far:
            self._so_far = text
            return
        self._decided = len(text) > len(self._so_far) and text.startswith(self._so_far)
        if not self._decided:
            self._so_far = ""
