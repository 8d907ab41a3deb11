"""One exchange on a connection to a backend: long reads in slices, events that pass at once, and waiting for the
answer.

`ClientConnection` (`connection`) is built on these. Reading an answer costs much more than receiving it: a read may
have hundreds of kilobytes, and libuv makes many reads in one round of the event loop. So a long read is handled in
slices, and other connections have their turn between two slices.
"""

from __future__ import annotations

import asyncio
import select
from abc import abstractmethod
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol, TypeAlias

from clew.http.chunks import ChunkFlow
from clew.http.client.reader import ResponseReader
from clew.http.timers import PhaseTimer
from clew.http.transport_writer import WriteBatch
from clew.model.http import ResponseHead

SLICE_BYTES: Final = 16 * 1024
"""A few hundred events at most. What a model says in one moment is far less."""


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


class AwaitedExchange(asyncio.Protocol):
    """The part of a connection that a task awaits: the head, the next piece of the body, the end."""

    __slots__ = ("_error", "_parts", "_reader", "_timer", "_waiter")

    def __init__(self) -> None:
        self._reader: ResponseReader | None = None
        self._timer: PhaseTimer | None = None
        self._error: Exception | None = None
        self._parts: list[bytes] = []
        self._waiter: asyncio.Future[None] | None = None

    def take(self) -> bytes:
        """What came of the body and was not taken yet."""
        raise NotImplementedError

    def pour(self, sink: Sink, flow: ChunkFlow | None = None) -> None:
        """From now on `sink` is called with each read, but for those that go on with the `flow`."""
        raise NotImplementedError

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
        while not reader.done or self._error is not None:
            await self._news()

    def _exchange(self) -> ResponseReader:
        assert self._reader is not None, "begin comes first"
        return self._reader

    async def _news(self) -> None:
        """Wait until something happened. Raises what ended the exchange."""
        if self._error is not None:
            raise self._error
        assert self._waiter is None, "one waits at a time"
        assert self._timer is not None
        self._waiter = self._timer.loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None


class StreamedExchange(AwaitedExchange):
    """The part of a connection that passes the events of a stream on, nearly every read at once (`chunks`)."""

    __slots__ = ("_batch", "_flow")

    def __init__(self) -> None:
        super().__init__()
        self._flow: ChunkFlow | None = None
        self._batch: WriteBatch

    @property
    def is_due(self) -> bool:
        """Is an answer, or the rest of one, still to come?"""
        reader = self._reader
        return self._error is None and reader is not None and not reader.done

    @property
    def heard_at(self) -> float:
        """When something came last, on the loop's clock."""
        return max(self._timer.since, self.shown_at) if self._timer is not None else 0.0

    @property
    def shown_at(self) -> float:
        """When something came last that went on at once; 0 if that was never."""
        return self._flow.shown if self._flow is not None else 0.0

    def data_received(self, data: bytes) -> None:
        """Written in one piece, because every event of every stream goes through it.

        What is called out of a slot is taken out first: the interpreter learns how to find an attribute, or a method of a
        class, but not how to call what an attribute holds.
        """
        flow = self._flow
        if flow is None:
            self._came(data)
            return
        size, passes = len(data), flow.passes
        try:
            new = passes(data, size) if size <= flow.room else b""
        except Exception as error:
            self._sink_failed(error)
            return
        if not new:
            self._came(data)
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
        if flow is not None and flow is self._flow and self._reader is not None and self._error is None:
            flow.goes_on(self._reader)

    @abstractmethod
    def _came(self, data: bytes) -> None:
        """The usual way."""

    @abstractmethod
    def _sink_failed(self, error: Exception) -> None: ...


def is_readable(transport: asyncio.Transport) -> bool:
    """Bytes, or the other side's end. Also true of one that is closed."""
    descriptor = transport.get_extra_info("socket").fileno()
    if descriptor < 0:
        return True
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))
