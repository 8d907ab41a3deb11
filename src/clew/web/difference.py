"""The difference between two bodies, line by line: JSON is spread over lines first, so that a changed value is a line.

clew changes as little as it can, so most bodies are the same at both ends, and only what is between is compared. Long runs
of the same are folded, long lines are cut; two bodies that have next to nothing in common are shown one after the other. In
long ones, a line that is there again and again (a brace) is no place to begin at: to try them all takes minutes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import groupby, islice
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec import Struct

__all__ = ["Difference", "Line", "difference", "spread"]

Kind: TypeAlias = Literal["same", "gone", "new", "fold"]

CONTEXT: Final = 3
MOST_LINES: Final = 3000
MOST_WIDTH: Final = 600
_MOST_WORK: Final = 4_000_000
"""Lines of the one times lines of the other that are worth comparing."""


class Line(Struct, frozen=True):
    """`fold` stands for as many lines that are the same as its text says."""

    kind: Kind
    text: str


class Difference(Struct, frozen=True):
    """`gone` and `new` are how many lines; `cut`: there is more than is shown."""

    lines: tuple[Line, ...]
    gone: int
    new: int
    cut: bool


def spread(text: str) -> list[str]:
    """Over lines, if it is JSON."""
    try:
        return msgspec.json.format(text, indent=2).splitlines()
    except (msgspec.DecodeError, RecursionError):
        return text.splitlines()


def difference(before: str, after: str) -> Difference:
    lines = list(islice(_folded(list(_compared(spread(before), spread(after)))), MOST_LINES + 1))
    return Difference(
        tuple(lines[:MOST_LINES]),
        sum(line.kind == "gone" for line in lines),
        sum(line.kind == "new" for line in lines),
        len(lines) > MOST_LINES,
    )


def _compared(a: Sequence[str], b: Sequence[str]) -> Iterator[Line]:
    head = _common(a, b)
    tail = _common(a[head:][::-1], b[head:][::-1])
    yield from (Line("same", text) for text in a[:head])
    yield from _between(a[head : len(a) - tail], b[head : len(b) - tail])
    yield from (Line("same", text) for text in a[len(a) - tail :])


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    """How many lines are the same from the beginning."""
    return next((at for at, (one, other) in enumerate(zip(a, b, strict=False)) if one != other), min(len(a), len(b)))


def _between(a: Sequence[str], b: Sequence[str]) -> Iterator[Line]:
    if len(a) * len(b) > _MOST_WORK:
        yield from (Line("gone", text) for text in a)
        yield from (Line("new", text) for text in b)
        return
    for what, a0, a1, b0, b1 in SequenceMatcher(None, a, b).get_opcodes():
        if what == "equal":
            yield from (Line("same", text) for text in a[a0:a1])
        else:
            yield from (Line("gone", text) for text in a[a0:a1])
            yield from (Line("new", text) for text in b[b0:b1])


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
