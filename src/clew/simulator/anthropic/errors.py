"""The errors of the Messages API (R62, R69): as a body, as a stream event, and their status."""

from __future__ import annotations

from typing import Final

import msgspec

from clew.simulator.interfaces import VendorRefusal
from clew.simulator.steps import End, HeaderPairs, Send, SendHead, Steps, rule_headers

_STATUS_OF_TYPE: Final = {
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
_TYPE_OF_STATUS: Final = {status: kind for kind, status in _STATUS_OF_TYPE.items()}

_MESSAGES: Final = {
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
"""The message of types that always have the same one."""

_CODES: Final = {"R62.too-large-decoded": "request_body_too_large_after_decoding"}
"""Machine codes of refusals that have one (R62)."""

PING: Final = b'event: ping\ndata: {"type": "ping"}\n\n'


def type_of_status(status: int) -> str:
    """The error type that goes with a status."""
    return _TYPE_OF_STATUS.get(status, "invalid_request_error" if status < 500 else "api_error")


def error_body(kind: str, message: str, request_id: str, code: str = "") -> bytes:
    """An error as the whole body; `code` is its machine code, if it has one.

    The vendor's edge refuses a request that is too large, in a shape of its own. With a code, the refusal is not the edge's.
    """
    error: dict[str, object] = {"type": kind, "message": message}
    if kind == "request_too_large" and not code:
        return msgspec.json.encode({"error": error})
    if code:
        error["details"] = {"error_code": code}
    return msgspec.json.encode({"type": "error", "error": error, "request_id": request_id})


def refusal_steps(refusal: VendorRefusal, request_id: str, headers: HeaderPairs = ()) -> Steps:
    """A refusal, tagged with its rule. It is plain JSON, also where a stream was asked for (R63)."""
    body = error_body(refusal.error_type, refusal.message, request_id, _CODES.get(refusal.rule, ""))
    json_type = ("content-type", "application/json")
    return (SendHead(refusal.status, (json_type, *headers, *rule_headers(refusal))), Send(body), End())


class _AnthropicErrors:
    """Errors for faults on demand."""

    ping = PING

    def body(self, fault: str, message: str, status: int, request_id: str) -> bytes:
        kind = fault or type_of_status(status)
        return error_body(kind, message or _MESSAGES.get(kind, kind), request_id)

    def event(self, fault: str, message: str) -> bytes:
        kind = fault or "overloaded_error"
        error = {"type": kind, "message": message or _MESSAGES.get(kind, kind)}
        return b"event: error\ndata: " + msgspec.json.encode({"type": "error", "error": error}) + b"\n\n"

    def status(self, fault: str) -> int:
        return _STATUS_OF_TYPE.get(fault or "overloaded_error", 500)


ANTHROPIC_ERRORS: Final = _AnthropicErrors()
