"""Counts of an answer: as the vendor reports them, estimated where it does not, and never made up.

Some vendors count thinking apart, some do not: their `output_tokens` hold all, so what the visible part does not account for
was thinking. An `Estimate` is no number of its own accord, so that it cannot be mistaken for a report.
"""

from __future__ import annotations

from msgspec import Struct

from clew.chat.messages import Message
from clew.chat.plain import Given, object_from
from clew.chat.thoughts import extract_thinking_blocks
from clew.model.json import JsonObject, JsonValue
from clew.pipeline.tokens import tokens_of
from clew.store.values import TokenUsage

__all__ = ["Estimate", "anthropic_usage", "cache_efficiency", "thinking_tokens"]


class Estimate(Struct, frozen=True):
    """About so many tokens; nobody reported them.

    >>> str(Estimate(1500))
    '≈1500'
    """

    tokens: int

    def __str__(self) -> str:
        return f"≈{self.tokens}"


def thinking_tokens(message: Message) -> int | Estimate | None:
    """The tokens that an answer thought: as reported, else about how many; None if there is nothing to go by.

    >>> usage = {"output_tokens": 40, "output_tokens_details": {"thinking_tokens": 25}}
    >>> thinking_tokens(Message(role="assistant", content="Yes.", usage=usage))
    25
    """
    usage = message.usage or {}
    details = usage.get("output_tokens_details")
    reported = _number((details if isinstance(details, dict) else usage).get("thinking_tokens"))
    return _estimated(message, _number(usage.get("output_tokens"))) if reported is None else reported


def _estimated(message: Message, output: int | None) -> Estimate | None:
    thoughts = extract_thinking_blocks(message.raw_content)
    if not thoughts:
        return None
    unseen = 0 if output is None else output - _tokens(*_visible(message))
    about = unseen if unseen > 0 else _tokens(*(thought.get("content", "") for thought in thoughts))
    return Estimate(about) if about else None


def _visible(message: Message) -> list[str]:
    return [message.content or "", *(f"{call.name} {call.arguments}" for call in message.tool_calls)]


def _tokens(*texts: str) -> int:
    return round(sum(tokens_of(text.encode("utf-8", "replace")) for text in texts))


def cache_efficiency(usage: Given | None) -> float | None:
    """The share of a prompt that came from the cache, from 0 to 100 %; None if the usage does not tell.

    >>> cache_efficiency({"input_tokens": 50, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 50})
    90.0
    """
    counts = object_from(usage) or {}
    read, written, fresh = (_number(counts.get(name)) or 0 for name in _PROMPT)
    whole = read + written + fresh
    return 100 * read / whole if whole else None


def anthropic_usage(usage: TokenUsage) -> JsonObject:
    """The counts of the store under the names that Anthropic's API has for them.

    >>> anthropic_usage(Usage(input=3, output=40, thinking=25))["output_tokens_details"]
    {'thinking_tokens': 25}
    """
    counts: JsonObject = {
        "input_tokens": usage.input,
        "output_tokens": usage.output,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation_input_tokens": usage.cache_written,
    }
    thought: JsonObject = {"output_tokens_details": {"thinking_tokens": usage.thinking}}
    return counts if usage.thinking is None else counts | thought


_PROMPT = ("cache_read_input_tokens", "cache_creation_input_tokens", "input_tokens")


def _number(value: JsonValue) -> int | None:
    """A count; what is negative or no whole number is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
