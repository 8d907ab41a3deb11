"""Errors inside a stream, by the codes that clients act on.

Codex asks again after any failed response, except for a few codes. An error that stays the same gets one of those codes.
"""

from __future__ import annotations

from typing import Final

from clew.dialects.openai.errors import CONTEXT_CODE, is_too_long
from clew.model.failure import Failure
from clew.model.json import JsonObject

_FINAL: Final = "invalid_prompt"
"""The code of a failure that is told to the user, and is the end of the turn."""
_CODES: Final = {
    "billing_error": "insufficient_quota",
    "rate_limit_error": "rate_limit_exceeded",
    "overloaded_error": "server_is_overloaded",
}
_SERVER: Final = "server_error"


def failure_code(failure: Failure, error: JsonObject) -> str:
    """The code of a failed response; `error` is what a body would say."""
    if error.get("code") == CONTEXT_CODE:
        return CONTEXT_CODE
    return _CODES.get(failure.type) or (_FINAL if failure.status < 500 else _SERVER)


def is_told_in_stream(failure: Failure) -> bool:
    """Whether a client that wants a stream has to hear of a refusal inside of it: Codex does not know that the context is
    full by the status of a response."""
    return is_too_long(failure)
