"""How an answer ended or failed, and what it cost: as this dialect's backends say it, and as its clients get it.

`input_tokens` includes here what came from the cache and what was written to it; the canonical count does not. A count of
zero for reasoning means unknown beside streamed reasoning, so zero is never reported.
"""

from __future__ import annotations

from typing import Final

from clew.dialects.openai.errors import CONTEXT_CODE, is_too_long
from clew.model.failure import Failure
from clew.model.json import JsonObject, count_of, object_of, text_of
from clew.model.tokens import OUTPUT_ESTIMATED

_INCOMPLETE: Final = {"content_filter": "refusal", "steered": "end_turn"}
"""The stop reasons of answers that are not whole, by what they say; every other one ran into a limit."""
_UNFINISHED: Final = {
    "max_tokens": "max_output_tokens",
    "model_context_window_exceeded": "max_output_tokens",
    "refusal": "content_filter",
}
"""Why an answer is incomplete for clients of this dialect; every other stop reason is `completed`."""


def stop_reason_of(response: JsonObject, *, called: bool, refused: bool) -> str:
    """The canonical stop reason of a response that did not fail. Half a call must not be run, so a cut outweighs it."""
    if response.get("status") == "incomplete":
        return _INCOMPLETE.get(text_of(object_of(response.get("incomplete_details")).get("reason")), "max_tokens")
    if refused:
        return "refusal"
    if called:
        return "tool_use"
    return "pause_turn" if response.get("end_turn") is False else "end_turn"


def incomplete_reason_of(stop_reason: str) -> str:
    """Why an answer with this stop reason is incomplete; "" if it is complete."""
    return _UNFINISHED.get(stop_reason, "")


def canonical_usage(usage: JsonObject) -> JsonObject:
    """A backend's counts as the Messages API has them."""
    given, told = object_of(usage.get("input_tokens_details")), object_of(usage.get("output_tokens_details"))
    read, write = count_of(given.get("cached_tokens")), count_of(given.get("cache_write_tokens"))
    found: JsonObject = {
        "input_tokens": max(0, count_of(usage.get("input_tokens")) - read - write),
        "cache_creation_input_tokens": write,
        "cache_read_input_tokens": read,
        "output_tokens": count_of(usage.get("output_tokens")),
    }
    if reasoning := count_of(told.get("reasoning_tokens")):
        found["output_tokens_details"] = {"thinking_tokens": reasoning}
    return found


def responses_usage(usage: JsonObject) -> JsonObject | None:
    """Canonical counts as clients of this dialect get them; None if nobody counted: there are no words for an estimate.

    Codex refuses usage without a total, or with details that lack their count.
    """
    if not usage or OUTPUT_ESTIMATED in usage:
        return None
    read, write = count_of(usage.get("cache_read_input_tokens")), count_of(usage.get("cache_creation_input_tokens"))
    given = count_of(usage.get("input_tokens")) + read + write
    told = count_of(usage.get("output_tokens"))
    details = object_of(usage.get("output_tokens_details"))
    return {
        "input_tokens": given,
        "input_tokens_details": {"cached_tokens": read, "cache_write_tokens": write},
        "output_tokens": told,
        "output_tokens_details": {"reasoning_tokens": count_of(details.get("thinking_tokens"))},
        "total_tokens": given + told,
    }


# Errors inside a stream, by the codes that clients act on. Codex asks again after any failed response, except for a few
# codes. An error that stays the same gets one of those.


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
