"""What a backend says about trying again: `retry-after` in its three spellings, and `x-should-retry`."""

from __future__ import annotations

import math
from collections.abc import Iterable
from email.utils import parsedate_to_datetime

__all__ = ["retry_after_of", "should_retry_of"]

_MILLISECONDS = (b"retry-after-ms", b"x-ms-retry-after-ms")
"""More exact than seconds, so they win where a backend sends both."""


def retry_after_of(headers: Iterable[tuple[bytes, bytes]], *, wall: float) -> float | None:
    """Seconds to wait, never less than 0; None if nothing that can be read is said.

    Names are lower case. `wall` is the time of day in seconds since 1970: `retry-after` may be a date.
    """
    found = dict(headers)
    for name in _MILLISECONDS:
        if name in found and (milliseconds := _number(found[name])) is not None:
            return milliseconds / 1000
    if b"retry-after" not in found:
        return None
    value = found[b"retry-after"]
    seconds = _number(value)
    return _seconds_to(value, wall) if seconds is None else seconds


def should_retry_of(headers: Iterable[tuple[bytes, bytes]]) -> bool | None:
    """The backend's own word; None if it gave none."""
    return {b"true": True, b"false": False}.get(dict(headers).get(b"x-should-retry", b"").strip().lower())


def _number(value: bytes) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None


def _seconds_to(value: bytes, wall: float) -> float | None:
    try:
        return max(0.0, parsedate_to_datetime(value.decode("latin-1")).timestamp() - wall)
    except (ValueError, OverflowError):
        return None
