"""What a backend says about trying again: `retry-after` in its many spellings, and `x-should-retry`.

Vendors write a number of seconds or a date, as HTTP has it, but also durations (`6m0s`) and moments since 1970. A client
reads none of these last two, so it is told the seconds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from email.utils import parsedate_to_datetime

from clew.wire.waits import duration_of, moment_of

__all__ = ["in_seconds", "retry_after_of", "should_retry_of"]

_AFTER = b"retry-after"

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
    return _wait(found[_AFTER], wall) if _AFTER in found else None


def in_seconds(headers: Sequence[tuple[str, str]], wait: float | None) -> list[tuple[str, str]]:
    """What a client is told, with `retry-after` as a number: `wait`, where it is another thing."""
    told = None if wait is None else str(math.ceil(wait))
    return [(name, value if told is None or name != "retry-after" or _is_plain(value) else told) for name, value in headers]


def should_retry_of(headers: Iterable[tuple[bytes, bytes]]) -> bool | None:
    """The backend's own word; None if it gave none."""
    return {b"true": True, b"false": False}.get(dict(headers).get(b"x-should-retry", b"").strip().lower())


def _wait(value: bytes, wall: float) -> float | None:
    text = value.decode("latin-1")
    moment = moment_of(text)
    if moment is not None:
        return max(0.0, moment - wall)
    seconds = _number(value)
    if seconds is None:
        seconds = duration_of(text)
    return _seconds_to(text, wall) if seconds is None else seconds


def _is_plain(value: str) -> bool:
    return moment_of(value) is None and _number(value.encode("latin-1", "replace")) is not None


def _number(value: bytes) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None


def _seconds_to(text: str, wall: float) -> float | None:
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - wall)
    except (ValueError, OverflowError):
        return None
