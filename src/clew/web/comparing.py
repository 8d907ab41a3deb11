"""Which lines of two texts belong together, in bounded time: clients choose the texts, and whoever looks at them waits.

What is the same at both ends is taken off first. What is left is compared line with line where that is quick. Where it is
not, lines that are there once on either side hold the two together, as many as stand in the same order on both (patience
diff); what is between two of them is small, and compared as before. What still costs too much is not taken apart: it stands
there as it was, and then as it is.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple, TypeAlias

__all__ = ["Compared", "Run", "compared"]

_MOST_WORK: Final = 20_000_000
"""Steps of the matcher, at its worst, that are worth it: about a second."""
_LONG: Final = 200
"""From so many lines on, the matcher begins at none that is there again and again (a brace)."""

_Pairs: TypeAlias = list[tuple[int, int]]


class Run(NamedTuple):
    """Lines that are the same on both sides; or those that are gone, and those that are new in their place."""

    same: Sequence[str] = ()
    gone: Sequence[str] = ()
    new: Sequence[str] = ()


_Between: TypeAlias = Callable[[Sequence[str], Sequence[str]], Iterator[Run]]


class Compared(NamedTuple):
    """`rough`: some of it was not taken apart, though lines in it may be the same."""

    runs: list[Run]
    rough: bool


def compared(a: Sequence[str], b: Sequence[str]) -> Compared:
    """All of both, in order."""
    comparing = _Comparing()
    return Compared(list(comparing.ends_off(a, b, comparing.anchored)), comparing.rough)


class _Comparing:
    """One comparison: what it may still cost, and whether that was too little."""

    def __init__(self) -> None:
        self.rough = False
        self._left = _MOST_WORK

    def ends_off(self, a: Sequence[str], b: Sequence[str], between: _Between) -> Iterator[Run]:
        """What is the same at both ends, and how what is between compares."""
        head = _common(a, b)
        tail = _common(a[head:][::-1], b[head:][::-1])
        yield Run(same=a[:head])
        yield from between(a[head : len(a) - tail], b[head : len(b) - tail])
        yield Run(same=a[len(a) - tail :])

    def anchored(self, a: Sequence[str], b: Sequence[str]) -> Iterator[Run]:
        """Line with line, or from one anchor to the next."""
        if _cost(a, b) <= self._left:
            yield from self.plain(a, b)
            return
        done_a = done_b = 0
        for at_a, at_b in _anchors(a, b):
            yield from self.ends_off(a[done_a:at_a], b[done_b:at_b], self.plain)
            yield Run(same=a[at_a : at_a + 1])
            done_a, done_b = at_a + 1, at_b + 1
        yield from self.ends_off(a[done_a:], b[done_b:], self.plain)

    def plain(self, a: Sequence[str], b: Sequence[str]) -> Iterator[Run]:
        """Line with line, if we can afford it."""
        cost = _cost(a, b)
        if cost > self._left:
            self.rough = True
            yield Run(gone=a, new=b)
            return
        self._left -= cost
        for what, a0, a1, b0, b1 in SequenceMatcher(None, a, b).get_opcodes():
            yield Run(same=a[a0:a1]) if what == "equal" else Run(gone=a[a0:a1], new=b[b0:b1])


def _cost(a: Sequence[str], b: Sequence[str]) -> int:
    """Each search looks at every pair of equal lines, and there may be as many searches as lines find their like."""
    if not (a and b):
        return 0
    times = Counter(b)
    most = len(b) // 100 + 1 if len(b) >= _LONG else len(b)
    pairs = sum(count for line in a if (count := times[line]) <= most)
    return (len(a) + len(b) + pairs) * (min(len(a), len(b), pairs) + 1)


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    """How many lines are the same from the beginning."""
    return next((at for at, (one, other) in enumerate(zip(a, b, strict=False)) if one != other), min(len(a), len(b)))


def _anchors(a: Sequence[str], b: Sequence[str]) -> _Pairs:
    """Where lines stand that are there once on either side: the most that are in the same order on both."""
    in_a, in_b = Counter(a), Counter(b)
    places = {line: at for at, line in enumerate(b) if in_b[line] == 1}
    return _rising([(at, places[line]) for at, line in enumerate(a) if line in places and in_a[line] == 1])


def _rising(pairs: _Pairs) -> _Pairs:
    """The longest chain in which the second number rises too. Of all chains of a length, that which ends lowest goes on."""
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for at, (_, place) in enumerate(pairs):
        length = bisect_left(ends, place)
        before.append(last[length - 1] if length else -1)
        ends[length : length + 1], last[length : length + 1] = [place], [at]
    chain: _Pairs = []
    at = last[-1] if last else -1
    while at >= 0:
        chain.append(pairs[at])
        at = before[at]
    return chain[::-1]
