"""Notes: the changes that writing a request in another dialect brings, collected on the way (law 6)."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from clew.model.change import Change, What

__all__ = ["STEP", "Notes"]

STEP = "openai_chat"

NO_WORDS = "Chat Completions has no field for it"


class Notes:
    """An ordered list of changes, each with the path of what the client sent."""

    __slots__ = ("changes",)

    def __init__(self) -> None:
        self.changes: list[Change] = []

    def add(self, path: str, what: What, why: str, step: str = STEP) -> None:
        self.changes.append(Change(step, path, what, why))

    def thought(self, path: str, why: str) -> None:
        """A thought that does not go, counted with those that the projection left out."""
        self.add(path, "left out", why, "thinking")

    def left_out(self, path: str, why: str = NO_WORDS) -> None:
        self.add(path, "left out", why)

    def unsaid(self, path: str, keys: Iterable[str], known: Collection[str]) -> None:
        """Every key that has no words over there, by its own path."""
        for key in keys:
            if key not in known:
                self.left_out(f"{path}.{key}" if path else key)
