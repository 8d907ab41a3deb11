"""Where a JSON object ends that comes in pieces.

Each piece is looked at once, for its brackets and quotes, so that arguments in a thousand deltas cost as much as in one.
Whether what stands between them is JSON is for somebody else to say, once.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["ObjectEnds"]

_MARKS: Final = re.compile(r'[\[\]{}"]')
_STRING_MARKS: Final = re.compile(r'"|\\.?', re.DOTALL)
_DEPTH: Final = {"{": 1, "[": 1, "}": -1, "]": -1}


class ObjectEnds:
    """`feed` text; `is_closed` says whether it could be one whole object by now, with nothing but space behind it."""

    __slots__ = ("_depth", "_ended", "_escaped", "_in_string", "_spoiled")

    def __init__(self) -> None:
        self._depth = 0
        self._ended = False
        self._in_string = False
        self._escaped = False
        """The text ends inside an escape."""
        self._spoiled = False
        """Whatever comes now, this will never be one object."""

    @property
    def is_closed(self) -> bool:
        return self._ended and not self._spoiled

    def feed(self, text: str) -> None:
        at = 0
        while at < len(text) and not self._spoiled:
            if self._in_string:
                at = self._through_string(text, at)
            elif self._depth:
                at = self._through_values(text, at)
            else:
                at = self._outside(text, at)

    def _outside(self, text: str, at: int) -> int:
        """Before the object and behind it only space may stand."""
        rest = len(text) - len(text[at:].lstrip())
        if rest < len(text):
            self._spoiled = self._ended or text[rest] != "{"
            self._depth = 1
        return rest + 1

    def _through_values(self, text: str, at: int) -> int:
        mark = _MARKS.search(text, at)
        if mark is None:
            return len(text)
        self._in_string = mark[0] == '"'
        self._depth += _DEPTH.get(mark[0], 0)
        self._ended = self._depth == 0
        return mark.end()

    def _through_string(self, text: str, at: int) -> int:
        if self._escaped:
            self._escaped = False
            return at + 1
        mark = _STRING_MARKS.search(text, at)
        if mark is None:
            return len(text)
        self._in_string = mark[0] != '"'
        self._escaped = mark[0] == "\\"
        return mark.end()
