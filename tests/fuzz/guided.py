"""A small coverage-guided fuzzer: inputs that reach something new are kept, and altered again.

What an input reaches are the steps from line to line in the files that are watched, each counted as once, a few times or
many. Alterations know a little of the format: whole events, words that mean something, numbers of bytes. It is driven by a
seed and a number of runs, not by a clock, so that a run can be repeated.
"""

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

__all__ = ["Coverage", "Guided"]

_LONGEST = 4000


class Coverage:
    """`of` runs something and gives the steps that it took in the watched files."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)
        self._watched: dict[str, bool] = {}
        self._counts: dict[tuple[int, int, int], int] = {}

    def of(self, act: Callable[[], object]) -> frozenset[tuple[int, int, int, int]]:
        self._counts = {}
        before = sys.gettrace()
        sys.settrace(self._called)
        try:
            act()
        finally:
            sys.settrace(before)
        return frozenset((*step, min(count.bit_length(), 4)) for step, count in self._counts.items())

    def _called(self, frame: FrameType, _event: str, _arg: Any) -> Callable[[FrameType, str, Any], Any] | None:
        name = frame.f_code.co_filename
        if name not in self._watched:
            self._watched[name] = name.startswith(self._folder)
        return self._lines(id(frame.f_code)) if self._watched[name] else None

    def _lines(self, code: int) -> Callable[[FrameType, str, Any], Any]:
        last, counts = 0, self._counts

        def line(frame: FrameType, event: str, _arg: Any) -> Any:
            nonlocal last
            if event == "line":
                step = (code, last, frame.f_lineno)
                counts[step] = counts.get(step, 0) + 1
                last = frame.f_lineno
            return line

        return line


class Guided:
    """Tries inputs and remembers those that led somewhere new."""

    def __init__(self, coverage: Coverage, seeds: Iterable[bytes], words: Sequence[bytes], seed: int) -> None:
        self._coverage = coverage
        self._words = words
        self._chance = Random(seed)
        self._seen: set[tuple[int, int, int, int]] = set()
        self.kept: list[bytes] = []
        self._seeds = list(seeds)

    @property
    def reached(self) -> int:
        return len(self._seen)

    def run(self, act: Callable[[bytes], object], times: int) -> None:
        """Every seed, and then so many alterations. What `act` raises is raised with the input as a note."""
        for each in self._seeds:
            self._try(act, each)
        for _ in range(times):
            self._try(act, self._altered(self._chance.choice(self.kept)))

    def _try(self, act: Callable[[bytes], object], given: bytes) -> None:
        try:
            steps = self._coverage.of(lambda: act(given))
        except BaseException as error:
            error.add_note(f"the input was {given!r}")
            raise
        if not steps <= self._seen or not self.kept:
            self._seen |= steps
            self.kept.append(given)

    def _altered(self, given: bytes) -> bytes:
        for _ in range(self._chance.choice((1, 1, 1, 2, 3, 5))):
            given = self._chance.choice((self._cut, self._double, self._put, self._flip, self._swap, self._splice))(given)
        return given[:_LONGEST]

    def _place(self, given: bytes) -> int:
        return self._chance.randint(0, len(given))

    def _stretch(self, given: bytes) -> tuple[int, int]:
        start = self._place(given)
        return start, min(len(given), start + self._chance.choice((1, 2, 4, 16, 64, 256)))

    def _cut(self, given: bytes) -> bytes:
        start, end = self._stretch(given)
        return given[:start] + given[end:]

    def _double(self, given: bytes) -> bytes:
        start, end = self._stretch(given)
        return given[:end] + given[start:]

    def _put(self, given: bytes) -> bytes:
        """A word, in between or in the place of what was there."""
        start, end = self._stretch(given)
        word = self._chance.choice(self._words)
        return given[:start] + word + given[self._chance.choice((start, start + len(word), end)) :]

    def _flip(self, given: bytes) -> bytes:
        at = self._place(given)
        return given[:at] + bytes([self._chance.randrange(256)]) + given[at + 1 :]

    def _swap(self, given: bytes) -> bytes:
        """Whole events change places."""
        events = given.split(b"\n\n")
        self._chance.shuffle(events) if len(events) < 4 else events.insert(
            0, events.pop(self._chance.randrange(len(events)))
        )
        return b"\n\n".join(events)

    def _splice(self, given: bytes) -> bytes:
        """The beginning of one and the end of another, at the ends of events or anywhere."""
        other = self._chance.choice(self.kept)
        if self._chance.random() < 0.5:
            return given[: self._place(given)] + other[self._place(other) :]
        ours, theirs = given.split(b"\n\n"), other.split(b"\n\n")
        return b"\n\n".join([*ours[: self._chance.randrange(len(ours) + 1)], *theirs[self._chance.randrange(len(theirs)) :]])
