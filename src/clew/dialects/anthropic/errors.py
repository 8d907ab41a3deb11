"""Errors as the vendor says them: a whole body, an event in a stream, and which type goes with which status.

Clients decide by these: Claude Code by the status, the SDKs by the type. An error of ours is said in the same shape, so that
no client needs to know that there is a gateway in between.
"""

from __future__ import annotations

import msgspec

__all__ = ["error_body", "error_event"]


def error_body(error_type: str, message: str, request_id: str | None = None) -> bytes:
    """An error as the whole body of a response."""
    error = {"type": error_type, "message": message}
    return msgspec.json.encode({"type": "error", "error": error, "request_id": request_id})


def error_event(error_type: str, message: str) -> bytes:
    """An error in mid-stream: nothing may follow it."""
    data = msgspec.json.encode({"type": "error", "error": {"type": error_type, "message": message}})
    return b"event: error\ndata: %b\n\n" % data
