"""The difference between two bodies, line by line: JSON is spread over lines first, so that a changed value is a line.

clew changes as little as it can, so most of two bodies is the same (`comparing` finds out what). Long runs of the same are
folded, long lines are cut; two bodies that have next to nothing in common are shown one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec import Struct

from clew.web.comparing import Run, compared

__all__ = ["Difference", "Line", "difference", "spread"]

Kind: TypeAlias = Literal["same", "gone", "new", "fold"]

CONTEXT: Final = 3
MOST_LINES: Final = 3000
MOST_WIDTH: Final = 600


class Line(Struct, frozen=True):
    """`fold` stands for as many lines that are the same as its text says."""

    kind: Kind
    text: str


class Difference(Struct, frozen=True):
    """`gone` and `new` are how many lines; `cut`: there is more than is shown; `rough`: too much differs to be compared line
    by line, and some that is the same may count as changed."""

    lines: tuple[Line, ...]
    gone: int
    new: int
    cut: bool
    rough: bool = False


def spread(text: str) -> list[str]:
    """Over lines, if it is JSON."""
    try:
        return msgspec.json.format(text, indent=2).splitlines()
    except (msgspec.DecodeError, RecursionError):
        return text.splitlines()


def difference(before: str, after: str) -> Difference:
    found = compared(spread(before), spread(after))
    lines = list(_lines(found.runs))
    shown = list(islice(_folded(lines), MOST_LINES + 1))
    return Difference(
        tuple(shown[:MOST_LINES]),
        sum(line.kind == "gone" for line in lines),
        sum(line.kind == "new" for line in lines),
        len(shown) > MOST_LINES,
        found.rough,
    )


def _lines(runs: Iterable[Run]) -> Iterator[Line]:
    for run in runs:
        yield from (Line("same", text) for text in run.same)
        yield from (Line("gone", text) for text in run.gone)
        yield from (Line("new", text) for text in run.new)


def _folded(lines: Sequence[Line]) -> Iterator[Line]:
    changed = [at for at, line in enumerate(lines) if line.kind != "same"]
    near = {at + by for at in changed for by in range(-CONTEXT, CONTEXT + 1)}
    for far, run in groupby(enumerate(lines), key=lambda each: each[0] not in near):
        some = [line for _, line in run]
        if far and len(some) > 1:
            yield Line("fold", str(len(some)))
        else:
            yield from (Line(line.kind, _cut(line.text)) for line in some)


def _cut(text: str) -> str:
    more = len(text) - MOST_WIDTH
    return f"{text[:MOST_WIDTH]}… and {more:,} more characters" if more > 0 else text
