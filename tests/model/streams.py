"""Builders for stream events, so that a test reads like the stream."""

from clew.model.events import BlockDelta, BlockStart, BlockStop, MessageDelta, MessageStart, MessageStop, Ping, StreamFailed
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
