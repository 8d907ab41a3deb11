"""Which failures of a model call are worth another try, and after how long."""

from __future__ import annotations

import random
from typing import Final

from clew.errors import BackendBroken, BackendError, BackendOverloaded, BackendTimedOut, BackendUnreachable

__all__ = ["wait_after"]

_PASSING: Final = (BackendBroken, BackendOverloaded, BackendTimedOut, BackendUnreachable)
_FIRST_WAIT = 0.5
_LONGEST_WAIT = 30.0
_LONGEST_ASKED = 300.0
"""Whoever asks to be left alone for longer is not waited for."""


def wait_after(error: BackendError, attempt: int, retries: int) -> float | None:
    """Seconds until the next try; None if there is none. Attempts count from 0.

    >>> wait_after(BackendOverloaded("no room", retry_after=2.0), 0, 1)
    2.0
    >>> wait_after(BackendError("no"), 0, 1) is None
    True
    """
    if attempt >= retries or not isinstance(error, _PASSING):
        return None
    asked = error.retry_after if isinstance(error, BackendOverloaded) else None
    if asked is not None:
        return asked if asked <= _LONGEST_ASKED else None
    return min(_FIRST_WAIT * 2**attempt, _LONGEST_WAIT) * random.uniform(0.5, 1)  # noqa: S311  (spreads those who wait, keeps no secret)
