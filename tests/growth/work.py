"""Counts the work of each line of clew's code: how often it ran, how many bytes it asked for, and how many steps SQLite made.

Nothing is timed, so the counts are the same on every machine and under every load. A line that runs once for each item, but
walks all items before it in Python, runs more often. A line that copies all of them in C asks for more bytes. Because both are
counted for each line, a small input is enough: one line that grows too fast is not hidden by thousands that do not.

What is not seen is a search in C that asks for no memory, such as `in` on a long list.
"""

import linecache
import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import cycle, islice, product
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import apsw

import clew
from tests.counts import SOAK

SOURCE = str(Path(clew.__file__).parent)

FACTOR = 4
"""So much larger is the second input."""
MOST = 6.0
"""So much more may a line do for it. Linear work is 4, work that grows with the square is 16."""
LITTLE_RUNS, LITTLE_BYTES, LITTLE_STEPS = 1_000, 32 * 1024, 2_000
"""So much more than its share a line may do: what is made once, and what is taken from memory that was used before."""

IN_PLACE = ("before += more", 'text += text_of(part.get("text"))')
"""Lines that Python runs without a copy, because nobody else holds the string; but not while it is traced."""

STEPS = 20
"""Of SQLite, between two times that they are counted."""

SHARE = 6
"""Of the things that can be repeated the suite takes one of so many."""

Place = tuple[str, int]


class Work(NamedTuple):
    """What the lines of clew did, by file and line."""

    runs: Counter[Place]
    bytes: Counter[Place]
    steps: Counter[Place]
    """Of SQLite, on connections that the action opens."""


def count(action: Callable[[], object]) -> Work:
    """The work of an action in this thread; SQLite's in threads that it starts, too."""
    work = Work(Counter(), Counter(), Counter())
    outside = ("", 0)
    last, held = outside, 0

    traced, reset, runs, sizes = tracemalloc.get_traced_memory, tracemalloc.reset_peak, work.runs, work.bytes

    def note(frame: FrameType, event: str, _arg: Any) -> Any:
        nonlocal last, held
        sizes[last] += traced()[1] - held
        last = (frame.f_code.co_filename, frame.f_lineno)
        if event == "line":
            runs[last] += 1
        reset()
        held = traced()[0]  # only now: what these counts ask for themselves is no line's
        return note

    def enter(frame: FrameType, event: str, arg: Any) -> Any:
        return note(frame, event, arg) if frame.f_code.co_filename.startswith(SOURCE) else None

    def step() -> bool:
        frame = sys._getframe(1)
        work.steps[frame.f_code.co_filename, frame.f_lineno] += STEPS
        return False

    def connected(connection: apsw.Connection) -> None:
        connection.set_progress_handler(step, STEPS)

    before = sys.gettrace()
    apsw.connection_hooks.append(connected)
    tracemalloc.start()
    sys.settrace(enter)
    try:
        action()
    finally:
        sys.settrace(before)
        tracemalloc.stop()
        apsw.connection_hooks.remove(connected)
    work.bytes.pop(outside, None)
    return work


def grows_too_fast(few: Work, many: Work) -> list[str]:
    """The lines that did more than their share for the large input, in words."""
    return [
        f"{Path(file).relative_to(SOURCE)}:{line}: {before[file, line]} {unit}, then {n}"
        for unit, before, after, little in (
            ("runs", few.runs, many.runs, LITTLE_RUNS),
            ("bytes", few.bytes, many.bytes, LITTLE_BYTES),
            ("steps of SQLite", few.steps, many.steps, LITTLE_STEPS),
        )
        for (file, line), n in after.items()
        if n > MOST * before[file, line] + little and linecache.getline(file, line).strip() not in IN_PLACE
    ]


def each_with(things: Mapping[str, object], readers: Mapping[str, object]) -> list[tuple[str, str]]:
    """Each thing that can be repeated, with each reader: five minutes of work, for the soak. The suite takes every sixth thing,
    with the readers in turn, and each reader at least once."""
    if SOAK:
        return [*product(things, readers)]
    some = islice(cycle(things), 0, None, SHARE)
    return [*islice(zip(some, cycle(readers), strict=False), max(len(things) // SHARE, len(readers)))]


def check_growth(make: Callable[[int], Any], work: Callable[[Any], object], n: int) -> None:
    """`work` on what `make` gives for n and for 4n. Both are done once before they are counted, because caches fill."""
    few, many = make(n), make(FACTOR * n)
    work(few)
    work(many)
    found = grows_too_fast(count(lambda: work(few)), count(lambda: work(many)))
    assert not found, "\n".join(found)
