"""A backend's error in the client's words, whether it came as a response or inside a stream that began with 200.

Clients act on status, type and a few phrases: they wait after 429 and 529, and compact the conversation when a prompt is
"too long". So a status is found even where the error names none, a status that says something else than the words is set
right (`failures.toml`), and the many ways to say that the context is full become the ones that clients look for. The
backend's own words stay in the message otherwise.

Claude Code compacts the conversation when it reads "prompt is too long: A tokens > B maximum", and asks again with a smaller
`max_tokens` when it reads that input and `max_tokens` together are too much. Which of the two it is, is in the numbers;
without them, compacting always helps.

How long an error asks to wait stands in members of its own (`waits` in `failures.toml` has their names), or in words:
`6m0s`, `7.66s`, `120ms`, "try again in 1 minute", or a number of seconds. Or until when: a number of seconds or of
milliseconds since 1970. An aggregator's error holds the vendor's, as text; what that one says counts where the aggregator
itself says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from clew.dialects.failures.bodies import codes_of, error_in, error_of, message_of, vendors_error
from clew.model.facts.failures import Path, Reason, meaning_of, numbers, usual_status, waits
from clew.model.failure import Failure, error_type_of
from clew.model.http import NO_WAIT, Wait
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


_AMOUNT: Final = r"\d{1,9}(?:\.\d{1,9})?\s?(?:ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?|d|days?)(?![a-z])"
_SAID: Final = re.compile(rf"(?:try again|retry)(?: your request)? (?:in|after)(?: about)? ((?:{_AMOUNT}[\s,]*)+)", re.I)
_WHOLE: Final = re.compile(rf"(?:{_AMOUNT})+|\d{{1,9}}(?:\.\d{{1,9}})?", re.I)
_PART: Final = re.compile(r"([\d.]+)\s?(ms|mil|s|m|h|d)?", re.I)
_SECONDS: Final = {"": 1.0, "ms": 0.001, "mil": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}

_MOMENT: Final = re.compile(r"(\d{10,15})(?:\.\d*)?", re.ASCII)
"""From ten digits on a number is a moment, not a duration; a thousand times as much is one in milliseconds."""
_LAST: Final = 4102444800.0
"""The year 2100: what is later is no moment in seconds."""


def duration_of(text: str) -> float | None:
    """Seconds; None if the text is anything but a duration. A number without a unit is one of seconds."""
    return _sum(text) if _WHOLE.fullmatch(_close(text.strip())) else None


def moment_of(text: str) -> float | None:
    """Seconds since 1970; None if the text is anything but a moment."""
    match = _MOMENT.fullmatch(text.strip())
    number = float(match[1]) if match else 0.0
    seconds = number / 1000 if number > _LAST else number
    return seconds if 0 < seconds <= _LAST else None


def wait_in(message: str) -> float | None:
    """The seconds that a message asks to wait; None if it names none."""
    match = _SAID.search(message)
    return _sum(match[1]) if match else None


def _close(text: str) -> str:
    """Without the gaps between the parts."""
    return text.replace(" ", "")


def _sum(text: str) -> float:
    parts = _PART.findall(_close(text))
    return round(sum(float(number) * _SECONDS[unit.lower()] for number, unit in parts), 3)


def said_wait(body: bytes) -> Wait:
    """What the body of a response asks for."""
    error = error_of(body)
    return wait_of(error, message_of(error))


def wait_of(error: JsonObject, message: str) -> Wait:
    """What an error with these words asks for."""
    known, errors = waits(), [error, *vendors_error(error)]
    seconds = _first(errors, known.after, duration_of) or wait_in(message)
    return Wait(seconds, None if seconds else _first(errors, known.until, moment_of))


def _first(errors: Sequence[JsonObject], paths: Sequence[Path], read: Callable[[str], float | None]) -> float | None:
    texts = (text for error in errors for path in paths for text in _texts(error, path))
    return next(filter(None, map(read, texts)), None)


def _texts(value: JsonValue, path: Path) -> Iterator[str]:
    """What stands at the end of a path, as text; members by name in any case."""
    if not path:
        yield from [str(value)] if isinstance(value, str | int | float) and not isinstance(value, bool) else []
    elif path[0] == "*":
        yield from (text for each in value for text in _texts(each, path[1:])) if isinstance(value, list) else ()
    elif isinstance(value, dict):
        yield from (text for name in value if name.lower() == path[0] for text in _texts(value[name], path[1:]))
