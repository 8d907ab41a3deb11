"""The usage, in the vendor's own spelling: where reasoning and cached tokens stand, and what they are part of."""

from __future__ import annotations

from dataclasses import dataclass

from clew.model.json import JsonObject
from clew.simulator.answer import Answer
from clew.simulator.chat.vendors import Numbers, decoded

__all__ = ["Spent", "usage_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What an exchange cost. The answer's tokens include its thoughts'."""

    prompt: int
    cached: int
    answer: int
    thought: int

    @classmethod
    def of(cls, answer: Answer, prompt: int, cached: int) -> Spent:
        """The counts of this answer, or the numbers that its scenario gives instead."""
        said = answer.usage
        return cls(
            prompt=said.get("input_tokens", prompt),
            cached=said.get("cache_read_input_tokens", cached),
            answer=said.get("output_tokens", answer.output_tokens),
            thought=said.get("thinking_tokens", answer.thinking_tokens),
        )


def usage_of(spent: Spent, numbers: Numbers) -> JsonObject:
    """The `usage` member of an answer, in this vendor's form."""
    beside = numbers.reasoning == "beside"
    usage: JsonObject = {
        "prompt_tokens": spent.prompt,
        "completion_tokens": spent.answer - (spent.thought if beside else 0),
        "total_tokens": spent.prompt + spent.answer,
    }
    if numbers.cached in ("details", "hit-miss"):
        usage["prompt_tokens_details"] = {"cached_tokens": spent.cached}
    if numbers.cached == "hit-miss":
        usage["prompt_cache_hit_tokens"] = spent.cached
        usage["prompt_cache_miss_tokens"] = spent.prompt - spent.cached
    if numbers.cached == "top":
        usage["cached_tokens"] = spent.cached
    if numbers.reasoning in ("details", "beside"):
        usage["completion_tokens_details"] = {"reasoning_tokens": spent.thought}
    if numbers.reasoning == "top":
        usage["reasoning_tokens"] = spent.thought
    return {**usage, **decoded(numbers.extra)}
