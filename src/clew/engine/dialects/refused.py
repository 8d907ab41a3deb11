"""A backend's no, whether it came with a status of its own or inside a 200."""

from __future__ import annotations

from math import ceil
from typing import Final

import msgspec
from msgspec import Struct

from clew.dialects.anthropic.errors import error_body
from clew.dialects.failures.reading import failure_in
from clew.http.client.message import Headers
from clew.model.events import StreamFailed
from clew.model.failure import ERROR_TYPES, Failure
from clew.model.json import JsonObject
from clew.model.wait import Wait
from clew.pipeline.retry_hints import retry_after_of

__all__ = ["Refused", "refused_for", "refused_with", "waiting"]

_STATUSES: Final = {kind: status for status, kind in ERROR_TYPES.items()}
"""The status that each error type stands for; where there are two, the later one, which is the vendor's own (529)."""


_AFTER: Final = b"retry-after"


class Refused(Struct, frozen=True, eq=False):
    """Status, headers and words."""

    status: int
    body: bytes
    headers: Headers = ()
    is_told: bool = False
    """In the words that the client reads."""


def _status_of(error: JsonObject) -> int:
    """By its type; where that is nobody's, by what else it says."""
    kind = error.get("type")
    if isinstance(kind, str) and kind in _STATUSES:
        return _STATUSES[kind]
    failure = failure_in({"error": error})
    return failure.status if failure else 500


def refused_with(failed: StreamFailed) -> Refused:
    """The no that an error says which came inside a 200."""
    body = msgspec.json.encode({"type": "error", "error": failed.error})
    if not failed.status:
        return Refused(_status_of(failed.error), body)
    return Refused(failed.status, body, waiting((), failed.wait), is_told=True)


def refused_for(failure: Failure, headers: Headers = (), request_id: str | None = None) -> Refused:
    """A failure as Anthropic would have said it, with the backend's own headers where there are any."""
    body = error_body(failure.type, failure.message, request_id)
    return Refused(failure.status, body, waiting(headers, failure.wait), is_told=True)


def waiting(headers: Headers, wait: Wait) -> Headers:
    """The headers with the wait that a body asks for, where they themselves name none that can be read."""
    said = wait.seconds if wait.seconds is not None else wait.until
    if said is None or retry_after_of(headers, wall=0.0) is not None:
        return headers
    rest = (header for header in headers if header[0].lower() != _AFTER)
    return (*rest, (_AFTER, str(ceil(said)).encode()))
