"""The vendor's books on thinking that it gave out: which blocks are its own, and which nobody ever saw the text of.

A signature is the same for every `display` (R41), so a block does not tell whether it was given with its text. The rule
that text in an omitted block is ignored (R34) needs to know; a simulator that did not give the block itself, or was
reset, compares the text with what the signature was made for. And where a vendor's signature proves nothing, or there is
none, only the books know their own.
"""

from __future__ import annotations

from collections.abc import Iterable

from clew.model.json import JsonObject
from clew.simulator.interfaces import Books

__all__ = ["Given"]


class Given:
    """What was given, growing; `books` is what a judge may see of it."""

    def __init__(self) -> None:
        self._given: set[str] = set()
        self._omitted: set[str] = set()
        self._shown: set[str] = set()
        self.books = Books(self._given, self._omitted)

    def note(self, content: Iterable[JsonObject]) -> None:
        """An answer goes out. The same one may be asked for again, with another `display`."""
        for block in content:
            known = str(block.get("data") or block.get("signature") or block.get("thinking") or "")
            if known and "thinking" in str(block.get("type")):
                self._given.add(known)
                (self._shown if block.get("thinking") else self._omitted).add(known)
        self._omitted -= self._shown

    def reset(self) -> None:
        for memory in (self._given, self._omitted, self._shown):
            memory.clear()
