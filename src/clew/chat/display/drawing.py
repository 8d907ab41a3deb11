"""What is drawn on a terminal: a painter of lines, a model's Markdown, and the lines of tool calls.

The painter adds lines that stay, and below them draws a few live lines again and again. Live lines are overwritten, never
erased first, and each picture is one write, so nothing flickers. They are never more than fit on the screen: a line that has
scrolled away cannot be overwritten. One column stays free, because terminals disagree about what comes after the last one.
Every text is made harmless first: nothing in it can be a command to the terminal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import IO, TYPE_CHECKING, ClassVar, Final

from msgspec import Struct

from clew.chat.display.view import ToolState
from clew.chat.messages import ToolCall
from clew.chat.terminal import harmless

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from rich.console import Console, JustifyMethod, RenderableType
    from rich.markdown import Markdown, MarkdownElement


_HIDE, _SHOW = "\x1b[?25l", "\x1b[?25h"
_TO_LINE_END, _TO_SCREEN_END = "\x1b[K", "\x1b[J"
_NARROWEST: Final = 20
_STYLE: Final = re.compile(r"\x1b\[[0-9;]*m")
_CODE_THEME: Final = "ansi_dark"
"""The terminal's own colours, on its own background."""

_MARKS: Final[dict[ToolState, tuple[str, str]]] = {
    "called": ("→", ""),
    "asking": ("?", "yellow"),
    "running": ("…", "yellow"),
    "done": ("✓", "green"),
    "failed": ("✗", "red"),
    "denied": ("✗", "yellow"),
}
_LONGEST: Final = 160
"""Characters of the arguments, and of the detail."""


class Painter:
    """Draws on one terminal. `close` removes the live lines and shows the cursor again."""

    def __init__(self, out: IO[str]) -> None:
        from rich.console import Console

        self._out = out
        self._console: Console = Console(file=out, highlight=False, markup=False, emoji=False)
        self._live = 0
        """How many lines are live."""
        self._hidden = False

    @property
    def height(self) -> int:
        """Lines that fit on the screen."""
        return max(self._console.height - 1, 1)

    def paint(self, stays: Iterable[RenderableType], live: Sequence[RenderableType] = ()) -> None:
        """Add the first ones for good, and draw the others below them as live lines."""
        kept = [line for each in stays for line in self._lines(each)]
        shown = [line for each in live for line in self._lines(each)][-self.height :]
        picture = "".join(f"{line}{_TO_LINE_END}\n" for line in kept) + f"{_TO_LINE_END}\n".join(shown)
        up = f"\x1b[{self._live - 1}A" if self._live > 1 else ""
        back = f"\r{up}" if self._live else ""
        hide = "" if self._hidden or not shown else _HIDE
        self._write(f"{hide}{back}{picture}{_TO_SCREEN_END if self._live else ''}")
        self._live, self._hidden = len(shown), self._hidden or bool(shown)

    def close(self) -> None:
        """Remove the live lines."""
        if self._live:
            self.paint(())
        if self._hidden:
            self._hidden = False
            self._write(_SHOW)

    def _lines(self, each: RenderableType) -> list[str]:
        width = max(self._console.width - 1, _NARROWEST)
        with self._console.capture() as captured:
            self._console.print(each, width=width)
        lines = [line.rstrip(" ") for line in captured.get().removesuffix("\n").split("\n")]
        # without the blank lines that rich puts around some elements and not around others
        filled = [index for index, line in enumerate(lines) if _STYLE.sub("", line).strip()]
        return lines[filled[0] : filled[-1] + 1] if filled else lines[:1]

    def _write(self, text: str) -> None:
        if text:
            self._out.write(text)
            self._out.flush()


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"]).disable(["image"])


@cache
def _markdown_class() -> type[Markdown]:
    """rich's Markdown with headings on the left, where the text is."""
    from rich.markdown import Heading, Markdown

    class LeftHeading(Heading):
        LEVEL_ALIGN: ClassVar[dict[str, JustifyMethod]] = dict.fromkeys(Heading.LEVEL_ALIGN, "left")

    class LeftMarkdown(Markdown):
        elements: ClassVar[dict[str, type[MarkdownElement]]] = {**Markdown.elements, "heading_open": LeftHeading}

    return LeftMarkdown


def markdown(text: str) -> RenderableType:
    """A block of a model's Markdown, ready to be printed.

    Nothing is lost: text that looks like HTML stays text, an image is its description and its address, links show their
    addresses, and a block that would show nothing (only definitions of links) is shown as it was written.
    """
    from rich.text import Text

    clean = harmless(text)
    drawn = _markdown_class()("", code_theme=_CODE_THEME, hyperlinks=False)
    drawn.parsed = _parser().parse(clean)
    return drawn if drawn.parsed else Text(clean)


class _CallState(Struct):
    call: ToolCall
    state: ToolState
    detail: str
    since: float


class ToolLines:
    """A line for each call of one answer, in the order of the calls: a finished call waits for those before it."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._calls: dict[str, _CallState] = {}

    def update(self, call: ToolCall, state: ToolState, detail: str) -> list[RenderableType]:
        """Set the state of a call, and return the lines that are final now."""
        known = self._calls.get(call.id)
        since = known.since if known and known.state == "running" else self._clock()
        self._calls[call.id] = _CallState(call, state, detail, since)
        lines: list[RenderableType] = []
        for id, each in [*self._calls.items()]:
            if each.state in ("asking", "running"):
                break
            lines.append(self._line(self._calls.pop(id)))
        return lines

    def settle(self) -> list[RenderableType]:
        """The lines of all remaining calls, with their present states."""
        rest = [self._line(each) for each in self._calls.values()]
        self._calls = {}
        return rest

    def under_way(self) -> list[RenderableType]:
        return [self._line(each) for each in self._calls.values()]

    def _line(self, each: _CallState) -> RenderableType:
        from rich.text import Text

        mark, style = _MARKS[each.state]
        seconds = f" {self._clock() - each.since:.1f} s" if each.state in ("running", "done", "failed") else ""
        what = "" if each.state == "called" else f" {each.state}{seconds}"
        detail = f": {_short(each.detail)}" if each.detail else ""
        name, arguments = _short(each.call.name), _short(each.call.arguments)
        return Text.assemble((mark, style), (f" {name}", "bold"), (f" {arguments}", "dim"), (what + detail, style))


def _short(text: str) -> str:
    """The text on one line, shortened."""
    shown = " ".join(harmless(text[:_LONGEST]).split())
    return f"{shown}… ({len(text):,} characters)" if len(text) > _LONGEST else shown
