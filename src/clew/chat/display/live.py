"""The live view: an answer on a terminal while it comes.

Thinking is dim and folded into a line that counts; text is Markdown; each tool has a line with its state. What is finished
is drawn once and stays. Below it are a few live lines: the block that is still open, and what is going on. They are drawn
anew a few times a second, however fast the pieces come, by a thread that also lets the seconds pass; so the cost of an
answer grows with its length and not faster.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from threading import Event, Lock, RLock, Thread
from typing import IO, TYPE_CHECKING, Final

from clew.chat.display.markdown import markdown
from clew.chat.display.painter import Painter
from clew.chat.display.paragraphs import Paragraphs
from clew.chat.display.tools import Tools
from clew.chat.display.view import COMPACTED, ToolState
from clew.chat.events import Compacted, Said, TextDelta, ThinkingDelta
from clew.chat.messages import ToolCall
from clew.chat.terminal import harmless
from clew.pipeline.text_tokens import tokens_of

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["LiveView"]

_SECONDS: Final = 0.08
"""Between two pictures."""
_SILENCE: Final = 2.0
"""Seconds after which one wonders whether more is coming."""
_DIM: Final = "dim"
_THOUGHT: Final = "dim italic"


class LiveView:
    """Draws one answer. It draws until it is closed, so close it whatever happens."""

    def __init__(
        self,
        out: IO[str],
        *,
        show_thinking: bool = False,
        name: str = "",
        clock: Callable[[], float] = time.monotonic,
        pause: float = _SECONDS,
    ) -> None:
        self._painter = Painter(out)
        self._show_thinking = show_thinking
        self._name = harmless(name)
        self._clock = clock
        self._since = clock()
        """When what is going on began."""
        self._text, self._thoughts = Paragraphs(), Paragraphs()
        self._tokens = 0.0
        self._is_thinking = False
        self._tools = Tools(clock)
        self._stays: list[RenderableType] = []
        """Finished, and not drawn yet."""
        self._has_drawn = False
        self._lock = RLock()
        self._is_held = False
        self._holder = Lock()
        """Of the screen: one at a time, and not in the way of whoever closes this."""
        self._over = Event()
        self._ticker = Thread(target=self._tick, args=(pause,), name="clew-display", daemon=True)
        self._ticker.start()

    def heard(self, event: Said) -> None:
        with self._lock:
            if isinstance(event, ThinkingDelta):
                self._think(event.text)
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
            for line in self._tools.told(call, state, detail):
                self._stays.append(line)
                self._has_drawn = True
            self._since = self._clock()

    def note(self, text: str) -> None:
        with self._lock:
            self._end_text()
            self._keep(_dim(harmless(text)))

    @contextmanager
    def held(self) -> Generator[None]:
        with self._holder:
            self._hold()
            try:
                yield
            finally:
                with self._lock:
                    self._is_held, self._since = False, self._clock()

    def _hold(self) -> None:
        """Let go of the screen, for somebody else to write on: what was said so far is finished first."""
        with self._lock:
            self._end_text()
            self._painter.paint(self._stays)
            self._stays = []
            self._painter.close()
            self._is_held = True

    def close(self) -> None:
        self._over.set()
        self._ticker.join()
        with self._lock:
            self._end_text()
            self._stays += self._tools.settle()
            self._painter.paint(self._stays)
            self._stays = []
            self._painter.close()

    # What stays.

    def _keep(self, *blocks: RenderableType) -> None:
        """Each with a blank line above it, but the first."""
        for block in blocks:
            self._stays += ["", block] if self._has_drawn else [block]
            self._has_drawn = True

    def _end_text(self) -> None:
        self._end_thinking()
        self._keep(*map(markdown, self._text.end()))

    def _think(self, text: str) -> None:
        if not self._is_thinking:
            self._end_text()
            self._is_thinking, self._since, self._tokens = True, self._clock(), 0.0
        self._tokens += tokens_of(text.encode("utf-8", "replace"))
        if self._show_thinking:
            self._keep(*map(_thought, self._thoughts.feed(text)))

    def _end_thinking(self) -> None:
        if self._is_thinking:
            self._is_thinking = False
            self._keep(*map(_thought, self._thoughts.end()))
            self._keep(_dim(f"thought for {self._seconds()}, ≈{round(self._tokens):,} tokens"))
            self._since = self._clock()

    # What is going on.

    def _tick(self, pause: float) -> None:
        while not self._over.wait(pause):
            with self._lock, suppress(OSError):  # a terminal that is gone: whoever closes this hears of it
                if not self._is_held:
                    self._painter.paint(self._stays, self._live())
                    self._stays = []

    def _live(self) -> list[RenderableType]:
        """The open block, if there is one, and what is being done."""
        lines = max(self._painter.height - 4, 1)
        if self._is_thinking:
            doing = _dim(f"thinking… {self._seconds()}, ≈{round(self._tokens):,} tokens")
            shown = self._thoughts.preview(lines) if self._show_thinking else ""
            return [*self._above(), _thought(shown), "", doing] if shown else [*self._above(), doing]
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


def _dim(text: str) -> RenderableType:
    from rich.text import Text

    return Text(text, style=_DIM)


def _thought(text: str) -> RenderableType:
    """As it was thought: people read it for its words."""
    from rich.text import Text

    return Text(harmless(text), style=_THOUGHT)
