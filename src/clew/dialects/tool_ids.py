"""Ids for the tool calls of one answer."""

from __future__ import annotations

import re
from typing import Final

_UNSAFE: Final = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_ID: Final = 64


class ToolIds:
    """Ids for the calls of one answer that every client takes: of letters, digits, `_` and `-`, and each used once.

    Backends repeat ids, leave them out, or hide kilobytes of signature in them. `seed` is unique to the answer.
    """

    __slots__ = ("_repeats", "_seed", "_used", "wire")

    def __init__(self, seed: str) -> None:
        self._seed = _UNSAFE.sub("_", seed)
        self._used: set[str] = set()
        self._repeats: dict[str, int] = {}
        self.wire: dict[str, str] = {}
        """The backend's own ids, by those that were given, where they differ. "" is a call that came without one."""

    @property
    def given(self) -> int:
        """How many ids were given."""
        return len(self._used)

    def give(self, wire_id: str) -> str:
        base = _UNSAFE.sub("_", wire_id.split("__thought__")[0])[:_LONGEST_ID] or f"toolu_{self._seed}_{len(self._used)}"
        unique, count = base, self._repeats.get(base, 1)
        while unique in self._used:
            count += 1
            unique = f"{base}_{count}"
        self._repeats[base] = count
        self._used.add(unique)
        if unique != wire_id:
            self.wire[unique] = wire_id
        return unique
