"""A backend's no, whether it came with a status of its own or inside a 200."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Struct

from clew.http.client_message import Headers
from clew.model.json import JsonObject

__all__ = ["Refused", "refused_with", "status_of_error"]

_STATUSES: Final = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The status that each error type stands for."""


class Refused(Struct, frozen=True, eq=False):
    """Status, headers and words."""

    status: int
    body: bytes
    headers: Headers = ()


def status_of_error(error: JsonObject) -> int:
    kind = error.get("type")
    return _STATUSES.get(kind, 500) if isinstance(kind, str) else 500


def refused_with(error: JsonObject) -> Refused:
    """The no that an error object of the Messages API says."""
    return Refused(status_of_error(error), msgspec.json.encode({"type": "error", "error": error}))
