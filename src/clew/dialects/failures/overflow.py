"""A full context in the words that clients act on.

Claude Code compacts the conversation when it reads "prompt is too long: A tokens > B maximum", and asks again with a smaller
`max_tokens` when it reads that input and `max_tokens` together are too much. Which of the two it is, is in the numbers;
without them, compacting always helps.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from clew.model.facts.failures import numbers
from clew.model.json import JsonObject, count_of

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
        return _both(both["input"], both["output"], both["limit"])
    prompt = _found(known.prompt, message) or _in_fields(error)
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


def _both(given: int, output: int, limit: int) -> str:
    """With room for an answer, though not for the one asked for, less may be asked for; otherwise less must be given."""
    if given + SPARE < limit:
        return (
            f"input length and `max_tokens` exceed context limit: {given} + {output} > {limit}, "
            "decrease input length or `max_tokens` and try again"
        )
    return _prompt(given, limit if given > limit else limit - SPARE)


def _prompt(given: int, limit: int) -> str:
    return f"prompt is too long: {given} tokens > {limit} maximum"


def _in_fields(error: JsonObject) -> dict[str, int]:
    """llama.cpp has the numbers beside the words."""
    given, limit = count_of(error.get("n_prompt_tokens")), count_of(error.get("n_ctx"))
    return {"input": given, "limit": limit} if given and limit else {}


def _found(patterns: Iterable[re.Pattern[str]], message: str) -> dict[str, int]:
    """The numbers of the first sentence that fits; none that is too long to be one of tokens."""
    for pattern in patterns:
        if match := pattern.search(message):
            return {name: int(digits[:_DIGITS]) for name, digits in match.groupdict().items()}
    return {}
