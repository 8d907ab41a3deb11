"""Writes blocks: one open at a time, counted from 0 without gaps.

Whoever writes says what comes next, a thought, a text, a call; that a block must be closed and another opened for it is
decided here and nowhere else, and put down by a scribe (`scribes`). Half a character (`model.halves`) waits for its other
half, since it cannot be written.
"""

from __future__ import annotations

from typing import Literal

from clew.dialects.openai_chat.answer.scribes import EventScribe, Kind
from clew.model.bounds import check_blocks
from clew.model.json import whole_text

__all__ = ["BlockWriter"]


class BlockWriter:
    """Tells its scribe."""

    __slots__ = ("_half", "_scribe", "index", "kind", "last")

    def __init__(self, scribe: EventScribe) -> None:
        self._scribe = scribe
        self.index = -1
        """Of the newest block."""
        self.kind: Kind = ""
        """Of the open block."""
        self.last: Kind = ""
        """Of the newest block that says something."""
        self._half = ""

    def text(self, text: str) -> None:
        self.open("text")
        self._grow(text)
        self.last = "text"

    def thought(self, text: str) -> None:
        self.open_thinking()
        self._grow(text)

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
        self._scribe.calls(self.index, call_id, name)
        self.last = "tool_use"

    def open(self, kind: Literal["text", "thinking"]) -> None:
        if self.kind != kind:
            self._start(kind)
            self._scribe.opens(kind, self.index)

    def close(self) -> None:
        if self.kind:
            if self._half:
                self._emit("\ufffd")
            self._scribe.closes(self.kind, self.index)
            self.kind, self._half = "", ""

    def _start(self, kind: Kind) -> None:
        self.close()
        self.index += 1
        check_blocks(self.index + 1)
        self.kind = kind

    def _grow(self, text: str) -> None:
        text, self._half = self._half + text, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        if text:
            self._emit(whole_text(text))

    def _emit(self, text: str) -> None:
        self._scribe.grows(self.kind, self.index, text)
