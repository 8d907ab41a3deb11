"""How far a run is: lines on standard error, each with the seconds since the run began. A whole run takes minutes."""

from __future__ import annotations

import sys
import time

__all__ = ["say"]

_BEGAN = time.monotonic()


def say(words: str) -> None:
    print(f"{time.monotonic() - _BEGAN:5.0f} s  {words}", file=sys.stderr, flush=True)
