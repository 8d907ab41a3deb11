"""Blocks of a Messages stream one after the other, for a server that leaves them open until its answer ends.

llama.cpp stops each block at the very end, when all are open, and puts a thought that comes late into the first. Clients,
and whoever seals, need one open block at a time. So a block is stopped when another one is spoken of; words for one that is
stopped already open another of its kind; and what only ends it again is dropped, its signature among that: such a server
signs with nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from clew.dialects.anthropic.stream_errors import read_any
from clew.errors import StreamIllegal
from clew.model.events import BlockDelta, BlockStart, BlockStop, Event, MessageDelta, MessageStart, altered
from clew.model.json import JsonObject
from clew.wire.sse import SseLimits, SseReader

__all__ = ["InOrder"]

_SPOKEN: Final = ("text", "thinking")


class InOrder:
    """`feed` bytes as they come, `flush` at their end. `model` is the name that the client asked for."""

    late: JsonObject | None = None

    def __init__(self, model: str, limits: SseLimits | None = None) -> None:
        self._model = model
        self._reader = SseReader(limits)
        self._starts: dict[int, JsonObject] = {}
        self._open: int | None = None  # as the server counts
        self._count = 0

    def begin(self, *, eager: bool) -> list[Event]:
        return []

    def feed(self, data: bytes) -> list[Event]:
        """The events that these bytes complete. Raises SseTooLarge, StreamIllegal."""
        return [each for sse in self._reader.feed(data) for each in self._placed(read_any(sse))]

    def flush(self) -> list[Event]:
        return [each for sse in self._reader.flush() for each in self._placed(read_any(sse))]

    def _placed(self, event: Event) -> Iterable[Event]:
        match event:
            case BlockStart():
                self._starts[event.index] = event.content_block
                return self._started(event.index)
            case BlockDelta():
                return self._grown(event)
            case BlockStop():
                return self._stopped() if event.index == self._open else ()
            case MessageStart():
                return (altered(event, message={**event.message, "model": self._model}),)
            case MessageDelta():
                return (*self._stopped(), event)
            case _:
                return (event,)

    def _started(self, index: int) -> Iterator[Event]:
        yield from self._stopped()
        self._open = index
        self._count += 1
        yield BlockStart(self._count - 1, self._starts[index])

    def _grown(self, event: BlockDelta) -> Iterator[Event]:
        if event.index != self._open:
            if event.kind == "signature_delta":
                return
            self._check(event)
            yield from self._started(event.index)
        yield altered(event, index=self._count - 1)

    def _check(self, event: BlockDelta) -> None:
        """Words may go on in another block. Half a call cannot, nor a block that never started."""
        kind = self._starts.get(event.index, {}).get("type")
        if kind not in _SPOKEN:
            raise StreamIllegal(f"{event.kind} for block {event.index}, which is not open", event=event.type)

    def _stopped(self) -> Iterator[Event]:
        if self._open is not None:
            self._open = None
            yield BlockStop(self._count - 1)
