"""The vendor's error shape (R62, R69): as a body, as a stream event, and with which status."""

from __future__ import annotations

from typing import Final, Protocol

import msgspec

__all__ = ["ANTHROPIC", "STATUS_OF_TYPE", "Errors", "error_body", "error_event", "type_of_status", "words_of_type"]

STATUS_OF_TYPE: Final = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "conflict_error": 409,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_TYPE_OF_STATUS: Final = {status: kind for kind, status in STATUS_OF_TYPE.items()}

_WORDS: Final = {
    "authentication_error": "invalid x-api-key",
    "not_found_error": "The requested resource could not be found.",
    "request_too_large": "Request exceeds the maximum size",
    "rate_limit_error": (
        "This request would exceed your organization's rate limit of 30,000 input tokens per minute "
        "(org: 00000000-0000-0000-0000-000000000000, model: claude-opus-4-6). "
        "For details, refer to: https://docs.claude.com/en/api/rate-limits. "
        "You can see the response headers for current usage."
    ),
    "api_error": "Internal server error",
    "overloaded_error": "Overloaded",
}


def type_of_status(status: int) -> str:
    """The error type that goes with a status."""
    return _TYPE_OF_STATUS.get(status, "invalid_request_error" if status < 500 else "api_error")


def words_of_type(kind: str) -> str:
    """What the vendor says with that type, where it always says the same; else the type itself."""
    return _WORDS.get(kind, kind)


def error_body(kind: str, message: str, request_id: str, code: str = "") -> bytes:
    """An error as the whole body, with its machine code where it has one.

    Too large a request is answered by the vendor's edge, in a shape of its own; with a code it came further than that.
    """
    error: dict[str, object] = {"type": kind, "message": message}
    if kind == "request_too_large" and not code:
        return msgspec.json.encode({"error": error})
    if code:
        error["details"] = {"error_code": code}
    return msgspec.json.encode({"type": "error", "error": error, "request_id": request_id})


def error_event(kind: str, message: str) -> bytes:
    """An error in mid-stream."""
    data = msgspec.json.encode({"type": "error", "error": {"type": kind, "message": message}})
    return b"event: error\ndata: " + data + b"\n\n"


class Errors(Protocol):
    """How a vendor words an error that befalls an answer; and what it says when it has nothing to say."""

    @property
    def ping(self) -> bytes:
        """A sign of life in mid-stream."""
        ...

    def body(self, fault: str, message: str, status: int, request_id: str) -> bytes:
        """As the whole body; `fault` and `message` may be empty."""
        ...

    def event(self, fault: str, message: str) -> bytes:
        """In mid-stream."""
        ...

    def status(self, fault: str) -> int:
        """With which status an error of this type comes."""
        ...


class _Anthropic:
    """The vendor whose shape this module is about."""

    ping = b'event: ping\ndata: {"type": "ping"}\n\n'

    def body(self, fault: str, message: str, status: int, request_id: str) -> bytes:
        kind = fault or type_of_status(status)
        return error_body(kind, message or words_of_type(kind), request_id)

    def event(self, fault: str, message: str) -> bytes:
        kind = fault or "overloaded_error"
        return error_event(kind, message or words_of_type(kind))

    def status(self, fault: str) -> int:
        return STATUS_OF_TYPE.get(fault or "overloaded_error", 500)


ANTHROPIC: Final = _Anthropic()
