"""A report for people: sections of lines and tables, as aligned text, or with colours on a terminal.

What is printed comes from files that nobody vouches for. Control characters in it are shown as escapes and never reach the
terminal.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import IO, TypeAlias

from msgspec import Struct

__all__ = ["Line", "Page", "Table", "plain", "printable", "show"]

Tone: TypeAlias = str
"""`good`, `bad`, `quiet`, `head`, or "" for plain."""

_GAP = 2
_SHORT = 20
"""Characters of a cell that nobody wants to read in two pieces."""
_STYLES = {"good": "green", "bad": "bold red", "quiet": "dim", "head": "bold"}


class Line(Struct, frozen=True):
    text: str
    tone: Tone = ""


class Table(Struct, frozen=True):
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


Page: TypeAlias = Sequence[Line | Table]


def printable(text: str) -> str:
    """The text on one line, with nothing in it that a terminal would obey."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def plain(page: Page) -> str:
    """The page as text, columns aligned."""
    return "".join(f"{line}\n" for part in page for line in _plain_lines(part))


def _plain_lines(part: Line | Table) -> Iterable[str]:
    if isinstance(part, Line):
        return [part.text.rstrip()]
    rows = [part.columns, *part.rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(part.columns))]
    return ["  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def show(page: Page, out: IO[str] | None = None) -> None:
    """Print it at once, by default to standard output; in colour if that is a terminal."""
    stream: IO[str] = out or sys.stdout
    if stream.isatty():
        _show_rich(page, stream)
    else:
        stream.write(plain(page))
        stream.flush()


def _show_rich(page: Page, out: IO[str]) -> None:
    from rich.console import Console  # late: it takes longer to load than most files take to check
    from rich.text import Text

    console = Console(file=out, highlight=False)
    for part in page:
        if isinstance(part, Table):
            console.print(_rich_table(part, console.width))
        else:
            console.print(Text(part.text, style=_STYLES.get(part.tone, "")), soft_wrap=True)


def _rich_table(table: Table, width: int) -> object:
    from rich.table import Table as Drawn
    from rich.text import Text

    drawn = Drawn(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    for column, whole in zip(table.columns, _whole(table, width), strict=True):
        drawn.add_column(column, overflow="fold", no_wrap=whole)
    for row in table.rows:
        drawn.add_row(*(Text(cell, style=_tone_of(cell)) for cell in row))
    return drawn


def _whole(table: Table, width: int) -> list[bool]:
    """Which columns stay on one line: times, numbers and names, as long as that leaves room for the long ones."""
    widths = [max(map(len, cells)) for cells in zip(table.columns, *table.rows, strict=True)]
    room = sum(min(each, _SHORT) + _GAP for each in widths)
    return [each <= _SHORT and room <= width for each in widths]


def _tone_of(cell: str) -> str:
    if cell.startswith("goes"):
        return _STYLES["good"]
    return "yellow" if cell.startswith(("left out", "removed", "replaced")) else ""
