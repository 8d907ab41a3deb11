"""What a piece of work leaves in memory, and takes while it lasts."""

import gc
import tracemalloc
from collections.abc import Callable


def left_by(begin: Callable[[], Callable[[], object]], *, times: int = 3, enough: int = 0) -> int:
    """The bytes that are held after what ``begin`` gives was run: the least of some measurements.

    Every thread of the process is counted, those of tests that ran before in it too. They can only add, and not each
    time; what the work itself leaves is there every time. One that is less than ``enough`` needs no other.
    """
    least = _held(begin())
    for _ in range(times - 1):
        if least < enough:
            break
        least = min(least, _held(begin()))
    return least


def most_of(begin: Callable[[], Callable[[], object]], *, times: int = 3, enough: int = 0) -> int:
    """The bytes that are held at most while what ``begin`` gives runs. What is said of `left_by` holds here, too."""
    least = _traced(begin())[1]
    for _ in range(times - 1):
        if least < enough:
            break
        least = min(least, _traced(begin())[1])
    return least


def _held(work: Callable[[], object]) -> int:
    return _traced(work)[0]


def _traced(work: Callable[[], object]) -> tuple[int, int]:
    """What is held in the end, and at most."""
    gc.collect()
    tracemalloc.start()
    try:
        made = work()
        gc.collect()
        held, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    del made
    return held, most
