"""A backend's error in the client's words, whether it came as a response or inside a stream that began with 200.

Clients act on status, type and a few phrases: they wait after 429 and 529, and compact the conversation when a prompt is
"too long". So a status is found even where the error names none, and the many ways to say that the context is full become
the one that clients look for. The backend's own words stay in the message otherwise.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from clew.dialects.openai_chat.shapes import count_of, object_of, objects_of, read_object, text_of
from clew.dialects.openai_chat.stops import FAILED
from clew.model.halves import whole_text
from clew.model.json import JsonObject, JsonValue

__all__ = ["CUT", "UNREADABLE", "Failure", "failure_in", "failure_of"]

_TYPES: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
    529: "overloaded_error",
}

_WORDS: Final = (
    (re.compile(r"rate.?limit|too many requests|quota", re.I), 429),
    (re.compile(r"overload|capacity|insufficient_system_resource|unavailable", re.I), 529),
    (re.compile(r"authenticat|api.?key|unauthorized", re.I), 401),
    (re.compile(r"permission|forbidden", re.I), 403),
    (re.compile(r"timed?.?out", re.I), 504),
    (re.compile(r"invalid_request|bad.?request|context_length", re.I), 400),
)
"""What an error without a status is, by its code, its type or its words; the first that fits."""

_FULL: Final = re.compile(
    r"context_length_exceeded|exceed_context_size|maximum context length|context window|available context size"
    r"|prompt is too long|input is too long|exceeds? the (?:model's )?(?:maximum )?context",
    re.I,
)
_LIMIT: Final = re.compile(
    r"(?:maximum context length (?:is|of)|context size \(|maximum of|limit(?: is| of)?)\s*(\d+)", re.I
)
_ASKED: Final = re.compile(r"(?:requested(?: about)?|resulted in|prompt (?:has|contains)|request \()\s*(\d+)", re.I)


class Failure(Struct, frozen=True):
    """What went wrong: the status that it would have as a response, its type and its message."""

    status: int
    type: str
    message: str

    def error(self) -> JsonObject:
        """As the error object of a body or of an error event."""
        return {"type": self.type, "message": self.message}


CUT: Final = Failure(502, "api_error", "the backend's stream ended before the answer did")
UNREADABLE: Final = Failure(502, "api_error", "the backend sent an event that is no JSON object")


def failure_of(status: int, body: bytes) -> Failure:
    """The failure that a response with this status tells."""
    value = read_object(body)
    if value is None:
        return _failure(status, whole_text(body[:500].decode(errors="replace")), {})
    return _from(_error_in(value) or value, status)


def failure_in(chunk: JsonObject) -> Failure | None:
    """The failure that a chunk of a stream, or a body that came with 200, tells; None if it is an ordinary one."""
    error = _error_in(chunk)
    if error is not None:
        return _from(error, 0)
    for choice in objects_of(chunk.get("choices"))[:1]:
        reason = text_of(choice.get("finish_reason"))
        if reason in FAILED:
            return _from({"message": f"the backend gave up: {reason}", **object_of(choice.get("error"))}, FAILED[reason])
    return None


def _error_in(value: JsonObject) -> JsonObject | None:
    """The object that describes the error, in any of the places where one is put."""
    for error in (value.get("error"), object_of(value.get("x_groq")).get("error")):
        if error:
            return error if isinstance(error, dict) else {"message": str(error)}
    if value.get("object") == "error" or value.get("type") == "error":
        return value
    native = object_of(value.get("base_resp"))
    if count_of(native.get("status_code")):
        return {"message": text_of(native.get("status_msg"))}
    return None


def _from(error: JsonObject, status: int) -> Failure:
    message = text_of(error.get("message")) or text_of(error.get("detail")) or "the backend reported an error"
    return _failure(_status(error, message, status), whole_text(message), error)


def _failure(status: int, message: str, error: JsonObject) -> Failure:
    if status in (400, 413, 500) and _FULL.search(f"{text_of(error.get('code'))} {text_of(error.get('type'))} {message}"):
        return Failure(400, "invalid_request_error", _too_long(message, error))
    kind = _TYPES.get(status, "invalid_request_error" if status < 500 else "api_error")
    return Failure(status, kind, message)


def _status(error: JsonObject, message: str, status: int) -> int:
    """The response's own; else what the error says of itself, in numbers or in words."""
    if status >= 400:
        return status
    said = (_number(error.get(name)) for name in ("code", "status", "status_code"))
    found = next((number for number in said if 400 <= number <= 599), 0)
    words = f"{error.get('code')} {error.get('type')} {message}"
    return found or next(
        (number for pattern, number in _WORDS if pattern.search(words)), 400 if _FULL.search(words) else 500
    )


def _number(value: JsonValue) -> int:
    return (
        int(value) if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 4 else count_of(value)
    )


def _too_long(message: str, error: JsonObject) -> str:
    """In the words that clients search for, with the numbers where the backend gave them; its own words follow."""
    limit = _digits(_LIMIT, message) or str(count_of(error.get("n_ctx")) or "")
    asked = _digits(_ASKED, message) or str(count_of(error.get("n_prompt_tokens")) or "")
    if asked and limit and int(asked) > int(limit):
        return f"prompt is too long: {asked} tokens > {limit} maximum"
    return message if "prompt is too long" in message.lower() else f"prompt is too long: {message}"


def _digits(pattern: re.Pattern[str], message: str) -> str:
    match = pattern.search(message)
    return match[1][:18] if match else ""
