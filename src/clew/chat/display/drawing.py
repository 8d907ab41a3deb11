"""What is drawn on a terminal: a painter of lines, a model's Markdown block by block, and the lines of tool calls.

The painter adds lines that stay, and below them draws a few live lines again and again. Live lines are overwritten, never
erased first, and each picture is one write, so nothing flickers. They are never more than fit on the screen: a line that has
scrolled away cannot be overwritten. One column stays free, because terminals disagree about what comes after the last one.
Every text is made harmless first: nothing in it can be a command to the terminal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import IO, TYPE_CHECKING, ClassVar, Final, Literal, TypeAlias

from msgspec import Struct

from clew.chat.messages import ToolCall
from clew.chat.metrics import harmless

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from rich.console import Console, JustifyMethod, RenderableType
    from rich.markdown import Markdown, MarkdownElement


ToolState: TypeAlias = Literal["called", "asking", "running", "done", "failed", "denied"]
"""The state of a tool call: `called` if this program does not run it; `asking` for approval."""


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
def _markdown_tools() -> tuple[MarkdownIt, type[Markdown]]:
    """A parser, and rich's Markdown with headings on the left, where the text is."""
    from markdown_it import MarkdownIt
    from rich.markdown import Heading, Markdown

    class LeftHeading(Heading):
        LEVEL_ALIGN: ClassVar[dict[str, JustifyMethod]] = dict.fromkeys(Heading.LEVEL_ALIGN, "left")

    class LeftMarkdown(Markdown):
        elements: ClassVar[dict[str, type[MarkdownElement]]] = {**Markdown.elements, "heading_open": LeftHeading}

    parser = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"]).disable(["image"])
    return parser, LeftMarkdown


def markdown(text: str) -> RenderableType:
    """A block of a model's Markdown, ready to be printed.

    Nothing is lost: text that looks like HTML stays text, an image is its description and its address, links show their
    addresses, and a block that would show nothing (only definitions of links) is shown as it was written.
    """
    from rich.text import Text

    clean = harmless(text)
    parser, left_markdown = _markdown_tools()
    drawn = left_markdown("", code_theme=_CODE_THEME, hyperlinks=False)
    drawn.parsed = parser.parse(clean)
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


_FENCE: Final = re.compile(r"( *)(`{3,}|~{3,})(.*)")
_HEADING: Final = re.compile(r"#{1,6}(\s|$)")
_MOST_PREVIEWED: Final = 8_000
"""Characters of an open block that are drawn each time."""


class Paragraphs:
    """Text that comes in pieces, as blocks of Markdown. `feed` it text; it returns the blocks that are finished.

    A finished block can be drawn once; only the open block is drawn again. A block ends at a blank line, unless the next
    line is indented and so continues the block (an item of a list); at the end of a fence; and where a heading or a fence
    begins. Each line is looked at once.

    >>> text = Paragraphs()
    >>> text.feed("One.\\n\\nTw")
    []
    >>> text.feed("o, and\\nmore\\n\\n# Three\\n"), text.open
    (['One.', 'Two, and\\nmore', '# Three'], '')
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        """The complete lines of the open block."""
        self._begun: list[str] = []
        """The pieces of the last line, which has no end yet."""
        self._fence = ""
        """What closes the open fence."""
        self._inside = False
        """Is that fence part of a block that began before it?"""
        self._gap = False
        """Was the last line blank?"""

    def feed(self, text: str) -> list[str]:
        """Add text, and return the blocks that it finishes."""
        first, *rest = text.split("\n")
        self._begun.append(first)
        finished: list[str] = []
        for piece in rest:
            finished += self._add_line("".join(self._begun))
            self._begun = [piece]
        return finished

    def end(self) -> list[str]:
        """The last blocks: no more text comes."""
        finished = [*self._add_line("".join(self._begun)), *self._close()]
        self._begun, self._fence = [], ""
        return finished

    @property
    def open(self) -> str:
        """The text of the block that is not finished."""
        return "\n".join([*self._lines, "".join(self._begun)]).strip("\n")

    def preview(self, lines: int) -> str:
        """The open block, or the end of it: at most so many lines, and never much text. A fence keeps its beginning."""
        shown = [line[-_MOST_PREVIEWED:] for line in (*self._lines[-lines:], "".join(self._begun))][-lines:]
        while len(shown) > 1 and sum(map(len, shown)) > _MOST_PREVIEWED:
            del shown[0]
        cut = len(shown) <= len(self._lines)
        opening = [self._fence] if self._fence and cut else []
        return "\n".join([*opening, *shown]).strip("\n")

    def _add_line(self, line: str) -> Iterator[str]:
        if self._fence:
            self._lines.append(line)
            found = _FENCE.match(line)
            if found and found[2].startswith(self._fence) and not found[3].strip():
                self._fence = ""
                if not self._inside:
                    yield from self._close()
        elif not line.strip():
            self._gap = bool(self._lines)
            self._lines += [""] * self._gap
        else:
            fence, heading = _FENCE.match(line), _HEADING.match(line)
            if (self._gap and not line[0].isspace()) or (fence and not fence[1]) or heading:
                yield from self._close()
            if fence:
                self._fence, self._inside = fence[2], bool(self._lines)
            self._gap = False
            self._lines.append(line)
            if heading:
                yield from self._close()

    def _close(self) -> Iterator[str]:
        block = "\n".join(self._lines).strip("\n")
        self._lines, self._gap = [], False
        if block:
            yield block
