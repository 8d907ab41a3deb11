"""Chunks that are reads of their own, and go on as chunks, framing and all: as they came, or with another body.

Nearly every event of a stream comes so, one by one. Then the parser has nothing to find out (`wire.chunks`), and all that is
left is a look at the bytes and a note of what to write. What is asked for that stands in one place, the `Flow`; whatever
changes the answers comes the usual way, so they are found out anew after each read that did.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol, TypeAlias

from clew.http.client.reader import ResponseReader

_NOTHING = -1

PassChunk: TypeAlias = Callable[[bytes, int], bytes]
"""What goes on for a read of this length, where a chunk has to begin; b"" if it is anything else than one chunk that may go
on at once, and has to come the usual way."""


class ChunkRelay(Protocol):
    """The relay of a stream: says which chunks may go on to the client as they come."""

    @property
    def pass_chunk(self) -> PassChunk | None:
        """The look at a chunk that holds for what came until now; None if no chunk may go on unlooked at."""
        ...


class ChunkWriter(Protocol):
    """The client's side: takes chunks, framing and all."""

    eager: asyncio.Transport | None
    """What they are written to, as long as it takes them as they come."""

    def push_framed(self, data: bytes) -> bool:
        """Write it; False if the client is behind or gone."""
        ...


class SlowReader(Protocol):
    """Stops the source while the client is behind."""

    @property
    def withholds(self) -> bool:
        """Does something wait that came before? Then whatever comes has to wait behind it."""
        ...

    def falls_behind(self) -> None: ...


class ChunkFlow:
    """One stream. No closures: there may be thousands that hardly ever say something."""

    __slots__ = ("_passing", "_relay", "out", "passes", "room", "shown")

    def __init__(self, relay: ChunkRelay, out: ChunkWriter, passing: SlowReader) -> None:
        self._relay = relay
        self._passing = passing
        self.out = out
        self.passes: PassChunk = _none
        self.room = _NOTHING
        """How many bytes may go on at once."""
        self.shown = 0.0
        """When something last did, on the loop's clock; 0 if that was never."""

    def goes_on(self, reader: ResponseReader) -> None:
        """Called after a read that came the usual way: from here on chunks may pass, if nothing speaks against it."""
        may_pass = reader.is_level and not reader.done and not self._passing.withholds
        passes = self._relay.pass_chunk if may_pass else None
        if passes is not None:
            self.passes, self.room = passes, reader.room

    def stops(self, reader: ResponseReader) -> None:
        """Called before a read goes the usual way: the reader has to know how much passed it by."""
        if self.room != _NOTHING:
            reader.room, self.room = self.room, _NOTHING

    def ends(self) -> None:
        """From now on every read goes the usual way."""
        self.room = _NOTHING

    def push(self, chunk: bytes) -> None:
        """Write a chunk to a client that may be behind."""
        if not self.out.push_framed(chunk):
            self._passing.falls_behind()


def _none(_data: bytes, _size: int) -> bytes:
    return b""
