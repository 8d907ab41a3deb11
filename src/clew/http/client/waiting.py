"""One connection's answer, for whoever has a task and can wait for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol, TypeAlias

from clew.http.chunks import Flow
from clew.http.client.message import ResponseHead
from clew.http.client.reader import ResponseReader
from clew.http.client.watch import Watch

__all__ = ["Awaited", "Listener", "Sink"]

Sink: TypeAlias = Callable[[bytes], None]
"""Takes what one read brought of a body, at once."""


class Listener(Protocol):
    """Is called when something happened on the connection, in place of a task that would wait for it."""

    def news(self) -> None:
        """There is a head, a piece of the body that nobody took, an end, or an error."""
        ...


class Awaited(asyncio.Protocol):
    """The awaiting half of a connection; the other one wakes it."""

    __slots__ = ("_error", "_parts", "_reader", "_waiter", "_watch")

    def __init__(self) -> None:
        self._reader: ResponseReader | None = None
        self._watch: Watch | None = None
        self._error: Exception | None = None
        self._parts: list[bytes] = []
        self._waiter: asyncio.Future[None] | None = None

    def take(self) -> bytes:
        """What came of the body and was not taken yet."""
        raise NotImplementedError

    def pour(self, sink: Sink, flow: Flow | None = None) -> None:
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

    async def relay(self, sink: Sink, flow: Flow | None = None) -> None:
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
        assert self._watch is not None
        self._waiter = self._watch.loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None
