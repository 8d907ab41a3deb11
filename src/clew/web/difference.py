"""The difference between two bodies, line by line: JSON is spread over lines first, so that a changed value is a line.

clew changes as little as it can, so most of two bodies is the same. Long runs of the same are folded, long lines are
cut; two bodies that have next to nothing in common are shown one after the other.

The comparison takes bounded time: clients choose the texts, and a person waits for the page. Equal lines at both ends are
taken off first. The rest is compared line with line where that is quick. Where it is not, lines that are there once on
either side are anchors, as many as stand in the same order on both (patience diff); what is between two anchors is
small, and compared as before. What still costs too much is not compared: the old lines stand there, and then the new
ones.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import groupby, islice
from typing import Final, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import Struct

CONTEXT: Final = 3
MOST_LINES: Final = 3000
MOST_WIDTH: Final = 600
_MOST_WORK: Final = 20_000_000
"""Steps of the matcher, at its worst, that are allowed: about a second."""
_LONG: Final = 200
"""With so many lines, the matcher does not begin at a line that is there again and again (a brace)."""


class DiffLine(Struct, frozen=True):
    """A line of a page. `fold` stands for as many equal lines as its text says."""

    kind: Literal["same", "gone", "new", "fold"]
    text: str


class Difference(Struct, frozen=True):
    """`gone` and `new` are how many lines; `cut`: there is more than is shown; `rough`: too much differs to be compared line
    by line, and some equal lines may count as changed."""

    lines: tuple[DiffLine, ...]
    gone: int
    new: int
    cut: bool
    rough: bool = False


def spread(text: str) -> list[str]:
    """The lines of the text; of JSON, with a line for each value."""
    try:
        return msgspec.json.format(text, indent=2).splitlines()
    except (msgspec.DecodeError, RecursionError):
        return text.splitlines()


def difference(before: str, after: str) -> Difference:
    found = compare_lines(spread(before), spread(after))
    lines: list[DiffLine] = []
    for run in found.runs:
        lines += [DiffLine("same", text) for text in run.same]
        lines += [DiffLine("gone", text) for text in run.gone]
        lines += [DiffLine("new", text) for text in run.new]
    shown = list(islice(_fold(lines), MOST_LINES + 1))
    return Difference(
        tuple(shown[:MOST_LINES]),
        sum(line.kind == "gone" for line in lines),
        sum(line.kind == "new" for line in lines),
        len(shown) > MOST_LINES,
        found.rough,
    )


def _fold(lines: Sequence[DiffLine]) -> Iterable[DiffLine]:
    """The lines, with equal ones far from a change folded, and long ones cut."""
    changed = [at for at, line in enumerate(lines) if line.kind != "same"]
    near = {at + by for at in changed for by in range(-CONTEXT, CONTEXT + 1)}
    for far, run in groupby(enumerate(lines), key=lambda each: each[0] not in near):
        some = [line for _, line in run]
        if far and len(some) > 1:
            yield DiffLine("fold", str(len(some)))
            continue
        for line in some:
            more = len(line.text) - MOST_WIDTH
            text = f"{line.text[:MOST_WIDTH]}… and {more:,} more characters" if more > 0 else line.text
            yield DiffLine(line.kind, text)


# Comparing


class LineRun(NamedTuple):
    """Lines that are the same on both sides; or removed lines, and the new lines in their place."""

    same: Sequence[str] = ()
    gone: Sequence[str] = ()
    new: Sequence[str] = ()


class LineRuns(NamedTuple):
    """All lines of both sides, in order. `rough`: some were not compared, though there may be equal ones among them."""

    runs: list[LineRun]
    rough: bool


_Compare: TypeAlias = Callable[[Sequence[str], Sequence[str]], Iterator[LineRun]]


def compare_lines(a: Sequence[str], b: Sequence[str]) -> LineRuns:
    comparison = _LineComparison()
    return LineRuns(list(comparison.trim(a, b, comparison.by_anchors)), comparison.rough)


class _LineComparison:
    """One comparison: what it may still cost, and whether that was too little."""

    def __init__(self) -> None:
        self.rough = False
        self._left = _MOST_WORK

    def trim(self, a: Sequence[str], b: Sequence[str], between: _Compare) -> Iterator[LineRun]:
        """The equal lines at both ends, and the comparison of what is between."""
        head = _common(a, b)
        tail = _common(a[head:][::-1], b[head:][::-1])
        yield LineRun(same=a[:head])
        yield from between(a[head : len(a) - tail], b[head : len(b) - tail])
        yield LineRun(same=a[len(a) - tail :])

    def by_anchors(self, a: Sequence[str], b: Sequence[str]) -> Iterator[LineRun]:
        """Line with line, or from one anchor to the next."""
        if _cost(a, b) <= self._left:
            yield from self.line_by_line(a, b)
            return
        done_a = done_b = 0
        for at_a, at_b in _anchors(a, b):
            yield from self.trim(a[done_a:at_a], b[done_b:at_b], self.line_by_line)
            yield LineRun(same=a[at_a : at_a + 1])
            done_a, done_b = at_a + 1, at_b + 1
        yield from self.trim(a[done_a:], b[done_b:], self.line_by_line)

    def line_by_line(self, a: Sequence[str], b: Sequence[str]) -> Iterator[LineRun]:
        """Line with line, if that does not cost too much."""
        cost = _cost(a, b)
        if cost > self._left:
            self.rough = True
            yield LineRun(gone=a, new=b)
            return
        self._left -= cost
        for what, a0, a1, b0, b1 in SequenceMatcher(None, a, b).get_opcodes():
            yield LineRun(same=a[a0:a1]) if what == "equal" else LineRun(gone=a[a0:a1], new=b[b0:b1])


def _cost(a: Sequence[str], b: Sequence[str]) -> int:
    """Each search looks at every pair of equal lines, and there may be as many searches as lines have an equal."""
    if not (a and b):
        return 0
    times = Counter(b)
    most = len(b) // 100 + 1 if len(b) >= _LONG else len(b)
    pairs = sum(count for line in a if (count := times[line]) <= most)
    return (len(a) + len(b) + pairs) * (min(len(a), len(b), pairs) + 1)


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    """How many lines at the beginning are the same."""
    return next((at for at, (one, other) in enumerate(zip(a, b, strict=False)) if one != other), min(len(a), len(b)))


def _anchors(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """Where lines stand that are there once on either side: the most that are in the same order on both."""
    in_a, in_b = Counter(a), Counter(b)
    places = {line: at for at, line in enumerate(b) if in_b[line] == 1}
    pairs = [(at, places[line]) for at, line in enumerate(a) if line in places and in_a[line] == 1]
    # The longest chain in which the second number rises too. Of all chains of a length, the one that ends lowest goes on.
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for at, (_, place) in enumerate(pairs):
        length = bisect_left(ends, place)
        before.append(last[length - 1] if length else -1)
        ends[length : length + 1], last[length : length + 1] = [place], [at]
    chain: list[tuple[int, int]] = []
    at = last[-1] if last else -1
    while at >= 0:
        chain.append(pairs[at])
        at = before[at]
    return chain[::-1]
