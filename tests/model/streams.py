"""Builders for stream events, so that a test reads like the stream."""

import re
from collections.abc import Iterable

from clew.model.events import (
    BlockDelta,
    BlockStart,
    BlockStop,
    Event,
    MessageDelta,
    MessageStart,
    MessageStop,
    Ping,
    StreamFailed,
)
from clew.model.json import JsonObject, JsonValue

STOP_NULLS: JsonObject = {"stop_reason": None, "stop_sequence": None, "stop_details": None}


def opening(**more: JsonValue) -> MessageStart:
    message: JsonObject = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5-5",
        "content": [],
        **STOP_NULLS,
        "usage": {"input_tokens": 10, "output_tokens": 1},
    }
    return MessageStart({**message, **more})


def start(index: int, kind: str, **members: JsonValue) -> BlockStart:
    return BlockStart(index, {"type": kind, **members})


def start_text(index: int) -> BlockStart:
    return start(index, "text", text="")


def start_thinking(index: int) -> BlockStart:
    return start(index, "thinking", thinking="", signature="")


def start_tool(index: int, name: str = "Bash") -> BlockStart:
    return start(index, "tool_use", id=f"toolu_{index}", name=name, input={})


def text(index: int, words: str) -> BlockDelta:
    return BlockDelta(index, {"type": "text_delta", "text": words})


def thinking(index: int, words: str) -> BlockDelta:
    return BlockDelta(index, {"type": "thinking_delta", "thinking": words})


def signature(index: int, value: str) -> BlockDelta:
    return BlockDelta(index, {"type": "signature_delta", "signature": value})


def json_piece(index: int, piece: str) -> BlockDelta:
    return BlockDelta(index, {"type": "input_json_delta", "partial_json": piece})


def citation(index: int, cited: str) -> BlockDelta:
    return BlockDelta(index, {"type": "citations_delta", "citation": {"type": "char_location", "cited_text": cited}})


def compaction(index: int, **members: JsonValue) -> BlockDelta:
    return BlockDelta(index, {"type": "compaction_delta", **members})


def unknown_delta(index: int) -> BlockDelta:
    return BlockDelta(index, {"type": "future_delta", "x": 1})


def stop(index: int) -> BlockStop:
    return BlockStop(index)


def ending(reason: str | None = "end_turn", **usage: JsonValue) -> MessageDelta:
    return MessageDelta({**STOP_NULLS, "stop_reason": reason}, {"output_tokens": 5, **usage})


def failed(kind: str = "overloaded_error", message: str = "Overloaded") -> StreamFailed:
    return StreamFailed({"type": kind, "message": message})


PING = Ping()
DONE = MessageStop()


_GROWING = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
_EVENT = re.compile(rb".*?\n\n|.+\Z", re.DOTALL)


def reads(stream: bytes) -> list[bytes]:
    """The stream as a backend sends it that is slow: each event comes in a read of its own."""
    return _EVENT.findall(stream)


def joined(events: Iterable[Event]) -> list[Event]:
    """The same events, with neighbours that add text to one block as one: how many there are depends on the reads."""
    found: list[Event] = []
    for event in events:
        last = found[-1] if found else None
        member = _GROWING.get(event.kind) if isinstance(event, BlockDelta) else None
        if isinstance(event, BlockDelta) and isinstance(last, BlockDelta) and member in last.delta:
            found[-1] = BlockDelta(event.index, {**last.delta, member: f"{last.delta[member]}{event.delta[member]}"})
        else:
            found.append(event)
    return found
