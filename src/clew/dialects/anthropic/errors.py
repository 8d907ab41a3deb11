"""Errors as the vendor says them: a whole body, an event in a stream, and which type goes with which status.

Clients decide by these: Claude Code by the status, the SDKs by the type. An error of ours is said in the same shape, so that
no client needs to know that there is a gateway in between.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

__all__ = ["ERROR_TYPES", "error_body", "error_event", "error_type_of"]

ERROR_TYPES: Final[Mapping[int, str]] = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    503: "overloaded_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def error_type_of(status: int) -> str:
    """The error type that goes with a status."""
    return ERROR_TYPES.get(status, "invalid_request_error" if status < 500 else "api_error")


def error_body(error_type: str, message: str, request_id: str | None = None) -> bytes:
    """An error as the whole body of a response."""
    error = {"type": error_type, "message": message}
    return msgspec.json.encode({"type": "error", "error": error, "request_id": request_id})


def error_event(error_type: str, message: str) -> bytes:
    """An error in mid-stream: nothing may follow it."""
    data = msgspec.json.encode({"type": "error", "error": {"type": error_type, "message": message}})
    return b"event: error\ndata: %b\n\n" % data
