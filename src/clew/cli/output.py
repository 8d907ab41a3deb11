"""What commands print: pages of lines and tables for people, and JSON for programs.

A page is aligned text, or has colours on a terminal. What is printed comes from files with unchecked content. Control
characters in it are shown as escapes and never reach the terminal. In JSON they are written as JSON escapes, so the value
stays the same.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import IO, Final, TypeAlias

import click
import msgspec
from msgspec import Struct

_GAP: Final = 2
_SHORT: Final = 20
"""A cell of at most so many characters is not broken into two lines if there is room."""
_CELL_STYLES: Final = {"goes": "green", "left out": "yellow", "removed": "yellow", "replaced": "yellow"}
"""By how a cell begins."""
_STYLES: Final = {"good": "green", "bad": "bold red", "quiet": "dim", "head": "bold"}
_CONTROL: Final = re.compile("[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]")
"""C1 controls, characters that change the direction of text, and invisible characters. As in the log."""


class TextLine(Struct, frozen=True):
    """A line of a page. `tone` is `good`, `bad`, `quiet`, `head`, or "" for plain."""

    text: str
    tone: str = ""


class TextTable(Struct, frozen=True):
    """Rows of cells with a head."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


Page: TypeAlias = Sequence[TextLine | TextTable]


def printable(text: str) -> str:
    """The text on one line, with nothing in it that a terminal would obey."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def printable_table(columns: tuple[str, ...], rows: Iterable[Iterable[str]]) -> TextTable:
    return TextTable(columns, tuple(tuple(map(printable, row)) for row in rows))


def plural(number: int, noun: str) -> str:
    """`1 turn`, `2 turns`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def print_result(value: object, page: Page, *, as_json: bool) -> None:
    """Print the value as JSON, or the page."""
    if as_json:
        print_json(value)
    else:
        print_page(page)


# Pages


def print_page(page: Page, out: IO[str] | None = None) -> None:
    """Print the page at once, by default to standard output; in colour if that is a terminal."""
    stream: IO[str] = out or sys.stdout
    if stream.isatty():
        _print_rich(page, stream)
        return
    lines: list[str] = []
    for part in page:
        if isinstance(part, TextLine):
            lines.append(part.text)
            continue
        rows = [part.columns, *part.rows]
        widths = [max(len(row[i]) for row in rows) for i in range(len(part.columns))]
        lines += ["  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    stream.write("".join(f"{line.rstrip()}\n" for line in lines))
    stream.flush()


def _print_rich(page: Page, out: IO[str]) -> None:
    from rich.console import Console  # late: it takes longer to load than most files take to check
    from rich.table import Table
    from rich.text import Text

    console = Console(file=out, highlight=False)
    for part in page:
        if isinstance(part, TextLine):
            console.print(Text(part.text, style=_STYLES.get(part.tone, "")), soft_wrap=True)
            continue
        drawn = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
        # Times, numbers and names stay on one line, as long as that leaves room for the long cells.
        widths = [max(map(len, cells)) for cells in zip(part.columns, *part.rows, strict=True)]
        has_room = sum(min(each, _SHORT) + _GAP for each in widths) <= console.width
        for column, longest in zip(part.columns, widths, strict=True):
            drawn.add_column(column, overflow="fold", no_wrap=has_room and longest <= _SHORT)
        for row in part.rows:
            styles = [next((style for start, style in _CELL_STYLES.items() if cell.startswith(start)), "") for cell in row]
            drawn.add_row(*map(Text, row, styles))
        console.print(drawn)


# JSON


def print_json(value: object, *, indent: bool = False) -> None:
    """Print one value: on one line, or with `indent` on several, for people."""
    raw = msgspec.json.encode(value, enc_hook=list)
    click.echo(visible_json(msgspec.json.format(raw, indent=2) if indent else raw))


def visible_json(raw: bytes) -> bytes:
    """The same JSON with control characters as escapes. They stand in strings only, so the value stays the same."""
    if raw.isascii() and b"\x7f" not in raw:
        return raw
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", raw.decode()).encode()


def visible_on_terminal(raw: bytes, *, is_json: bool = True) -> bytes:
    """Bytes for standard output: unchanged, unless that is a terminal."""
    if not sys.stdout.isatty():
        return raw
    if is_json:
        return visible_json(raw)
    from clew.chat.metrics import harmless  # late: most commands need nothing else of the library

    return harmless(raw.decode()).encode()


@contextmanager
def progress_bar(title: str, total: int, least: int) -> Generator[Callable[[int], None]]:
    """A function that takes the bytes, or the rows, of each step. On a terminal it draws a bar on stderr, if there are
    `least`."""
    if total < least or not sys.stderr.isatty():
        yield lambda count: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total)
        yield lambda count: bar.advance(task, count)
