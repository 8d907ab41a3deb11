"""Writes blocks as events: one open at a time, counted from 0 without gaps.

Whoever writes says what comes next, a thought, a text, a call; that a block must be closed and another opened for it is
decided here and nowhere else. Half a character (`model.halves`) waits for its other half, since it cannot be written.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, Literal

from clew.model.events import BlockDelta, BlockStart, BlockStop, Event, written
from clew.model.halves import whole_text
from clew.model.json import JsonObject

__all__ = ["DELTAS", "BlockWriter", "Kind"]

Kind = Literal["", "text", "thinking", "tool_use"]

DELTAS: Final[dict[Kind, tuple[str, str]]] = {
    "text": ("text_delta", "text"),
    "thinking": ("thinking_delta", "thinking"),
    "tool_use": ("input_json_delta", "partial_json"),
}
"""The delta by which a block grows: its type, and the member that has the text."""
_STARTS: Final[dict[Kind, JsonObject]] = {
    "text": {"type": "text", "text": ""},
    "thinking": {"type": "thinking", "thinking": "", "signature": ""},
}


class BlockWriter:
    """`events` fill up; whoever sends them takes them out."""

    __slots__ = ("_half", "_said", "events", "index", "kind", "last", "thoughts")

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.index = -1
        """Of the newest block."""
        self.kind: Kind = ""
        """Of the open block."""
        self.last: Kind = ""
        """Of the newest block that says something."""
        self.thoughts: dict[int, str] | None = None
        """What each closed thinking block says, if somebody wants to know."""
        self._half = ""
        self._said = ""  # by the open thinking block, for that

    @property
    def is_steady(self) -> bool:
        """Whether the open block can grow by whole characters: none is waited for."""
        return bool(self.kind) and not self._half

    def text(self, text: str) -> None:
        self.open("text")
        self._grow(text)
        self.last = "text"

    def thought(self, text: str) -> None:
        self.open_thinking()
        self._grow(text)

    def passed(self, text: str) -> None:
        """A thought that was written already: the open block is longer by that."""
        if self.thoughts is not None:
            said, self._said = self._said, ""  # nobody else holds it now, so it grows in place: there may be many words
            said += text
            self._said = said

    def arguments(self, text: str) -> None:
        """More of the open call."""
        assert self.kind == "tool_use", "arguments belong to an open call"
        self._grow(text)

    def open_thinking(self) -> int:
        """The index of the thinking block that is open now; it may stay empty, since its payload says something."""
        self.open("thinking")
        self.last = "thinking"
        return self.index

    def open_call(self, call_id: str, name: str) -> None:
        self._start("tool_use")
        self.events.append(BlockStart(self.index, {"type": "tool_use", "id": call_id, "name": name, "input": {}}))
        self.last = "tool_use"

    def open(self, kind: Literal["text", "thinking"]) -> None:
        if self.kind != kind:
            self._start(kind)
            self.events.append(_start(kind, self.index))

    def close(self) -> None:
        if self.kind:
            if self._half:
                self._emit("\ufffd")
            self.events.append(_stop(self.index))
            if self.thoughts is not None and self.kind == "thinking":
                self.thoughts[self.index], self._said = self._said, ""
            self.kind, self._half = "", ""

    def _start(self, kind: Kind) -> None:
        self.close()
        self.index += 1
        self.kind = kind

    def _grow(self, text: str) -> None:
        text, self._half = self._half + text, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        if text:
            self._emit(whole_text(text))

    def _emit(self, text: str) -> None:
        kind, member = DELTAS[self.kind]
        if self.kind == "thinking":
            self.passed(text)
        self.events.append(BlockDelta(self.index, {"type": kind, member: text}))


@lru_cache(maxsize=64)
def _start(kind: Kind, index: int) -> BlockStart:
    return written(BlockStart(index, _STARTS[kind]))


@lru_cache(maxsize=64)
def _stop(index: int) -> BlockStop:
    return written(BlockStop(index))
