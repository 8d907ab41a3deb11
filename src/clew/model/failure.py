"""Failure: why there is no answer, in whatever dialect it was reported.

Clients decide by status and type: Claude Code by the status, the SDKs by the type. The types are Anthropic's names; each
front writes them in its own words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from clew.model.events import StreamFailed
from clew.model.http import NO_WAIT, Wait
from clew.model.json import JsonObject

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


class Failure(Struct, frozen=True):
    """What went wrong: the status that it has as a response, its type, its message, and how long to wait."""

    status: int
    type: str
    message: str
    wait: Wait = NO_WAIT
    broken: bool = False
    """The backend reported no error: what came is no answer, or not all of one."""
    param: str = ""
    """Which part of the request it is about, as a JSON path; "" if it does not say. Some dialects have a field for it,"""
    code: str = ""
    """and one for a word that says more than the type; "" leaves that to the dialect."""

    def error(self) -> JsonObject:
        """The error object of a body or of an error event."""
        return {"type": self.type, "message": self.message}

    def event(self) -> StreamFailed:
        """The failure as the end of a stream. It becomes a response if nothing was sent to the client before."""
        return StreamFailed(self.error(), status=self.status, wait=self.wait, broken=self.broken)
