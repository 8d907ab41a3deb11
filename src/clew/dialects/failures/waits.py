"""How long an error asks to wait: in members of its own (`waits` in `failures.toml` has their names), or in words.

As backends write it: `6m0s`, `7.66s`, `120ms`, "try again in 1 minute", or a number of seconds. Or until when: a number of
seconds or of milliseconds since 1970. An aggregator's error holds the vendor's, as text; what that one says counts where the
aggregator itself says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from clew.dialects.failures.bodies import error_of, message_of, vendors_error
from clew.model.facts.failures import Path, waits
from clew.model.http import Wait
from clew.model.json import JsonObject, JsonValue

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


def said_wait(body: bytes) -> Wait:
    """What the body of a response asks for."""
    error = error_of(body)
    return wait_of(error, message_of(error))


def wait_of(error: JsonObject, message: str) -> Wait:
    """What an error with these words asks for."""
    known, errors = waits(), [error, *vendors_error(error)]
    seconds = _first(errors, known.after, duration_of) or wait_in(message)
    return Wait(seconds, None if seconds else _first(errors, known.until, moment_of))


def _first(errors: Sequence[JsonObject], paths: Sequence[Path], read: Callable[[str], float | None]) -> float | None:
    texts = (text for error in errors for path in paths for text in _texts(error, path))
    return next(filter(None, map(read, texts)), None)


def _texts(value: JsonValue, path: Path) -> Iterator[str]:
    """What stands at the end of a path, as text; members by name in any case."""
    if not path:
        yield from [str(value)] if isinstance(value, str | int | float) and not isinstance(value, bool) else []
    elif path[0] == "*":
        yield from (text for each in value for text in _texts(each, path[1:])) if isinstance(value, list) else ()
    elif isinstance(value, dict):
        yield from (text for name in value if name.lower() == path[0] for text in _texts(value[name], path[1:]))
