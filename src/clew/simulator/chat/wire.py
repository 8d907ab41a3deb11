"""A chat answer on the wire: one JSON completion, or chunks with the vendor's small ways."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import msgspec

from clew.model.json import JsonObject
from clew.simulator.acts import Event, Pause, Ping
from clew.simulator.chat.said import Delta, Said
from clew.simulator.chat.said import Step as SaidStep
from clew.simulator.chat.vendors import Vendor, decoded
from clew.simulator.steps import Send, Step, Wait
from clew.simulator.values import as_dict

__all__ = ["Completion", "chunks", "completion"]

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
    """All that is needed to write an answer down."""

    id: str
    model: str
    created: int
    vendor: Vendor
    said: Said
    message: JsonObject
    stop_reason: str
    usage: JsonObject
    usage_asked: bool

    @property
    def finish(self) -> str:
        """The finish reason; a scenario may say any."""
        reason = _FINISHES.get(self.stop_reason, self.stop_reason)
        return self.vendor.finishes.get(reason, reason)


def completion(whole: Completion) -> JsonObject:
    """The answer as one JSON object."""
    extra = decoded(whole.vendor.chunks.choice)
    choice: JsonObject = {"index": 0, "message": whole.message, "finish_reason": whole.finish, **extra}
    return {**_frame(whole, "chat.completion"), "choices": [choice], "usage": whole.usage, **decoded(whole.vendor.extra)}


def chunks(whole: Completion) -> Iterator[Step]:
    """The answer as a stream."""
    ways = whole.vendor.chunks
    if ways.comment:
        yield _comment(ways.comment)
    if ways.preface:
        yield Send(f"data: {ways.preface}\n\n".encode(), "preface")
    first = dict(decoded(ways.first))
    if "content" in first or len(first) > 1:
        yield _chunk(whole, first, "role")
        first = {}
    for step in whole.said.steps:
        yield from _step(whole, step, first)
        first = {} if isinstance(step, Delta) else first
    yield from _end(whole)


def _step(whole: Completion, step: SaidStep, first: JsonObject) -> Iterator[Step]:
    match step:
        case Delta(kind, value):
            beside = decoded(getattr(whole.vendor.chunks, _BESIDE[kind]))
            yield _chunk(whole, {**first, **beside, **value}, kind)
        case Pause(seconds):
            yield Wait(seconds)
        case Ping(times, every):
            for _ in range(times):
                yield _comment(whole.vendor.chunks.comment or "keep-alive")
                if every:
                    yield Wait(every)
        case Event(name, data):
            yield Send(f"data: {data}\n\n".encode(), name)


def _end(whole: Completion) -> Iterator[Step]:
    ways = whole.vendor.chunks
    together: JsonObject = {"usage": whole.usage} if ways.usage == "finish" else {}
    if ways.twice:
        together[ways.twice] = {"id": f"req_{whole.id}", "usage": whole.usage}
    yield _chunk(whole, dict(decoded(ways.last)), "finish", finish=whole.finish, more=together)
    if ways.usage == "own" or (ways.usage == "asked" and whole.usage_asked):
        body: JsonObject = {**_frame(whole, "chat.completion.chunk"), "choices": [], "usage": whole.usage}
        yield _send({**body, **decoded(whole.vendor.extra)}, "usage")
    yield _DONE


def _chunk(
    whole: Completion, delta: JsonObject, event: str, *, finish: str | None = None, more: JsonObject | None = None
) -> Send:
    ways = whole.vendor.chunks
    choice: JsonObject = {"index": 0, "delta": delta}
    if finish is not None or ways.finish == "null":
        choice["finish_reason"] = finish
    choice |= decoded(ways.choice)
    if finish is not None and "native_finish_reason" in choice:
        choice["native_finish_reason"] = finish
    return _send({**_frame(whole, "chat.completion.chunk"), "choices": [choice], **(more or {})}, event)


def _frame(whole: Completion, kind: str) -> JsonObject:
    frame: JsonObject = {"id": whole.id, "object": kind, "created": whole.created, "model": whole.model}
    return {**frame, **as_dict(decoded(whole.vendor.chunks.frame))}


def _send(data: JsonObject, event: str) -> Send:
    return Send(b"data: " + msgspec.json.encode(data) + b"\n\n", event)


def _comment(words: str) -> Send:
    return Send(f": {words}\n\n".encode())
