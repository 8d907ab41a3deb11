"""What the data plane itself answers: errors in the shape that the client's dialect has for them, and small JSON.

A refusal of ours is final, and says so: Claude Code would try a 401 ten times. What a backend said goes on in its own words.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from math import ceil
from typing import Final

import msgspec

from clew.dialects.anthropic.errors import error_body
from clew.errors import BackendDisabled, BackendOverloaded, BackendRejected, BackendUnknown, ClewError
from clew.http.message import Refusal
from clew.http.responder import Responder
from clew.model.failure import error_type_of
from clew.model.json import JsonValue

__all__ = ["BUSY", "ENDING", "fail", "refuse", "send_json"]

BUSY: Final = Refusal(503, "Overloaded: this gateway answers as many requests at once as it may. Try again in a moment.")
ENDING: Final = Refusal(503, "Overloaded: this gateway is being stopped. Try again in a moment.")

_JSON: Final = ("content-type", "application/json")
_AGAIN: Final = frozenset({408, 409, 429})


def send_json(respond: Responder, value: Mapping[str, JsonValue], status: int = 200) -> None:
    respond.send(status, [_JSON, ("cache-control", "no-store")], msgspec.json.encode(value))


def refuse(refusal: Refusal, respond: Responder) -> None:
    """What the gateway turns away by itself."""
    request_id = _new_id()
    advice = _advice(refusal.status, 1.0 if refusal.status == 503 else None)
    headers = [_JSON, ("request-id", request_id), *advice, *refusal.headers]
    respond.send(refusal.status, headers, _body(refusal, request_id))


def _body(refusal: Refusal, request_id: str) -> bytes:
    """The refusal as the API says its errors that the client took this for."""
    status, words = refusal.status, refusal.reason
    if refusal.dialect == "openai":
        error = {"message": words, "type": "invalid_request_error", "param": None, "code": "unknown_url"}
        return msgspec.json.encode({"error": error})
    if refusal.dialect == "gemini":
        return msgspec.json.encode({"error": {"code": status, "message": words, "status": "NOT_FOUND"}})
    return error_body(error_type_of(status), words, request_id)


def fail(error: ClewError, respond: Responder) -> None:
    """What went wrong with an exchange, before any of its answer was sent."""
    request_id = _new_id()
    wait = error.retry_after if isinstance(error, BackendOverloaded) else None
    lasts = isinstance(error, BackendDisabled | BackendUnknown)
    headers = [_JSON, ("request-id", request_id), *_advice(error.status, wait, lasts=lasts)]
    said = error.body if isinstance(error, BackendRejected | BackendOverloaded) else b""
    respond.send(error.status, headers, said or error_body(error.error_type, str(error), request_id))


def _advice(status: int, wait: float | None, *, lasts: bool = False) -> list[tuple[str, str]]:
    """Whether it is worth trying again, and when. What `lasts` holds until the operator changes something."""
    if wait is not None:
        return [("retry-after", str(ceil(wait)))]
    return [("x-should-retry", "false")] if lasts or (status < 500 and status not in _AGAIN) else []


def _new_id() -> str:
    return f"req_clew_{secrets.token_hex(10)}"
