"""The files of an import: which there are, in which format each is, and their lines, one by one and of bounded length."""

from __future__ import annotations

import io
import os
import sys
from codecs import BOM_UTF8
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from msgspec import Struct

from clew.chat.formats import HEAD_BYTES, Format, NumberedLine, format_of

__all__ = ["MOST_LINE", "Source", "files_of", "opened_source"]

SUFFIXES: Final = (".json", ".jsonl")
STDIN: Final = "-"
MOST_LINE: Final = 64 * 1024 * 1024
"""Bytes of a line that is looked at. A longer one is cut, so it is told as broken and costs no memory."""


class Source(Struct, frozen=True):
    """A file; `named` is one that a person named, so it is told if it cannot be read."""

    path: str
    size: int
    named: bool

    @property
    def name(self) -> str:
        return "standard input" if self.path == STDIN else self.path


def files_of(paths: Sequence[str]) -> Iterator[Source]:
    """Every file, those of a directory in order. One that is not there is found out when it is opened."""
    for path in paths:
        if path != STDIN and Path(path).is_dir():
            yield from _below(path)
        else:
            yield Source(path, _size(path), True)


def _below(directory: str) -> Iterator[Source]:
    for root, below, names in os.walk(directory):
        below.sort()
        for name in sorted(names):
            path = os.path.join(root, name)
            if name.endswith(SUFFIXES) and Path(path).is_file():
                yield Source(path, _size(path), False)


def _size(path: str) -> int:
    try:
        return 0 if path == STDIN else Path(path).stat().st_size
    except OSError:
        return 0


@contextmanager
def opened_source(
    source: Source, wanted: Format | None, progress: Callable[[int], None]
) -> Generator[tuple[Format | None, Iterator[NumberedLine]]]:
    """Its format, looked for unless one is wanted, and its lines. Raises OSError."""
    with _stream(source.path) as stream:
        head = stream.read(HEAD_BYTES).removeprefix(BOM_UTF8)
        whole = head[: head.rfind(b"\n")] if len(head) == HEAD_BYTES and b"\n" in head else head
        yield wanted or format_of(whole), _lines(head, stream, progress)


@contextmanager
def _stream(path: str) -> Generator[BinaryIO]:
    if path == STDIN:
        yield sys.stdin.buffer
        return
    with Path(path).open("rb") as file:
        yield file


def _lines(head: bytes, rest: BinaryIO, progress: Callable[[int], None]) -> Iterator[NumberedLine]:
    """Every line with its number. The last one of what was read ahead may go on in the rest."""
    number, start = 1, io.BytesIO(head)
    while line := _line(start, rest):
        progress(len(line))
        yield NumberedLine(number, line.rstrip(b"\r\n"))
        number += 1


def _line(start: BinaryIO, rest: BinaryIO) -> bytes:
    line = start.readline()
    if not line.endswith(b"\n"):
        line += rest.readline(MOST_LINE)
        if len(line) >= MOST_LINE and not line.endswith(b"\n"):
            _skip(rest)
    return line


def _skip(rest: BinaryIO) -> None:
    """Read on to the end of a line that is too long to be kept."""
    while (part := rest.readline(HEAD_BYTES)) and not part.endswith(b"\n"):
        pass
