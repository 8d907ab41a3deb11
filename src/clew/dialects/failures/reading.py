"""A backend's error in the client's words, whether it came as a response or inside a stream that began with 200.

Clients act on status, type and a few phrases: they wait after 429 and 529, and compact the conversation when a prompt is
"too long". So a status is found even where the error names none, a status that says something else than the words is set
right (`failures.toml`), and the many ways to say that the context is full become the ones that clients look for. The
backend's own words stay in the message otherwise.
"""

from __future__ import annotations

from typing import Final

from clew.dialects.failures.bodies import codes_of, error_in, error_of, message_of
from clew.dialects.failures.overflow import over_the_cap, too_long
from clew.dialects.failures.waits import wait_of
from clew.model.facts.failures import Reason, meaning_of, usual_status
from clew.model.failure import Failure, error_type_of
from clew.model.http import NO_WAIT
from clew.model.json import JsonObject, JsonValue, count_of, object_of, objects_of, text_of

FAILED: Final = {
    "error": 502,
    "network_error": 502,
    "insufficient_system_resource": 529,
    "malformed_function_call": 502,  # Gemini, from here on: what the model said was thrown away
    "malformed_response": 502,
    "unexpected_tool_call": 502,
}
"""Finish reasons that are failures, with the status that says so."""

_UNSAID: Final[dict[int, str]] = {
    413: "Request exceeds the maximum size",
    429: "the backend asks to wait, without a word why",
    529: "Overloaded",
}
"""What a status says where the backend says nothing."""

FILTERED: Final = "the backend's content filter refused this: "
BAD_CALL: Final = "the model's answer was no valid tool call or JSON, and the backend threw it away: "

_BEFORE: Final[dict[Reason, str]] = {"filter": FILTERED, "answer": BAD_CALL}
_WAITING: Final = frozenset({429, 529})


CUT: Final = Failure(502, "api_error", "the backend's stream ended before the answer did", broken=True)
UNREADABLE: Final = Failure(502, "api_error", "the backend sent an event that is no JSON object", broken=True)


def failure_of(status: int, body: bytes) -> Failure:
    """The failure that a response with this status tells."""
    return _from(error_of(body), status)


def failure_in(chunk: JsonObject) -> Failure | None:
    """The failure that a chunk of a stream, or a body that came with 200, tells; None if it is an ordinary one."""
    error = error_in(chunk)
    if error is not None:
        return _from(error, 0)
    for choice in objects_of(chunk.get("choices"))[:1]:
        if reason := failed_reason(choice):
            return _given_up(object_of(choice.get("error")), reason)
    return None


def failure_named(data: bytes) -> Failure:
    """The failure that an event tells whose name says that it is one, whatever is in it."""
    return _from(error_of(data), 0)


def failed_reason(choice: JsonObject) -> str:
    """The finish reason, if it is one of those; else "". Gemini writes its own behind another word: `filter: REASON`."""
    said = text_of(choice.get("finish_reason"))
    reason = said.rpartition(" ")[2].lower() if said else ""
    return reason if reason in FAILED else ""


def _given_up(error: JsonObject, reason: str) -> Failure:
    """An error beside a finish reason says more than that does."""
    words = f"the backend gave up: {reason}"
    return _from({"message": words, **error}, 0 if error else FAILED[reason], unsaid=FAILED[reason])


def _from(error: JsonObject, given: int, *, unsaid: int = 500) -> Failure:
    """`unsaid`: the status of an error that names none, in numbers, codes or words."""
    message, codes = message_of(error), codes_of(error)
    status = given if given >= 400 else _said_status(error)
    meaning = meaning_of(status, codes, message)
    if meaning is None:
        return _failure(usual_status(status or unsaid), message, error)
    return _failure(meaning.says, _worded(meaning.reason, message, error), error)


def _worded(reason: Reason, message: str, error: JsonObject) -> str:
    if reason == "full":
        return too_long(message, error)
    return over_the_cap(message) if reason == "cap" else f"{_BEFORE.get(reason, '')}{message}"


def _failure(status: int, message: str, error: JsonObject) -> Failure:
    words = message or _UNSAID.get(status, f"the backend reported an error ({status}) without a word why")
    return Failure(status, error_type_of(status), words, wait_of(error, message) if status in _WAITING else NO_WAIT)


def _said_status(error: JsonObject) -> int:
    """What an error without a response's status says of itself, in numbers; else 0."""
    said = (_number(error.get(name)) for name in ("code", "status", "status_code"))
    return next((number for number in said if 400 <= number <= 599), 0)


def _number(value: JsonValue) -> int:
    if isinstance(value, str):
        return int(value) if value.isascii() and value.isdigit() and len(value) < 4 else 0
    return count_of(value)
