"""How much memory this process took at most, since a moment; and when it takes no more."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["grows_by_less_than", "settles"]

MEGABYTE = 1_000_000
_RESET_PEAK = "5"


@contextmanager
def grows_by_less_than(megabytes: float) -> Iterator[None]:
    """The block fails if its peak is higher above its beginning. The simulator's memory counts too: it is in here."""
    Path("/proc/self/clear_refs").write_text(_RESET_PEAK)
    before = _read("VmRSS")
    yield
    grown = (_read("VmHWM") - before) / MEGABYTE
    assert grown < megabytes, f"{grown:.0f} MB more at the peak"


def settles(seconds: float = 30.0) -> None:
    """Wait until a second adds next to nothing."""
    end, before = time.monotonic() + seconds, _read("VmRSS")
    while time.monotonic() < end:
        time.sleep(1.0)
        before, last = _read("VmRSS"), before
        if before - last < MEGABYTE:
            return
    raise AssertionError("it grows and grows")


def _read(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))
