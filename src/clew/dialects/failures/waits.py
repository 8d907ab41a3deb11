"""How long an error asks to wait: in members of its own (`waits` in `failures.toml` has their names), or in words.

An aggregator's error holds the vendor's, as text; what that one says counts where the aggregator itself says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from clew.dialects.failures.bodies import error_of, message_of, vendors_error
from clew.model.facts.failures import Path, waits
from clew.model.http import Wait
from clew.model.json import JsonObject, JsonValue
from clew.wire.waits import duration_of, moment_of, wait_in


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
