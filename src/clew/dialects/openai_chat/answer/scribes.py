"""Scribes: what an answer is put down as while it is told, canonical events or the very bytes that the client gets.

Events are for whoever looks at them: the store, the log, a test. Where nobody does, they would be made to be written at
once, so the scribe of bytes writes what the events would have been written as. A thought is sealed when all is known that
its maker needs back, which may be after its stop: such stops are noted, and whoever seals puts the seal in their place.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from functools import lru_cache
from typing import Final, Literal, NamedTuple, Protocol, TypeAlias

import msgspec

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
from clew.wire.events import encode_event

__all__ = ["ALL", "DELTAS", "THOUGHTS", "ByteScribe", "EventScribe", "Kind", "Scribe", "Stopped", "front_of", "stop_bytes"]

Kind: TypeAlias = Literal["", "text", "thinking", "tool_use"]
Opens: TypeAlias = Literal["text", "thinking"]

THOUGHTS: Final[tuple[Kind, ...]] = ("thinking",)
ALL: Final[tuple[Kind, ...]] = ("text", "thinking", "tool_use")
"""Kinds of blocks that somebody wants to have when they are whole."""

DELTAS: Final[dict[Kind, tuple[str, str]]] = {
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
_PING_BYTES, _STOP_BYTES = encode_event(_PING), encode_event(_STOP)
_encode = msgspec.json.encode


class Scribe(Protocol):
    """Is told what happens, in order."""

    def begins(self, message: JsonObject) -> None: ...
    def pings(self) -> None: ...
    def opens(self, kind: Opens, index: int) -> None: ...
    def calls(self, index: int, call_id: str, own_id: str, name: str) -> None: ...
    def grows(self, kind: Kind, index: int, text: str) -> None: ...
    def closes(self, kind: Kind, index: int) -> None: ...
    def ends(self, stop: JsonObject, usage: JsonObject) -> None: ...
    def fails(self, failed: StreamFailed) -> None: ...


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

    def calls(self, index: int, call_id: str, own_id: str, name: str) -> None:
        self.told.append(BlockStart(index, _call(call_id, name)))

    def grows(self, kind: Kind, index: int, text: str) -> None:
        name, member = DELTAS[kind]
        self.told.append(BlockDelta(index, {"type": name, member: text}))

    def closes(self, kind: Kind, index: int) -> None:
        self.told.append(_stop(index))

    def ends(self, stop: JsonObject, usage: JsonObject) -> None:
        self.told += (MessageDelta(stop, usage), _STOP)

    def fails(self, failed: StreamFailed) -> None:
        self.told.append(failed)


class Stopped(NamedTuple):
    """A block that was stopped."""

    at: int
    """Where its stop is, in what was told."""
    block: int
    """Its own place in the answer."""
    kind: Kind
    start: JsonObject
    """As it was begun, with the id that its maker gave it."""


class ByteScribe:
    """The same in bytes. The end and a failure are kept apart."""

    __slots__ = ("_call", "_kinds", "_shown_id", "begun", "end", "ending", "failed", "message", "stopped", "stops", "told")

    def __init__(self, shown_id: Callable[[int, str], str], kinds: Container[Kind] = THOUGHTS) -> None:
        """`shown_id`: what the client gets for the backend's own id of the call in a block; `kinds`: whose stops matter."""
        self._shown_id = shown_id
        self._kinds = kinds
        self._call: JsonObject = {}
        """The newest call, as it was begun."""
        self.told: list[bytes] = []
        self.stopped: list[Stopped] = []
        """Blocks of these kinds, until somebody has looked at them."""
        self.begun = False
        """A block was opened."""
        self.stops = 0
        self.message: JsonObject = {}
        """As it began, and how it ended."""
        self.end: tuple[JsonObject, JsonObject] | None = None
        self.ending: list[bytes] = []
        self.failed: StreamFailed | None = None

    def begins(self, message: JsonObject) -> None:
        self.message = message
        self.told.append(b'event: message_start\ndata: {"type":"message_start","message":%b}\n\n' % _encode(message))

    def pings(self) -> None:
        self.told.append(_PING_BYTES)

    def opens(self, kind: Opens, index: int) -> None:
        self.begun = True
        self.told.append(_start_bytes(kind, index))

    def calls(self, index: int, call_id: str, own_id: str, name: str) -> None:
        self.begun, self._call = True, _call(own_id, name)
        self.told.append(encode_event(BlockStart(index, _call(self._shown_id(index, own_id), name))))

    def grows(self, kind: Kind, index: int, text: str) -> None:
        self.told.append(b"%b%b}}\n\n" % (front_of(kind, index), _encode(text)))

    def closes(self, kind: Kind, index: int) -> None:
        self.stops += 1
        if kind in self._kinds:
            self.stopped.append(Stopped(len(self.told), index, kind, _STARTS.get(kind, self._call)))
        self.told.append(stop_bytes(index))

    def ends(self, stop: JsonObject, usage: JsonObject) -> None:
        self.end = stop, usage
        said = b'{"type":"message_delta","delta":%b,"usage":%b}' % (_encode(stop), _encode(usage))
        self.ending = [b"event: message_delta\ndata: %b\n\n" % said, _STOP_BYTES]

    def fails(self, failed: StreamFailed) -> None:
        self.failed = failed


def _call(call_id: str, name: str) -> JsonObject:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {}}


@lru_cache(maxsize=64)
def front_of(kind: Kind, index: int) -> bytes:
    """A delta of this block, up to its text."""
    name, member = (each.encode() for each in DELTAS[kind])
    opening = b'event: content_block_delta\ndata: {"type":"content_block_delta","index":%d,"delta":{"type":"%b","%b":'
    return opening % (index, name, member)


@lru_cache(maxsize=64)
def _start(kind: Opens, index: int) -> BlockStart:
    return written(BlockStart(index, _STARTS[kind]))


@lru_cache(maxsize=64)
def _stop(index: int) -> BlockStop:
    return written(BlockStop(index))


@lru_cache(maxsize=64)
def _start_bytes(kind: Opens, index: int) -> bytes:
    return encode_event(_start(kind, index))


@lru_cache(maxsize=64)
def stop_bytes(index: int) -> bytes:
    return encode_event(_stop(index))
