"""What is drawn on a terminal: lines that stay, and below them a few that are drawn over and over.

The live lines are written over, never erased first, and each picture is one write, so nothing flickers. They are never more
than fit on the screen: what has scrolled away cannot be drawn over. One column stays free, because terminals disagree about
what comes after the last one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import IO, TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

__all__ = ["Painter"]

_HIDE, _SHOW = "\x1b[?25l", "\x1b[?25h"
_TO_LINE_END, _TO_SCREEN_END = "\x1b[K", "\x1b[J"
_NARROWEST: Final = 20
_STYLE: Final = re.compile(r"\x1b\[[0-9;]*m")


class Painter:
    """Draws on one terminal. `close` leaves what stays, and gives the cursor back."""

    def __init__(self, out: IO[str]) -> None:
        from rich.console import Console

        self._out = out
        self._console: Console = Console(file=out, highlight=False, markup=False, emoji=False)
        self._live = 0
        """Lines that are drawn over."""
        self._hidden = False

    @property
    def height(self) -> int:
        """Lines that fit on the screen."""
        return max(self._console.height - 1, 1)

    def paint(self, stays: Iterable[RenderableType], live: Sequence[RenderableType] = ()) -> None:
        """Add these for good, and below them, these for now."""
        kept = [line for each in stays for line in self._lines(each)]
        shown = [line for each in live for line in self._lines(each)][-self.height :]
        picture = "".join(f"{line}{_TO_LINE_END}\n" for line in kept) + f"{_TO_LINE_END}\n".join(shown)
        up = f"\x1b[{self._live - 1}A" if self._live > 1 else ""
        back = f"\r{up}" if self._live else ""
        hide = "" if self._hidden or not shown else _HIDE
        self._write(f"{hide}{back}{picture}{_TO_SCREEN_END if self._live else ''}")
        self._live, self._hidden = len(shown), self._hidden or bool(shown)

    def close(self) -> None:
        """The live lines go."""
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
        return lines[:1] if len(lines) == 1 else _between_blanks(lines)

    def _write(self, text: str) -> None:
        if text:
            self._out.write(text)
            self._out.flush()


def _between_blanks(lines: list[str]) -> list[str]:
    """Without the blank lines at both ends, which some things have around them and others do not."""
    filled = [index for index, line in enumerate(lines) if _STYLE.sub("", line).strip()]
    return lines[filled[0] : filled[-1] + 1] if filled else lines[:1]
