"""Keeps one thought from being told twice.

Servers send the same reasoning under several names: in one chunk (OpenRouter's `reasoning` and `reasoning_details`), in
different chunks (a signed block that repeats everything at the end), or in a field and between tags at once. Each name is
a channel with its own place in what was told. What a channel says where others have already been is a mirror if it is the
same, white space aside; a channel that is in front tells something new. One that is alone is always in front, so that
honest repetitions stay.

Only the thought that is being told, or was told last, is remembered.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

__all__ = ["Mirrors"]

_PIECE = 512
"""Characters from which on a piece is not added to: a piece for each delta would take more memory than its words."""


class Mirrors:
    """`new` gives the part of a channel's text that nobody has told."""

    __slots__ = ("_fresh", "_pieces", "_places", "_size", "_starts")

    def __init__(self) -> None:
        self._pieces: list[str] = []  # what was told, without white space
        self._starts: list[int] = []  # where each of them begins
        self._size = 0
        self._places: dict[str, int] = {}
        self._fresh = False

    def turn(self) -> None:
        """Something else was said: what is new from now on is another thought."""
        self._fresh = bool(self._pieces)

    def new(self, channel: str, text: str, others: Iterable[str] = ()) -> str:
        """`others` are channels that say the same in the same chunk."""
        bare = "".join(text.split())
        ahead = self._size - self._places.get(channel, 0)
        new = self._behind(channel, text, bare) if ahead else text
        self._tell("".join(new.split()) if ahead else bare)
        place = self._size if new or not ahead else self._places.get(channel, 0) + len(bare)
        self._places.update(dict.fromkeys((channel, *others), place))
        return new

    def _behind(self, channel: str, text: str, bare: str) -> str:
        """What is new in the text of a channel that is not in front."""
        place = self._places.get(channel, 0)
        told = self._told(place, min(place + len(bare), self._size))
        if told == bare:
            return ""
        return _without(text, len(told)) if place + len(told) == self._size and bare.startswith(told) else text

    def _told(self, start: int, end: int) -> str:
        """What was told between two places. A mirror asks with each delta, so the rest is not looked at."""
        first, last = bisect_right(self._starts, start) - 1, bisect_left(self._starts, end)
        if first < 0 or start >= end:
            return ""
        at = self._starts[first]
        return "".join(self._pieces[first:last])[start - at : end - at]

    def _tell(self, bare: str) -> None:
        if bare and self._fresh:
            self._pieces, self._starts, self._size, self._places, self._fresh = [], [], 0, {}, False
        if not bare:
            return
        if self._pieces and len(self._pieces[-1]) < _PIECE:
            self._pieces[-1] += bare
        else:
            self._pieces.append(bare)
            self._starts.append(self._size)
        self._size += len(bare)


def _without(text: str, count: int) -> str:
    """The text without its first `count` characters that are no white space."""
    for at, character in enumerate(text):
        if count == 0:
            return text[at:]
        count -= not character.isspace()
    return ""
