"""Reads how long to wait, as backends write it: `6m0s`, `7.66s`, `120ms`, "try again in 1 minute", or a number of seconds.

Or until when: a number of seconds or of milliseconds since 1970.
"""

from __future__ import annotations

import re
from typing import Final

_AMOUNT: Final = r"\d{1,9}(?:\.\d{1,9})?\s?(?:ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?|d|days?)(?![a-z])"
_SAID: Final = re.compile(rf"(?:try again|retry)(?: your request)? (?:in|after)(?: about)? ((?:{_AMOUNT}[\s,]*)+)", re.I)
_WHOLE: Final = re.compile(rf"(?:{_AMOUNT})+|\d{{1,9}}(?:\.\d{{1,9}})?", re.I)
_PART: Final = re.compile(r"([\d.]+)\s?(ms|mil|s|m|h|d)?", re.I)
_SECONDS: Final = {"": 1.0, "ms": 0.001, "mil": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}

_MOMENT: Final = re.compile(r"(\d{10,15})(?:\.\d*)?", re.ASCII)
"""From ten digits on a number is a moment, not a duration; a thousand times as much is one in milliseconds."""
_LAST: Final = 4102444800.0
"""The year 2100: what is later is no moment in seconds."""


def duration_of(text: str) -> float | None:
    """Seconds; None if the text is anything but a duration. A number without a unit is one of seconds."""
    return _sum(text) if _WHOLE.fullmatch(_close(text.strip())) else None


def moment_of(text: str) -> float | None:
    """Seconds since 1970; None if the text is anything but a moment."""
    match = _MOMENT.fullmatch(text.strip())
    number = float(match[1]) if match else 0.0
    seconds = number / 1000 if number > _LAST else number
    return seconds if 0 < seconds <= _LAST else None


def wait_in(message: str) -> float | None:
    """The seconds that a message asks to wait; None if it names none."""
    match = _SAID.search(message)
    return _sum(match[1]) if match else None


def _close(text: str) -> str:
    """Without the gaps between the parts."""
    return text.replace(" ", "")


def _sum(text: str) -> float:
    parts = _PART.findall(_close(text))
    return round(sum(float(number) * _SECONDS[unit.lower()] for number, unit in parts), 3)
