"""Finds thoughts that stand in plain sight: in the visible text of a message, where none belongs.

A simulator gives thousands of thoughts in a long run, so they are not searched one by one: the index knows how each begins,
and a text is read once.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

# A mark at the end of the built-in model's thoughts, by which the simulator knows them again in any place. It is made with
# the realm's secret, so simulators of one realm accept each other's marks, and no others.


_MARK: Final = re.compile(r"(.*) \(thought ([0-9a-f]{10})\)", re.DOTALL)


def add_mark(secret: bytes, text: str) -> str:
    """A thought with a mark at its end that proves its maker."""
    content = f"mark\n\n{text}".encode("utf-8", "surrogatepass")
    return f"{text} (thought {hmac.new(secret, content, hashlib.sha256).hexdigest()[:10]})"


def is_marked(secret: bytes, text: str) -> bool:
    """Whether a thought has a valid mark of this simulator."""
    found = _MARK.fullmatch(text)
    return found is not None and add_mark(secret, found[1]) == text


_BEGINNING: Final = 12
"""Characters: a shorter thought is not told from other text."""


@dataclass(frozen=True, slots=True)
class ThoughtIndex:
    """The thoughts that a simulator has sent, by their beginnings."""

    _by_beginning: dict[str, set[str]] = field(default_factory=dict[str, set[str]])

    def add(self, thought: str) -> None:
        text = thought.strip()
        if len(text) >= _BEGINNING:
            self._by_beginning.setdefault(text[:_BEGINNING], set()).add(text)

    def found_in(self, text: str) -> Iterator[str]:
        """The thoughts in a text, each once."""
        if not self._by_beginning:
            return
        found: set[str] = set()
        for place in range(len(text) - _BEGINNING + 1):
            for thought in self._by_beginning.get(text[place : place + _BEGINNING], ()):
                if thought not in found and text.startswith(thought, place):
                    found.add(thought)
                    yield thought

    def clear(self) -> None:
        self._by_beginning.clear()
