"""The scribe: what an answer is put down as while it is told, canonical events."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, Literal, TypeAlias

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
    written,
)
from clew.model.json import JsonObject

__all__ = ["EventScribe", "Kind"]

Kind: TypeAlias = Literal["", "text", "thinking", "tool_use"]
Opens: TypeAlias = Literal["text", "thinking"]

_DELTAS: Final[dict[Kind, tuple[str, str]]] = {
    "text": ("text_delta", "text"),
    "thinking": ("thinking_delta", "thinking"),
    "tool_use": ("input_json_delta", "partial_json"),
}
"""The delta by which a block grows: its type, and the member that has the text."""
_STARTS: Final[dict[Kind, JsonObject]] = {
    "text": {"type": "text", "text": ""},
    "thinking": {"type": "thinking", "thinking": "", "signature": ""},
}
_PING, _STOP = written(Ping()), written(MessageStop())


class EventScribe:
    """`told` fills up; whoever sends it takes it out."""

    __slots__ = ("told",)

    def __init__(self) -> None:
        self.told: list[Event] = []

    def begins(self, message: JsonObject) -> None:
        self.told.append(MessageStart(message))

    def pings(self) -> None:
        self.told.append(_PING)

    def opens(self, kind: Opens, index: int) -> None:
        self.told.append(_start(kind, index))

    def calls(self, index: int, call_id: str, name: str) -> None:
        self.told.append(BlockStart(index, _call(call_id, name)))

    def grows(self, kind: Kind, index: int, text: str) -> None:
        name, member = _DELTAS[kind]
        self.told.append(BlockDelta(index, {"type": name, member: text}))

    def closes(self, kind: Kind, index: int) -> None:
        self.told.append(_stop(index))

    def ends(self, stop: JsonObject, usage: JsonObject) -> None:
        self.told += (MessageDelta(stop, usage), _STOP)

    def fails(self, failed: StreamFailed) -> None:
        self.told.append(failed)


def _call(call_id: str, name: str) -> JsonObject:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {}}


@lru_cache(maxsize=64)
def _start(kind: Opens, index: int) -> BlockStart:
    return written(BlockStart(index, _STARTS[kind]))


@lru_cache(maxsize=64)
def _stop(index: int) -> BlockStop:
    return written(BlockStop(index))
