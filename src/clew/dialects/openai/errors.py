"""Errors in OpenAI's words, for both of its dialects.

The official SDKs choose the exception by the status and show `message`; other clients look at `type` and `code`.
"""

from __future__ import annotations

from typing import Final

import msgspec

from clew.dialects.failures.reading import failure_of
from clew.dialects.openai.limits import response_headers
from clew.dialects.shape import BackendHeaders, BackendRefusal
from clew.model.events import StreamFailed
from clew.model.failure import Failure, error_type_of
from clew.model.json import JsonObject, text_of

TOO_LONG: Final = "Your input exceeds the context window of this model. Please adjust your input and try again."
STATUSES: Final = {402: 429, 529: 503}
"""What OpenAI's clients know: 429 with the code `insufficient_quota` for an account without money, and 503 for a server that
is overloaded."""
CONTEXT_CODE: Final = "context_length_exceeded"
_PROMPT: Final = "prompt is too long"

_WORDS: Final[dict[str, tuple[str, str | None]]] = {
    "invalid_request_error": ("invalid_request_error", None),
    "authentication_error": ("invalid_request_error", "invalid_api_key"),
    "billing_error": ("insufficient_quota", "insufficient_quota"),
    "permission_error": ("invalid_request_error", None),
    "not_found_error": ("invalid_request_error", "model_not_found"),
    "request_too_large": ("invalid_request_error", None),
    "rate_limit_error": ("requests", "rate_limit_exceeded"),
    "overloaded_error": ("server_error", "server_is_overloaded"),
}
"""OpenAI's type and code, by the canonical type; every other one is a server's error."""


def write_error(failure: Failure, request_id: str | None) -> bytes:
    """The body of a response that is an error."""
    return msgspec.json.encode({"error": error_object(failure), "request_id": request_id})


def error_object(failure: Failure) -> JsonObject:
    """The error as it stands in a body or in a stream."""
    kind, code = _WORDS.get(failure.type, ("server_error", None))
    message = failure.message
    if is_too_long(failure):
        code, message = CONTEXT_CODE, f"{TOO_LONG} ({message})"
    seconds = failure.wait.seconds
    if failure.type == "rate_limit_error" and seconds is not None and "try again in" not in message:
        message = f"{message} Please try again in {seconds:g}s."
    return {"message": message, "type": kind, "param": failure.param or None, "code": failure.code or code}


def is_too_long(failure: Failure) -> bool:
    """Whether the prompt is longer than the model reads."""
    return _PROMPT in failure.message.lower()


def failure_of_event(event: StreamFailed) -> Failure:
    """The failure that ends a stream."""
    status = event.status or 500
    kind = text_of(event.error.get("type")) or error_type_of(status)
    return Failure(status, kind, text_of(event.error.get("message")), event.wait)


def read_error(status: int, headers: BackendHeaders, body: bytes, options: object) -> BackendRefusal:
    """The error that a backend's response with this status reports, in canonical words."""
    failure = failure_of(status, body)
    request_id = dict(response_headers(headers, wall=0)).get("request-id")
    document = msgspec.json.encode({"type": "error", "error": failure.error(), "request_id": request_id})
    return BackendRefusal(failure.status, document, failure.wait, is_canonical=True)
