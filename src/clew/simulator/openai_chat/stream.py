"""A chat answer on the wire: one JSON completion, or chunks in the vendor's format; and the vendor's usage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import msgspec

from clew.model.json import JsonObject
from clew.simulator.acts import Pause, SendEvent, SendPings
from clew.simulator.answers import ModelAnswer
from clew.simulator.openai_chat.thoughts import ChatDelta, MessageDraft
from clew.simulator.openai_chat.vendors import ChatVendor, UsageFormat, decoded
from clew.simulator.steps import Send, Silence, Step, repeated
from clew.simulator.values import as_dict

_DONE: Final = Send(b"data: [DONE]\n\n", "done")
_FINISHES: Final = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "refusal": "content_filter",
}
_BESIDE: Final = {"reasoning": "beside_reasoning", "content": "beside_content", "tool_calls": "beside_calls"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """All that is needed to write an answer."""

    id: str
    model: str
    created: int
    vendor: ChatVendor
    draft: MessageDraft
    message: JsonObject
    stop_reason: str
    usage: JsonObject
    usage_asked: bool

    @property
    def finish(self) -> str:
        """The finish reason. A scenario may set any."""
        reason = _FINISHES.get(self.stop_reason, self.stop_reason)
        return self.vendor.finishes.get(reason, reason)


def completion(whole: Completion) -> JsonObject:
    """The answer as one JSON object."""
    extra = decoded(whole.vendor.chunks.choice)
    choice: JsonObject = {"index": 0, "message": whole.message, "finish_reason": whole.finish, **extra}
    return {**_frame(whole, "chat.completion"), "choices": [choice], "usage": whole.usage, **decoded(whole.vendor.extra)}


def chunks(whole: Completion) -> Iterator[Step]:
    """The answer as a stream."""
    format_ = whole.vendor.chunks
    if format_.comment:
        yield _comment(format_.comment)
    if format_.preface:
        yield Send(f"data: {format_.preface}\n\n".encode(), "preface")
    first = dict(decoded(format_.first))
    if "content" in first or len(first) > 1:
        yield _chunk(whole, first, "role")
        first = {}
    for step in whole.draft.steps:
        match step:
            case ChatDelta(kind, value):
                beside = decoded(getattr(format_, _BESIDE[kind]))
                yield _chunk(whole, {**first, **beside, **value}, kind)
                first = {}
            case Pause(seconds):
                yield Silence(seconds)
            case SendPings(times, every):
                yield from repeated(_comment(format_.comment or "keep-alive"), times, every)
            case SendEvent(name, data):
                yield Send(f"data: {data}\n\n".encode(), name)
    yield from _end(whole)


def _end(whole: Completion) -> Iterator[Step]:
    format_ = whole.vendor.chunks
    beside: JsonObject = {"usage": whole.usage} if format_.usage == "finish" else {}
    if format_.twice:
        beside[format_.twice] = {"id": f"req_{whole.id}", "usage": whole.usage}
    yield _chunk(whole, dict(decoded(format_.last)), "finish", finish=whole.finish, beside=beside)
    if format_.usage == "own" or (format_.usage == "asked" and whole.usage_asked):
        body: JsonObject = {**_frame(whole, "chat.completion.chunk"), "choices": [], "usage": whole.usage}
        yield _send({**body, **decoded(whole.vendor.extra)}, "usage")
    yield _DONE


def _chunk(
    whole: Completion, delta: JsonObject, event: str, *, finish: str | None = None, beside: JsonObject | None = None
) -> Send:
    format_ = whole.vendor.chunks
    choice: JsonObject = {"index": 0, "delta": delta}
    if finish is not None or format_.finish == "null":
        choice["finish_reason"] = finish
    choice |= decoded(format_.choice)
    if finish is not None and "native_finish_reason" in choice:
        choice["native_finish_reason"] = finish
    return _send({**_frame(whole, "chat.completion.chunk"), "choices": [choice], **(beside or {})}, event)


def _frame(whole: Completion, kind: str) -> JsonObject:
    frame: JsonObject = {"id": whole.id, "object": kind, "created": whole.created, "model": whole.model}
    return {**frame, **as_dict(decoded(whole.vendor.chunks.frame))}


def _send(data: JsonObject, event: str) -> Send:
    return Send(b"data: " + msgspec.json.encode(data) + b"\n\n", event)


def _comment(text: str) -> Send:
    return Send(f": {text}\n\n".encode())


def usage_of(answer: ModelAnswer, prompt: int, cached: int, format_: UsageFormat) -> JsonObject:
    """The `usage` of an answer in this vendor's format. A scenario's numbers replace the counted ones."""
    given = answer.usage
    prompt, cached = given.get("input_tokens", prompt), given.get("cache_read_input_tokens", cached)
    output = given.get("output_tokens", answer.output_tokens)
    reasoning = given.get("thinking_tokens", answer.thinking_tokens)
    usage: JsonObject = {
        "prompt_tokens": prompt,
        "completion_tokens": output - (reasoning if format_.reasoning == "beside" else 0),
        "total_tokens": prompt + output,
    }
    if format_.cached in ("details", "hit-miss"):
        usage["prompt_tokens_details"] = {"cached_tokens": cached}
    if format_.cached == "hit-miss":
        usage["prompt_cache_hit_tokens"] = cached
        usage["prompt_cache_miss_tokens"] = prompt - cached
    if format_.cached == "top":
        usage["cached_tokens"] = cached
    if format_.reasoning in ("details", "beside"):
        usage["completion_tokens_details"] = {"reasoning_tokens": reasoning}
    if format_.reasoning == "top":
        usage["reasoning_tokens"] = reasoning
    return {**usage, **decoded(format_.extra)}
