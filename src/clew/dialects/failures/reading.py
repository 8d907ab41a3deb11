"""A backend's error in the client's words, whether it came as a response or inside a stream that began with 200.

Clients act on status, type and a few phrases: they wait after 429 and 529, and compact the conversation when a prompt is
"too long". So a status is found even where the error names none, a status that says something else than the words is set
right (`failures.toml`), and the many ways to say that the context is full become the ones that clients look for. The
backend's own words stay in the message otherwise.

Claude Code compacts the conversation when it reads "prompt is too long: A tokens > B maximum", and asks again with a smaller
`max_tokens` when it reads that input and `max_tokens` together are too much. Which of the two it is, is in the numbers;
without them, compacting always helps.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from clew.dialects.failures.bodies import codes_of, error_in, error_of, message_of
from clew.dialects.failures.waits import wait_of
from clew.model.facts.failures import Reason, meaning_of, numbers, usual_status
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
    429: "the backend asks to wait and gives no reason",
    529: "Overloaded",
}
"""What a status says where the backend says nothing."""

FILTERED: Final = "the backend's content filter refused this: "
BAD_CALL: Final = "the model's answer was not a valid tool call or JSON, and the backend discarded it: "

_BEFORE: Final[dict[Reason, str]] = {"filter": FILTERED, "answer": BAD_CALL}
_WAITING: Final = frozenset({429, 529})


CUT: Final = Failure(502, "api_error", "the backend's stream ended before the answer did", broken=True)
UNREADABLE: Final = Failure(502, "api_error", "the backend sent an event that is not a JSON object", broken=True)


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
            error = object_of(choice.get("error"))  # which says more than the reason does
            words = f"the backend gave up: {reason}"
            return _from({"message": words, **error}, 0 if error else FAILED[reason], unsaid=FAILED[reason])
    return None


def failure_named(data: bytes) -> Failure:
    """The failure that an event tells whose name says that it is one, whatever is in it."""
    return _from(error_of(data), 0)


def failed_reason(choice: JsonObject) -> str:
    """The finish reason, if it is one of those; else "". Gemini writes its own behind another word: `filter: REASON`."""
    said = text_of(choice.get("finish_reason"))
    reason = said.rpartition(" ")[2].lower() if said else ""
    return reason if reason in FAILED else ""


def _from(error: JsonObject, given: int, *, unsaid: int = 500) -> Failure:
    """`unsaid`: the status of an error that names none, in numbers, codes or words."""
    message, codes = message_of(error), codes_of(error)
    said = (_number(error.get(name)) for name in ("code", "status", "status_code"))
    status = given if given >= 400 else next((number for number in said if 400 <= number <= 599), 0)
    meaning = meaning_of(status, codes, message)
    if meaning is None:
        return _failure(usual_status(status or unsaid), message, error)
    if meaning.reason == "full":
        message = too_long(message, error)
    elif meaning.reason == "cap":
        message = over_the_cap(message)
    else:
        message = f"{_BEFORE.get(meaning.reason, '')}{message}"
    return _failure(meaning.says, message, error)


def _failure(status: int, message: str, error: JsonObject) -> Failure:
    words = message or _UNSAID.get(status, f"the backend reported an error ({status}) and gave no reason")
    return Failure(status, error_type_of(status), words, wait_of(error, message) if status in _WAITING else NO_WAIT)


def _number(value: JsonValue) -> int:
    if isinstance(value, str):
        return int(value) if value.isascii() and value.isdigit() and len(value) < 4 else 0
    return count_of(value)


SPARE = 1000
"""Tokens that Claude Code leaves unused when it asks again with a smaller `max_tokens`."""

LEAST = 4096
"""An answer that must be shorter than this is better not begun: then the conversation has to become shorter."""

_DIGITS = 12


def too_long(message: str, error: JsonObject) -> str:
    """In Anthropic's words; the backend's own follow where it gave no numbers."""
    known = numbers()
    both = _found(known.both, message)
    if both:
        given, limit = both["input"], both["limit"]
        if given + SPARE >= limit:  # no room for any answer
            return _prompt(given, limit if given > limit else limit - SPARE)
        return (
            f"input length and `max_tokens` exceed context limit: {given} + {both['output']} > {limit}, "
            "decrease input length or `max_tokens` and try again"
        )
    # llama.cpp has the numbers beside the words.
    beside = {"input": count_of(error.get("n_prompt_tokens")), "limit": count_of(error.get("n_ctx"))}
    prompt = _found(known.prompt, message) or (beside if all(beside.values()) else {})
    if prompt and prompt["input"] > prompt["limit"]:
        return _prompt(prompt["input"], prompt["limit"])
    return message if "prompt is too long" in message.lower() else f"prompt is too long: {message}".removesuffix(": ")


def room_in(message: str) -> int | None:
    """How much may be asked for, where less would do; None where nobody says so, or that is too little to be of use."""
    known = numbers()
    if cap := _found(known.cap, message):
        return cap["limit"]
    both = _found(known.both, message)
    room = both["limit"] - both["input"] - SPARE if both else 0
    return room if room >= LEAST else None


def over_the_cap(message: str) -> str:
    """More asked for than the model can say at once."""
    found = _found(numbers().cap, message)
    if "output" not in found:
        return message
    return f"max_tokens: {found['output']} > {found['limit']}, which is the maximum allowed number of output tokens"


def _prompt(given: int, limit: int) -> str:
    return f"prompt is too long: {given} tokens > {limit} maximum"


def _found(patterns: Iterable[re.Pattern[str]], message: str) -> dict[str, int]:
    """The numbers of the first sentence that fits; none that is too long to be one of tokens."""
    for pattern in patterns:
        if match := pattern.search(message):
            return {name: int(digits[:_DIGITS]) for name, digits in match.groupdict().items()}
    return {}
