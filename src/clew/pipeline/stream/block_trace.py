"""A stream reader that reports the life of its blocks while it reads, for debugging.

It stands around the reader and not inside it, so that a stream that nobody follows pays nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, TypeAlias

from clew.dialects.shape import StreamReader
from clew.model.events import BlockDelta, BlockStart, BlockStop, Event
from clew.model.json import JsonObject

BlockState: TypeAlias = Literal["started", "delta", "stopped"]

ReportBlock: TypeAlias = Callable[[BlockState, int, str, int], None]
"""Called with the state, the block's index and type, and how many deltas it had so far."""


class TracedReader:
    """Reads as the reader that it is made of."""

    def __init__(self, reader: StreamReader, report: ReportBlock) -> None:
        self._reader = reader
        self._report = report
        self._kind = ""
        self._deltas = 0

    @property
    def late(self) -> JsonObject | None:
        return self._reader.late

    def begin(self) -> Iterator[Event]:
        return self._traced(self._reader.begin())

    def feed(self, data: bytes) -> Iterator[Event]:
        return self._traced(self._reader.feed(data))

    def flush(self) -> Iterator[Event]:
        return self._traced(self._reader.flush())

    def _traced(self, events: Iterable[Event]) -> Iterator[Event]:
        for event in events:
            match event:
                case BlockStart():
                    self._kind, self._deltas = event.block_type, 0
                    self._report("started", event.index, self._kind, 0)
                case BlockDelta():
                    self._deltas += 1
                    self._report("delta", event.index, self._kind, self._deltas)
                case BlockStop():
                    self._report("stopped", event.index, self._kind, self._deltas)
                case _:
                    pass
            yield event
