"""Kinds of parts that a client does not get, each reported once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

_MOST_KINDS: Final = 40
_LONGEST_KIND: Final = 40


class UnsaidKinds:
    """Those of one answer."""

    __slots__ = ("_report", "_seen")

    def __init__(self, report: Callable[[str], object]) -> None:
        self._report = report
        self._seen: set[str] = set()

    def note(self, kind: str) -> None:
        kind = kind[:_LONGEST_KIND]
        if kind not in self._seen and len(self._seen) < _MOST_KINDS:
            self._seen.add(kind)
            self._report(kind)
