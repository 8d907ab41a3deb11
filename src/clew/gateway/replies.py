"""What the data plane answers by itself: small JSON, and errors in the form of the client's dialect.

A refusal by the gateway is final, and says so: Claude Code would try a 401 ten times. An error of a backend keeps its
words.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from math import ceil
from typing import Final

import msgspec

from clew.dialects import DIALECTS
from clew.errors import BackendDisabled, BackendOverloaded, BackendUnknown, ClewError
from clew.exchange.failures import refusal_reply
from clew.exchange.heads import JSON_TYPE
from clew.gateway.routes import GEMINI
from clew.http.message import HttpRefusal
from clew.http.responder import Responder
from clew.model.failure import Failure, error_type_of
from clew.model.json import JsonValue

BUSY: Final = HttpRefusal(503, "Overloaded: this gateway is at its limit of parallel requests. Try again in a moment.")
ENDING: Final = HttpRefusal(503, "Overloaded: this gateway is being stopped. Try again in a moment.")

_RETRYABLE: Final = frozenset({408, 409, 429})
_NO_PATH: Final = frozenset({404, 405})
_UNKNOWN_URL: Final = "unknown_url"
"""What OpenAI calls a path that it does not serve: a 404 without it is about a model."""


def send_json(respond: Responder, value: Mapping[str, JsonValue], status: int = 200) -> None:
    respond.send(status, [JSON_TYPE, ("cache-control", "no-store")], msgspec.json.encode(value))


def refuse(refusal: HttpRefusal, respond: Responder, dialect: str, *, is_about_model: bool = False) -> None:
    """Answer a request that the gateway refuses, in the shape of this dialect. `is_about_model`: the path is served, and the
    model that it names was not found."""
    status, request_id = refusal.status, _new_id()
    retry_after = 1.0 if status == 503 else None
    headers = [JSON_TYPE, ("request-id", request_id), *_retry_headers(status, retry_after), *refusal.headers]
    if dialect == GEMINI:  # so far only its paths are refused
        body = msgspec.json.encode({"error": {"code": status, "message": refusal.reason, "status": "NOT_FOUND"}})
    else:
        code = _UNKNOWN_URL if status in _NO_PATH and not is_about_model else ""
        body = DIALECTS[dialect].write_error(Failure(status, error_type_of(status), refusal.reason, code=code), request_id)
    respond.send(status, headers, body)


def fail(error: ClewError, respond: Responder, dialect: str) -> None:
    """Answer a request whose exchange failed, before any of the answer was sent."""
    retry_after = error.retry_after if isinstance(error, BackendOverloaded) else None
    is_lasting = isinstance(error, BackendDisabled | BackendUnknown)
    request_id = _new_id()
    headers = [("request-id", request_id), *_retry_headers(error.status, retry_after, is_lasting=is_lasting)]
    respond.send(*refusal_reply(error, headers, request_id, DIALECTS[dialect]))


def _retry_headers(status: int, retry_after: float | None, *, is_lasting: bool = False) -> list[tuple[str, str]]:
    """Whether a retry makes sense, and when. A lasting error stays until the operator changes something."""
    if retry_after is not None:
        return [("retry-after", str(ceil(retry_after)))]
    return [("x-should-retry", "false")] if is_lasting or (status < 500 and status not in _RETRYABLE) else []


def _new_id() -> str:
    return f"req_clew_{secrets.token_hex(10)}"
