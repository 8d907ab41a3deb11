"""The vendor's books on thinking that it gave out: which blocks nobody ever saw the text of.

A signature is the same for every `display` (R41), so a block does not tell whether it was given with its text. The rule
that text in an omitted block is ignored (R34) needs to know; a simulator that did not give the block itself, or was
reset, compares the text with what the signature was made for.
"""

from __future__ import annotations

from collections.abc import Iterable

from clew.model.json import JsonObject

__all__ = ["Given"]


class Given:
    """Signatures, by how their blocks were given."""

    def __init__(self) -> None:
        self.omitted: set[object] = set()
        self._shown: set[object] = set()

    def note(self, content: Iterable[JsonObject]) -> None:
        """An answer goes out. The same one may be asked for again, with another `display`."""
        for block in content:
            if block.get("type") == "thinking":
                (self._shown if block.get("thinking") else self.omitted).add(block.get("signature"))
        self.omitted -= self._shown

    def reset(self) -> None:
        self.omitted.clear()
        self._shown.clear()
