"""One exchange on a connection to a backend: long reads in slices, events that pass at once, and waiting for the answer.

`ClientConnection` (`connection`) is built on these. Reading an answer costs much more than receiving it: a read may have
hundreds of kilobytes, and libuv makes many reads in one round of the event loop. So a long read is handled in slices, and
other connections have their turn between two slices (`SlicedRead`).

Nearly every event of a stream comes alone, as one chunk that is a read of its own. Then the parser has nothing to find out
(`wire.chunks`): the chunk goes on, framing and all, as it came or with another body. What decides about that stands in one
place, the `ChunkFlow`. Whatever may change its answers comes the usual way, so they are found out again after each read that
did.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol, TypeAlias

from clew.http.client.reader import ResponseReader
from clew.http.responder import ChunkWriter
from clew.http.timers import PhaseTimer
from clew.http.transport_writer import WriteBatch
from clew.model.http import ResponseHead
from clew.wire.sse_runs import PassChunk

SLICE_BYTES: Final = 64 * 1024
"""A few hundred events at most. What a model says in one moment is far less."""
_NO_ROOM: Final = -1


class ChunkRelay(Protocol):
    """The relay of a stream: says which chunks may go on to the client as they come."""

    @property
    def pass_chunk(self) -> PassChunk | None:
        """The look at a chunk that holds for what came until now; None if no chunk may go on unlooked at."""
        ...


class SlowReader(Protocol):
    """Stops the source while the client is behind."""

    @property
    def withholds(self) -> bool:
        """Does something wait that came before? Then whatever comes has to wait behind it."""
        ...

    def falls_behind(self) -> None: ...


def _pass_nothing(_data: bytes, _size: int) -> bytes:
    return b""


class ChunkFlow:
    """One stream. No closures: there may be thousands that hardly ever say something."""

    __slots__ = ("_passing", "_relay", "out", "passes", "room", "shown")

    def __init__(self, relay: ChunkRelay, out: ChunkWriter, passing: SlowReader) -> None:
        self._relay = relay
        self._passing = passing
        self.out = out
        self.passes: PassChunk = _pass_nothing
        self.room = _NO_ROOM
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
        if self.room != _NO_ROOM:
            reader.room, self.room = self.room, _NO_ROOM

    def ends(self) -> None:
        """From now on every read goes the usual way."""
        self.room = _NO_ROOM

    def push(self, chunk: bytes) -> None:
        """Write a chunk to a client that may be behind."""
        if not self.out.put(chunk):
            self._passing.falls_behind()


class SlicedRead:
    """`take` gets one slice in each round of the event loop, and `done` is called after the last."""

    __slots__ = ("_done", "_handle", "_held", "_loop", "_take", "_waiting")

    def __init__(
        self, loop: asyncio.AbstractEventLoop, take: Callable[[bytes], None], done: Callable[[], None], *, held: bool
    ) -> None:
        self._loop = loop
        self._take = take
        self._done = done
        self._held = held
        self._waiting: deque[bytes] = deque()
        self._handle: asyncio.Handle | None = None

    @property
    def are_waiting(self) -> bool:
        return bool(self._waiting)

    def add(self, data: bytes) -> None:
        self._waiting.extend(data[at : at + SLICE_BYTES] for at in range(0, len(data), SLICE_BYTES))
        self._schedule()

    def hold(self, held: bool) -> None:
        """Take in no more, until it is let go: the sink is full."""
        self._held = held
        self._schedule()

    def stop(self) -> None:
        """Nobody wants the rest."""
        self._waiting.clear()

    def _schedule(self) -> None:
        if self._handle is None and self._waiting and not self._held:
            self._handle = self._loop.call_soon(self._next)

    def _next(self) -> None:
        self._handle = None
        if self._held or not self._waiting:
            return
        self._take(self._waiting.popleft())
        if self._waiting:
            self._schedule()
        else:
            self._done()


Sink: TypeAlias = Callable[[bytes], None]
"""Takes what one read brought of a body, at once."""


class ExchangeListener(Protocol):
    """Called when something happened on the connection, in place of a task that awaits it."""

    def news(self) -> None:
        """There is a head, a piece of the body that nobody took, an end, or an error."""
        ...


class _AwaitedNews:
    """The listener for a task that awaits the news."""

    __slots__ = ("_news",)

    def __init__(self, news: asyncio.Future[None]) -> None:
        self._news = news

    def news(self) -> None:
        if not self._news.done():
            self._news.set_result(None)


class StreamedExchange(asyncio.Protocol):
    """The part of a connection that passes on the events of a stream, nearly every read at once; and the part that a task
    awaits: the head, the next piece of the body, the end."""

    __slots__ = ("_batch", "_flow", "_parts", "_reader", "_sink", "_slices", "_timer", "error", "listener")

    def __init__(self) -> None:
        self.error: Exception | None = None
        """What ended the exchange too early."""
        self._reader: ResponseReader | None = None
        self._timer: PhaseTimer | None = None
        self._parts: list[bytes] = []
        self.listener: ExchangeListener | None = None
        self._sink: Sink | None = None
        self._slices: SlicedRead | None = None
        """Of a long read, while they are taken in; meanwhile nothing more is read."""
        self._flow: ChunkFlow | None = None
        self._batch: WriteBatch

    def data_received(self, data: bytes) -> None:
        """Written in one piece, because every event of every stream goes through it.

        What is called out of a slot is taken out first: the interpreter learns how to find an attribute, or a method of a
        class, but not how to call what an attribute holds.
        """
        flow, size, new = self._flow, len(data), b""
        if flow is not None and size <= flow.room:
            passes = flow.passes
            try:
                new = passes(data, size)
            except Exception as error:
                self._sink_failed(error)
                return
        if flow is None or not new:
            if self._slices is None and (self._sink is None or size <= SLICE_BYTES):
                self._take_in(data)
            else:
                self._slice(data)
            return
        flow.room -= size
        batch, transport = self._batch, flow.out.eager
        if not batch.writes:
            batch.begin()
        flow.shown = batch.time
        if transport is None:
            flow.push(new)
        else:
            batch.writes.append((transport, new))

    def _flows(self, flow: ChunkFlow | None) -> None:
        """Something came the usual way, and the next event may go on at once, if it has not ended meanwhile."""
        if flow is not None and flow is self._flow and self._reader is not None and self.error is None:
            flow.goes_on(self._reader)

    async def head(self) -> ResponseHead:
        """The head of the response, as soon as it is whole."""
        reader = self._exchange()
        while reader.head is None:
            await self._news()
        return reader.head

    async def chunk(self) -> bytes:
        """What came of the body; b"" at its end."""
        reader = self._exchange()
        while not self._parts:
            if reader.done:
                return b""
            await self._news()
        return self.take()

    async def relay(self, sink: Sink, flow: ChunkFlow | None = None) -> None:
        """Hand the rest of the body to `sink`, read by read; returns at its end. What the sink raises ends it too."""
        reader = self._exchange()
        self.pour(sink, flow)
        while not reader.done or self.error is not None:
            await self._news()

    def _exchange(self) -> ResponseReader:
        assert self._reader is not None, "begin comes first"
        return self._reader

    async def _news(self) -> None:
        """Wait until something happened. Raises what ended the exchange."""
        if self.error is not None:
            raise self.error
        assert self.listener is None, "one waits at a time"
        assert self._timer is not None
        news: asyncio.Future[None] = self._timer.loop.create_future()
        self.listener = _AwaitedNews(news)
        try:
            await news
        finally:
            self.listener = None

    @property
    def is_due(self) -> bool:
        """Is an answer, or the rest of one, still to come?"""
        reader = self._reader
        return self.error is None and reader is not None and not reader.done

    @property
    def heard_at(self) -> float:
        """When something came last, on the loop's clock."""
        return max(self._timer.since, self.shown_at) if self._timer is not None else 0.0

    @property
    def shown_at(self) -> float:
        """When something came last that went on at once; 0 if that was never."""
        return self._flow.shown if self._flow is not None else 0.0

    # What the connection does.

    @abstractmethod
    def take(self) -> bytes:
        """What came of the body and was not taken yet."""

    @abstractmethod
    def pour(self, sink: Sink, flow: ChunkFlow | None = None) -> None:
        """From now on `sink` is called with each read, but for those that go on with the `flow`."""

    @abstractmethod
    def _take_in(self, data: bytes) -> None:
        """The usual way."""

    @abstractmethod
    def _slice(self, data: bytes) -> None:
        """The same, in slices."""

    @abstractmethod
    def _sink_failed(self, error: Exception) -> None: ...
