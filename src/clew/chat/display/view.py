"""Views: how an answer is shown while it comes.

`PlainView` writes only the text, as it comes; it is for pipes and files. `LiveView`
(`clew.chat.display.live`) is for terminals.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from typing import IO, Final, Literal, Protocol, TypeAlias

from clew.chat.events import AnswerEvent, Compacted, TextDelta, ThinkingDelta
from clew.chat.messages import ToolCall
from clew.chat.terminal import harmless

ToolState: TypeAlias = Literal["called", "asking", "running", "done", "failed", "denied"]
"""The state of a tool call: `called` if this program does not run it; `asking` for approval."""


class View(Protocol):
    """Shows one answer, or what an agent does until there is one."""

    def add(self, event: AnswerEvent) -> None:
        """Show one event of the answer."""
        ...

    def tool(self, call: ToolCall, state: ToolState, detail: str = "") -> None:
        """Show the state of a call."""
        ...

    def note(self, text: str) -> None:
        """Show a line that is no part of the answer."""
        ...

    def paused(self) -> AbstractContextManager[None]:
        """Draw nothing meanwhile: another writer has the screen."""
        ...

    def close(self) -> None:
        """Show everything that is left, and end."""
        ...


COMPACTED: Final = "the conversation had become too long for the model: it goes on from a summary, and the whole is kept"


class PlainView:
    """Writes the text to one stream, and notes to another; thinking and tools only if `thoughts` is set. Control characters
    are made harmless."""

    def __init__(self, out: IO[str], aside: IO[str] | None = None, *, thoughts: bool = False) -> None:
        self._out = out
        self._aside = aside
        self._thoughts = aside if thoughts else None
        self._return = ""
        """A carriage return at the end of a piece: it may be half of a line break."""
        self._into: IO[str] | None = None
        self._is_at_start = True

    def add(self, event: AnswerEvent) -> None:
        if isinstance(event, TextDelta):
            self._write(self._out, event.text)
        elif isinstance(event, ThinkingDelta) and self._thoughts is not None:
            self._write(self._thoughts, event.text)
        elif isinstance(event, ToolCall):
            self.tool(event, "called")
        elif isinstance(event, Compacted):
            self.note(COMPACTED)

    def tool(self, call: ToolCall, state: ToolState, detail: str = "") -> None:
        if self._thoughts is not None:
            self.note(f"→ {call.name} {call.arguments} {state} {detail}".rstrip())

    def note(self, text: str) -> None:
        self._end_line()
        if self._aside is not None:
            self._aside.write(harmless(text) + "\n")
            self._aside.flush()

    def paused(self) -> AbstractContextManager[None]:
        self._end_line()
        return nullcontext()

    def close(self) -> None:
        self._end_line()

    def _write(self, into: IO[str], text: str) -> None:
        if into is not self._into:
            self._end_line()
            self._into = into
        whole = self._return + text
        self._return = "\r" if whole.endswith("\r") else ""
        if shown := harmless(whole.removesuffix("\r") if self._return else whole):
            into.write(shown)
            into.flush()
            self._is_at_start = shown.endswith("\n")

    def _end_line(self) -> None:
        if self._into is not None and not (self._is_at_start and not self._return):
            self._into.write(harmless(self._return) + "\n")
            self._into.flush()
        self._return, self._is_at_start, self._into = "", True, None


def is_live(out: IO[str]) -> bool:
    """Is this a terminal on which lines can be overwritten?"""
    return out.isatty() and os.environ.get("TERM", "") not in ("", "dumb")


def view_for(out: IO[str], aside: IO[str], *, show_thinking: bool = False, name: str = "") -> View:
    """The view for these two streams, usually standard output and standard error. `name` is the backend that answers."""
    if is_live(out):
        from clew.chat.display.live import LiveView

        return LiveView(out, show_thinking=show_thinking, name=name)
    return PlainView(out, aside, thoughts=show_thinking)
