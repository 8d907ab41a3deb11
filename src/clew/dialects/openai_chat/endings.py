"""How an answer ended and what it cost: out of every vendor's own form, and as clients of this dialect get it.

Reading a stop reason, what was seen weighs more than what was said: servers end with `stop`, null or a word of their own
although they called tools, and with `tool_calls` although they called none. Only a cut and a refusal outweigh a call, since
a call that was cut must not be run.

The traps of usage: `prompt_tokens` includes what came from the cache, the canonical `input_tokens` does not. xAI and Gemini
leave reasoning out of the completion count; the total gives that away. The cached count has five names. A reasoning count of
zero beside streamed reasoning means unknown, so zero is never reported. Usage may come twice or in each chunk: it is a total
every time, so the last one counts and nothing is added up.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from msgspec import Struct

from clew.dialects.openai_chat.detail import ChatDetail
from clew.dialects.openai_chat.stream_chunks import Chunk, ChunkChoice
from clew.model.json import JsonObject, count_of, object_of, text_of

_STRONG: Final = {
    "length": "max_tokens",
    "max_tokens": "max_tokens",
    "max_output_tokens": "max_tokens",
    "model_length": "max_tokens",
    "content_filter": "refusal",
    "safety": "refusal",
    "sensitive": "refusal",
    "refusal": "refusal",
    "recitation": "refusal",
    "prohibited_content": "refusal",
    "blocklist": "refusal",
    "model_context_window_exceeded": "model_context_window_exceeded",
}
"""Finish reasons that outweigh a call."""

_FINISH: Final = {
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}
"""The finish reasons of this dialect; every other stop reason is `stop`."""


def stop_of(choice: ChunkChoice | None, *, called: bool, refused: bool, stops: Collection[str] = ()) -> JsonObject:
    """The canonical stop reason. `choice` is the one with the finish reason, if any; `stops` are the sequences asked for."""
    said = choice or ChunkChoice()
    reason = _STRONG.get(text_of(said.finish_reason).lower())
    if reason is None and refused:
        reason = "refusal"
    # vLLM and SGLang name the sequence, each in its own member; a number there is an ordinary end.
    named = (text_of(said.stop_reason), text_of(said.matched_stop))
    matched = next((word for word in named if word and word in stops), None) if stops else None
    if reason is None and matched is not None and not called:
        return {"stop_reason": "stop_sequence", "stop_sequence": matched}
    return {"stop_reason": reason or ("tool_use" if called else "end_turn"), "stop_sequence": None}


def finish_reason_of(stop_reason: str, detail: ChatDetail) -> str:
    """The finish reason that this client of the dialect gets."""
    if detail.has_functions and stop_reason == "tool_use":
        return "function_call"
    return _FINISH.get(stop_reason, "stop")


class TokenTotals(Struct, frozen=True):
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


def usage_in(chunk: Chunk) -> JsonObject:
    """The usage that a chunk carries, wherever it does; {} if it has none. The top level wins over copies."""
    if usage := object_of(chunk.usage):
        return usage
    if chunk.choices and (usage := object_of(chunk.choices[0].usage)):
        return usage
    return object_of(object_of(chunk.x_groq).get("usage"))


def totals_of(usage: JsonObject, *, reasoning_apart: bool = False) -> TokenTotals:
    """A vendor's usage object in normal form."""
    prompt, completion = object_of(usage.get("prompt_tokens_details")), object_of(usage.get("completion_tokens_details"))
    hits_and_misses = count_of(usage.get("prompt_cache_hit_tokens")) + count_of(usage.get("prompt_cache_miss_tokens"))
    total_in = count_of(usage.get("prompt_tokens")) or hits_and_misses
    output = count_of(usage.get("completion_tokens"))
    reasoning = count_of(completion.get("reasoning_tokens")) or count_of(usage.get("reasoning_tokens"))
    apart = reasoning_apart or count_of(usage.get("total_tokens")) == total_in + output + reasoning
    return TokenTotals(
        input=total_in,
        cache_read=_first(prompt, "cached_tokens") or _first(usage, "cached_tokens", "prompt_cache_hit_tokens"),
        cache_write=_first(prompt, "cache_write_tokens", "cache_creation_input_tokens", "cache_creation_tokens"),
        output=output + reasoning if apart else output,
        reasoning=reasoning,
    )


def _first(value: JsonObject, *names: str) -> int:
    return next((count for name in names if (count := count_of(value.get(name)))), 0)


def chat_usage(usage: JsonObject) -> JsonObject:
    """Canonical counts as clients of this dialect get them: the prompt with all that was cached, and a total."""
    read, write = count_of(usage.get("cache_read_input_tokens")), count_of(usage.get("cache_creation_input_tokens"))
    prompt = count_of(usage.get("input_tokens")) + read + write
    completion = count_of(usage.get("output_tokens"))
    details = object_of(usage.get("output_tokens_details"))
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": read, "cache_write_tokens": write},
        "completion_tokens_details": {"reasoning_tokens": count_of(details.get("thinking_tokens"))},
    }
