"""Views: how an answer is shown while it comes.

`PlainView` writes only the text, as it comes; it is for pipes and files. `LiveView` is for terminals. There thinking is dim,
or one line that counts its tokens; text is Markdown; each tool has a line with its state. Finished blocks are drawn once and
stay. Below them are a few live lines: the open block, and the present activity. A thread draws them again a few times a
second, however fast the answer comes, so the cost of an answer grows linearly with its length.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from threading import Event, Lock, RLock, Thread
from typing import IO, TYPE_CHECKING, Final, Protocol

from clew.chat.display.drawing import Painter, Paragraphs, ToolLines, ToolState, markdown
from clew.chat.messages import ToolCall
from clew.chat.metrics import harmless
from clew.chat.service import AnswerEvent, Compacted, TextDelta, ThinkingDelta
from clew.model.tokens import tokens_of

if TYPE_CHECKING:
    from rich.console import RenderableType


COMPACTED: Final = "the conversation was too long for the model: it continues from a summary, and all turns are kept"
_PAUSE: Final = 0.08
"""Seconds between two pictures."""
_SILENCE: Final = 2.0
"""Seconds without text after which the waiting time is shown."""


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
        """Draw nothing inside the `with` block: something else writes to the screen."""
        ...

    def close(self) -> None:
        """Show everything that is left, and end."""
        ...


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


class LiveView:
    """Draws one answer. It draws until it is closed, so close it whatever happens."""

    def __init__(
        self,
        out: IO[str],
        *,
        show_thinking: bool = False,
        name: str = "",
        clock: Callable[[], float] = time.monotonic,
        pause: float = _PAUSE,
    ) -> None:
        self._painter = Painter(out)
        self._show_thinking = show_thinking
        self._name = harmless(name)
        self._clock = clock
        self._since = clock()
        """When the present activity began."""
        self._text, self._thoughts = Paragraphs(), Paragraphs()
        self._tokens = 0.0
        self._is_thinking = False
        self._tools = ToolLines(clock)
        self._finished: list[RenderableType] = []
        """Finished blocks that are not drawn yet."""
        self._has_drawn = False
        self._lock = RLock()
        self._is_paused = False
        self._pausing = Lock()
        """Held while another writer has the screen; another lock than the one that `close` takes."""
        self._over = Event()
        self._ticker = Thread(target=self._tick, args=(pause,), name="clew-display", daemon=True)
        self._ticker.start()

    def add(self, event: AnswerEvent) -> None:
        with self._lock:
            if isinstance(event, ThinkingDelta):
                if not self._is_thinking:
                    self._end_text()
                    self._is_thinking, self._since, self._tokens = True, self._clock(), 0.0
                self._tokens += tokens_of(event.text.encode("utf-8", "replace"))
                if self._show_thinking:
                    self._keep(*map(_thinking_text, self._thoughts.feed(event.text)))
            elif isinstance(event, TextDelta):
                self._end_thinking()
                self._keep(*map(markdown, self._text.feed(event.text)))
                self._since = self._clock()
            elif isinstance(event, ToolCall):
                self.tool(event, "called")
            elif isinstance(event, Compacted):
                self.note(COMPACTED)

    def tool(self, call: ToolCall, state: ToolState, detail: str = "") -> None:
        with self._lock:
            self._end_text()
            for line in self._tools.update(call, state, detail):
                self._finished.append(line)
                self._has_drawn = True
            self._since = self._clock()

    def note(self, text: str) -> None:
        with self._lock:
            self._end_text()
            self._keep(_dim(text))

    @contextmanager
    def paused(self) -> Generator[None]:
        with self._pausing:
            with self._lock:
                self._end_text()
                self._release_screen()
                self._is_paused = True
            try:
                yield
            finally:
                with self._lock:
                    self._is_paused, self._since = False, self._clock()

    def close(self) -> None:
        self._over.set()
        self._ticker.join()
        with self._lock:
            self._end_text()
            self._finished += self._tools.settle()
            self._release_screen()

    def _release_screen(self) -> None:
        self._painter.paint(self._finished)
        self._finished = []
        self._painter.close()

    # Finished blocks.

    def _keep(self, *blocks: RenderableType) -> None:
        """Add blocks that stay, each with a blank line above it, but the first."""
        for block in blocks:
            self._finished += ["", block] if self._has_drawn else [block]
            self._has_drawn = True

    def _end_text(self) -> None:
        self._end_thinking()
        self._keep(*map(markdown, self._text.end()))

    def _end_thinking(self) -> None:
        if self._is_thinking:
            self._is_thinking = False
            self._keep(*map(_thinking_text, self._thoughts.end()))
            self._keep(_dim(f"thought for {self._seconds()}, ≈{round(self._tokens):,} tokens"))
            self._since = self._clock()

    # Live lines.

    def _tick(self, pause: float) -> None:
        while not self._over.wait(pause):
            with self._lock, suppress(OSError):  # the terminal is gone: `close` raises it
                if not self._is_paused:
                    self._painter.paint(self._finished, self._live())
                    self._finished = []

    def _live(self) -> list[RenderableType]:
        """The open block, if there is one, and the present activity."""
        lines = max(self._painter.height - 4, 1)
        if self._is_thinking:
            activity = _dim(f"thinking… {self._seconds()}, ≈{round(self._tokens):,} tokens")
            shown = self._thoughts.preview(lines) if self._show_thinking else ""
            return [*self._above(), _thinking_text(shown), "", activity] if shown else [*self._above(), activity]
        if shown := self._text.preview(lines):
            silence = [_dim(f"… {self._seconds()}")] if self._clock() - self._since > _SILENCE else []
            return [*self._above(), markdown(shown), *silence]
        if under_way := self._tools.under_way():
            return under_way
        waiting = f"waiting for {self._name}… " if self._name else "waiting… "
        return [*self._above(), _dim(waiting + self._seconds())]

    def _above(self) -> list[RenderableType]:
        return [""] if self._has_drawn else []

    def _seconds(self) -> str:
        return f"{self._clock() - self._since:.0f} s"


def _dim(text: str, style: str = "dim") -> RenderableType:
    from rich.text import Text

    return Text(harmless(text), style=style)


def _thinking_text(text: str) -> RenderableType:
    """Thinking as plain text: people read it for its words."""
    return _dim(text, "dim italic")


def is_live(out: IO[str]) -> bool:
    """Is this a terminal on which lines can be overwritten?"""
    return out.isatty() and os.environ.get("TERM", "") not in ("", "dumb")


def view_for(out: IO[str], aside: IO[str], *, show_thinking: bool = False, name: str = "") -> View:
    """The view for these two streams, usually standard output and standard error. `name` is the backend that answers."""
    if is_live(out):
        return LiveView(out, show_thinking=show_thinking, name=name)
    return PlainView(out, aside, thoughts=show_thinking)
