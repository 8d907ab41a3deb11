"""What an answer cost, brought to one form out of every vendor's own.

The traps: `prompt_tokens` includes what came from the cache, the client's `input_tokens` does not. xAI and Gemini leave
reasoning out of the completion count; the total gives that away. The cached count has five names. A reasoning count of zero
beside streamed reasoning means unknown, so zero is never reported. Usage may come twice or in each chunk: it is a total
every time, so the last one counts and nothing is added up.
"""

from __future__ import annotations

from msgspec import Struct

from clew.model.json import JsonObject
from clew.model.loose_json import count_of, object_of, objects_of

__all__ = ["Usage", "usage_in", "usage_of"]


class Usage(Struct, frozen=True):
    """Totals: input with cache, output with reasoning. A reasoning of 0 is unknown."""

    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int = 0

    def canonical(self) -> JsonObject:
        """The counts as the Messages API has them: the input without what was read from the cache, or written to it."""
        usage: JsonObject = {
            "input_tokens": max(0, self.input - self.cache_read - self.cache_write),
            "cache_creation_input_tokens": self.cache_write,
            "cache_read_input_tokens": self.cache_read,
            "output_tokens": self.output,
        }
        if self.reasoning:
            usage["output_tokens_details"] = {"thinking_tokens": self.reasoning}
        return usage


def usage_in(chunk: JsonObject) -> JsonObject:
    """The usage that a chunk carries, wherever it does; {} if it has none. The top level wins over copies."""
    if usage := object_of(chunk.get("usage")):
        return usage
    for place in (*objects_of(chunk.get("choices"))[:1], object_of(chunk.get("x_groq"))):
        if usage := object_of(place.get("usage")):
            return usage
    return {}


def usage_of(value: JsonObject, *, reasoning_apart: bool = False) -> Usage:
    """A vendor's usage object in normal form."""
    prompt = object_of(value.get("prompt_tokens_details"))
    completion = object_of(value.get("completion_tokens_details"))
    total_in = count_of(value.get("prompt_tokens")) or _hits_and_misses(value)
    output = count_of(value.get("completion_tokens"))
    reasoning = count_of(completion.get("reasoning_tokens")) or count_of(value.get("reasoning_tokens"))
    apart = reasoning_apart or count_of(value.get("total_tokens")) == total_in + output + reasoning
    return Usage(
        input=total_in,
        cache_read=_first(prompt, "cached_tokens") or _first(value, "cached_tokens", "prompt_cache_hit_tokens"),
        cache_write=_first(prompt, "cache_write_tokens", "cache_creation_input_tokens", "cache_creation_tokens"),
        output=output + reasoning if apart else output,
        reasoning=reasoning,
    )


def _hits_and_misses(value: JsonObject) -> int:
    return count_of(value.get("prompt_cache_hit_tokens")) + count_of(value.get("prompt_cache_miss_tokens"))


def _first(value: JsonObject, *names: str) -> int:
    for name in names if value else ():
        if name in value and (count := count_of(value[name])):
            return count
    return 0
