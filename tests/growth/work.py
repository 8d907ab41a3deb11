"""Counts the work of each line of clew's code: how often it ran, and how many bytes it asked for.

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
from itertools import cycle, product
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import clew
from tests.counts import SOAK

SOURCE = str(Path(clew.__file__).parent)

FACTOR = 4
"""So much larger is the second input."""
MOST = 6.0
"""So much more may a line do for it. Linear work is 4, work that grows with the square is 16."""
LITTLE_RUNS, LITTLE_BYTES = 1_000, 32 * 1024
"""So much more than its share a line may do: what is made once, and what is taken from memory that was used before."""

IN_PLACE = ("before += more", 'text += text_of(part.get("text"))')
"""Lines that Python runs without a copy, because nobody else holds the string; but not while it is traced."""

Place = tuple[str, int]


class Work(NamedTuple):
    """What the lines of clew did, by file and line."""

    runs: Counter[Place]
    bytes: Counter[Place]


def count(action: Callable[[], object]) -> Work:
    """The work of an action in this thread."""
    work = Work(Counter(), Counter())
    outside = ("", 0)
    last, held = outside, 0

    traced, reset, runs, sizes = tracemalloc.get_traced_memory, tracemalloc.reset_peak, work.runs, work.bytes

    def note(frame: FrameType, event: str, _arg: Any) -> Any:
        nonlocal last, held
        now, peak = traced()
        sizes[last] += peak - held
        last = (frame.f_code.co_filename, frame.f_lineno)
        if event == "line":
            runs[last] += 1
        reset()
        held = now
        return note

    def enter(frame: FrameType, event: str, arg: Any) -> Any:
        return note(frame, event, arg) if frame.f_code.co_filename.startswith(SOURCE) else None

    before = sys.gettrace()
    tracemalloc.start()
    sys.settrace(enter)
    try:
        action()
    finally:
        sys.settrace(before)
        tracemalloc.stop()
    work.bytes.pop(outside, None)
    return work


def grows_too_fast(few: Work, many: Work) -> list[str]:
    """The lines that did more than their share for the large input, in words."""
    return [
        f"{Path(file).relative_to(SOURCE)}:{line}: {before[file, line]} {unit}, then {n}"
        for unit, before, after, little in (
            ("runs", few.runs, many.runs, LITTLE_RUNS),
            ("bytes", few.bytes, many.bytes, LITTLE_BYTES),
        )
        for (file, line), n in after.items()
        if n > MOST * before[file, line] + little and linecache.getline(file, line).strip() not in IN_PLACE
    ]


def each_with(things: Mapping[str, object], readers: Mapping[str, object]) -> list[tuple[str, str]]:
    """Each thing that can be repeated, with a reader. The suite takes the readers in turn; the soak takes all with all, which
    is five minutes of work."""
    return [*product(things, readers)] if SOAK else [*zip(things, cycle(readers), strict=False)]


def check_growth(make: Callable[[int], Any], work: Callable[[Any], object], n: int) -> None:
    """`work` on what `make` gives for n and for 4n. Both are done once before they are counted, because caches fill."""
    few, many = make(n), make(FACTOR * n)
    work(few)
    work(many)
    found = grows_too_fast(count(lambda: work(few)), count(lambda: work(many)))
    assert not found, "\n".join(found)
