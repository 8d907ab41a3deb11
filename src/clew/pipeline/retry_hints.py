"""Reads a backend's headers about trying again: `retry-after` in its many spellings, and `x-should-retry`.

Vendors write a number of seconds or a date, as HTTP has it, but also durations (`6m0s`) and moments since 1970. Clients do
not read the last two, so they get the seconds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from email.utils import parsedate_to_datetime

from clew.dialects.failures.reading import duration_of, moment_of

_AFTER = b"retry-after"

_MILLISECONDS = (b"retry-after-ms", b"x-ms-retry-after-ms")
"""More exact than seconds, so they win where a backend sends both."""


def retry_after_of(headers: Iterable[tuple[bytes, bytes]], *, wall: float) -> float | None:
    """Seconds to wait, never less than 0; None if no header says it in a readable form.

    Names are lower case. `wall` is the time of day in seconds since 1970: `retry-after` may be a date.
    """
    found = dict(headers)
    for name in _MILLISECONDS:
        if name in found and (milliseconds := _number(found[name])) is not None:
            return milliseconds / 1000
    if _AFTER not in found:
        return None
    text = found[_AFTER].decode("latin-1")
    if (moment := moment_of(text)) is not None:
        return max(0.0, moment - wall)
    seconds = _number(found[_AFTER])
    if seconds is None:
        seconds = duration_of(text)
    if seconds is not None:
        return seconds
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - wall)
    except (ValueError, OverflowError):
        return None


def in_seconds(headers: Sequence[tuple[str, str]], wait: float | None) -> list[tuple[str, str]]:
    """The headers for a client, with `retry-after` as a number: `wait`, where the backend wrote it in another form."""
    seconds = None if wait is None else str(math.ceil(wait))
    out: list[tuple[str, str]] = []
    for name, value in headers:
        is_plain = moment_of(value) is None and _number(value.encode("latin-1", "replace")) is not None
        out.append((name, value if seconds is None or name != "retry-after" or is_plain else seconds))
    return out


def should_retry_of(headers: Iterable[tuple[bytes, bytes]]) -> bool | None:
    """The value of `x-should-retry`; None if the backend did not send it."""
    return {b"true": True, b"false": False}.get(dict(headers).get(b"x-should-retry", b"").strip().lower())


def _number(value: bytes) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None
