"""What the data plane answers by itself: small JSON, and errors in the form of the client's dialect.

A refusal by the gateway is final, and says so: Claude Code would try a 401 ten times. An error of a backend keeps its
words.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from math import ceil
from typing import Final, TypeAlias

import msgspec

from clew.dialects.anthropic.errors import write_error
from clew.errors import BackendDisabled, BackendOverloaded, BackendRejected, BackendUnknown, ClewError
from clew.http.message import HttpRefusal
from clew.http.responder import Responder
from clew.model.failure import Failure, error_type_of
from clew.model.json import JsonValue

BUSY: Final = HttpRefusal(503, "Overloaded: this gateway answers as many requests at once as it may. Try again in a moment.")
ENDING: Final = HttpRefusal(503, "Overloaded: this gateway is being stopped. Try again in a moment.")

_JSON: Final = ("content-type", "application/json")
_RETRYABLE: Final = frozenset({408, 409, 429})

ErrorBody: TypeAlias = Callable[[int, str, str, str], bytes]
"""The body of an error: from its status, its type in the words of the Messages API, its message and the request's id."""


ERROR_BODIES: Final[Mapping[str, ErrorBody]] = {
    "anthropic": lambda status, error_type, message, request_id: write_error(
        Failure(status, error_type, message), request_id
    ),
    # So far only paths that are not served are refused in these two.
    "openai": lambda status, error_type, message, request_id: msgspec.json.encode(
        {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": "unknown_url"}}
    ),
    "gemini": lambda status, error_type, message, request_id: msgspec.json.encode(
        {"error": {"code": status, "message": message, "status": "NOT_FOUND"}}
    ),
}
"""By the client's dialect (`routes.ClientDialect`)."""


def send_json(respond: Responder, value: Mapping[str, JsonValue], status: int = 200) -> None:
    respond.send(status, [_JSON, ("cache-control", "no-store")], msgspec.json.encode(value))


def refuse(refusal: HttpRefusal, respond: Responder, dialect: str = "") -> None:
    """Answer a request that the gateway refuses, in this dialect, or in the one that the refusal names."""
    retry_after = 1.0 if refusal.status == 503 else None
    write = ERROR_BODIES[dialect or refusal.dialect]
    request_id = _new_id()
    headers = [_JSON, ("request-id", request_id), *_retry_headers(refusal.status, retry_after), *refusal.headers]
    error_type = error_type_of(refusal.status)
    respond.send(refusal.status, headers, write(refusal.status, error_type, refusal.reason, request_id))


def fail(error: ClewError, respond: Responder, dialect: str) -> None:
    """Answer a request whose exchange failed, before any of the answer was sent."""
    retry_after = error.retry_after if isinstance(error, BackendOverloaded) else None
    is_lasting = isinstance(error, BackendDisabled | BackendUnknown)
    request_id = _new_id()
    headers = [_JSON, ("request-id", request_id), *_retry_headers(error.status, retry_after, is_lasting=is_lasting)]
    body = error.body if isinstance(error, BackendRejected | BackendOverloaded) else b""
    body = body or ERROR_BODIES[dialect](error.status, error.error_type, str(error), request_id)
    respond.send(error.status, headers, body)


def _retry_headers(status: int, retry_after: float | None, *, is_lasting: bool = False) -> list[tuple[str, str]]:
    """Whether a retry makes sense, and when. A lasting error stays until the operator changes something."""
    if retry_after is not None:
        return [("retry-after", str(ceil(retry_after)))]
    return [("x-should-retry", "false")] if is_lasting or (status < 500 and status not in _RETRYABLE) else []


def _new_id() -> str:
    return f"req_clew_{secrets.token_hex(10)}"
