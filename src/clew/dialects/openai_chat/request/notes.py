"""Notes: the changes that writing a request in another dialect brings, collected on the way (law 6).

What becomes of many places in the same way (cache marks, citations, ids of calls) is one change with the place of the first
and how many there are: a history of a thousand blocks must not become a thousand changes with every request.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec import Raw, structs

from clew.model.change import Change, What

__all__ = ["STEP", "Notes"]

STEP = "openai_chat"

_NULL = Raw(b"null")

NO_WORDS = "Chat Completions has no field for it"


class Notes:
    """Changes in the order of their first places, each with the path of what the client sent."""

    __slots__ = ("_alike", "_changes")

    def __init__(self) -> None:
        self._changes: list[Change] = []
        self._alike: dict[str, tuple[int, int]] = {}

    @property
    def changes(self) -> tuple[Change, ...]:
        counted = list(self._changes)
        for place, others in self._alike.values():
            if others:
                change = counted[place]
                counted[place] = structs.replace(change, why=f"{change.why} (and {others} more like it)")
        return tuple(counted)

    def add(self, path: str, what: What, why: str, step: str = STEP) -> None:
        self._changes.append(Change(step, path, what, why))

    def alike(self, group: str, path: str, what: What, why: str) -> None:
        """One of many: only the first of a group is a change of its own."""
        place, others = self._alike.get(group, (len(self._changes), -1))
        if others < 0:
            self.add(path, what, why)
        self._alike[group] = (place, others + 1)

    def thought(self, path: str, why: str) -> None:
        """A thought that does not go, counted with those that the projection left out."""
        self.add(path, "left out", why, "thinking")

    def left_out(self, path: str, why: str = NO_WORDS) -> None:
        self.add(path, "left out", why)

    def unsaid(self, path: str, fields: Mapping[str, Raw], known: Collection[str]) -> None:
        """Every key that has no words over there; keys of one name are alike. What is null is not there."""
        for key, value in fields.items():
            if key not in known and value != _NULL:
                self.alike(key, f"{path}.{key}" if path else key, "left out", NO_WORDS)
