"""An answer while it comes: what was said is saved, then asked, then told piece by piece, and its end last of all.

    answer = conversation.ask("…")          # nothing has happened yet
    async for event in answer: ...           # saved, asked, told
    message = await answer.message()         # or all of it at once

Whoever stops listening, by `stop`, by leaving the `async with`, or by being cancelled, stops the backend; the blocks that
were finished are kept, and the turn is marked as cut.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Generator, Iterator
from types import TracebackType
from typing import Any, Self

from clew.chat.desk import Desk
from clew.chat.events import Ended, Said, TextDelta, ThinkingDelta
from clew.chat.failures import broken_off, refused
from clew.chat.listener import Listener
from clew.chat.messages import Message
from clew.chat.responses import format_response
from clew.chat.turns import Turn, message_of, turn_of
from clew.errors import BackendBroken, BackendError
from clew.model.assemble import Assembler
from clew.model.events import BlockDelta, Event, StreamFailed
from clew.pipeline.retry_hints import retry_after_of
from clew.wire.events import decode_event
from clew.wire.sse import SseReader

__all__ = ["AsyncAnswer", "Begin"]

Begin = Callable[[], Awaitable[tuple[str, Listener]]]
"""Saves what was said, then asks: the turn's id, and who listens."""


class AsyncAnswer:
    """One answer. Iterate it, or await its message; nothing happens before that."""

    def __init__(self, desk: Desk, begin: Begin) -> None:
        self._desk = desk
        self._begin = begin
        self._id = ""
        self._listener: Listener | None = None
        self._reader = SseReader()
        self._assembler = Assembler()
        self._ready: deque[Said] = deque()
        self._refusal = b""
        self._is_over = False
        self._holds = False
        """Is the conversation kept from asking anything else?"""
        self._broken: BackendError | None = None
        self._failure: BaseException | None = None

    @property
    def turn(self) -> Turn | None:
        """The turn as it is now; None before it is saved."""
        spot = self._desk.tree.get(self._id)
        return turn_of(spot, self._desk.tree.attempts()[spot.id]) if spot else None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Said:
        """Raises BackendError and its kin if the answer fails: the turn is then marked, and can be tried again."""
        try:
            event = await self._next()
        except asyncio.CancelledError:
            await self.stop()
            raise
        if event is None:
            raise StopAsyncIteration
        return event

    async def message(self) -> Message:
        """The whole answer; of one that was stopped, what was finished. Raises as iterating does."""
        async for _ in self:
            pass
        spot = self._desk.tree.get(self._id)
        return (message_of(spot) if spot else None) or Message(role="assistant", content="")

    def __await__(self) -> Generator[Any, None, Message]:
        return self.message().__await__()

    async def stop(self) -> None:
        """Listen no more. What was finished is kept when this returns."""
        self._is_over = True
        if self._listener is not None:
            self._listener.leave()
            await self._kept(self._listener)

    async def _kept(self, listener: Listener) -> None:
        """Until the turn is in the store as what became of it."""
        await listener.over()
        try:
            await self._desk.settle(self._id)
        finally:
            self._release()

    def _release(self) -> None:
        """The next answer may begin."""
        if self._holds:
            self._holds = False
            self._desk.end()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def _next(self) -> Said | None:
        while not self._ready:
            if self._failure is not None:
                raise self._failure
            if self._is_over:
                return None
            listener = self._listener or await self._started()
            if data := await listener.chunk():
                self._read(listener, data)
            else:
                await self._end(listener)
        return self._ready.popleft()

    async def _started(self) -> Listener:
        self._desk.begin(self.stop)
        self._holds = True
        try:
            self._id, self._listener = await self._begin()
        except BaseException as error:
            self._release()
            self._is_over, self._failure = True, None if isinstance(error, asyncio.CancelledError) else error
            raise
        if self._is_over:  # stopped in the meantime
            await self.stop()
        return self._listener

    def _read(self, listener: Listener, data: bytes) -> None:
        if listener.status != 200:
            self._refusal += data
            return
        for sse in self._reader.feed(data):
            self._hear(decode_event(sse))

    def _hear(self, event: Event) -> None:
        if isinstance(event, StreamFailed):
            self._broken = broken_off(event.error)
            return
        whole = self._assembler.feed(event)
        if isinstance(event, BlockDelta):
            self._ready.extend(_deltas(event))
        elif whole is not None and whole.block.get("type") == "tool_use":
            self._ready.extend(format_response({"content": [whole.block]}).tool_calls)

    async def _end(self, listener: Listener) -> None:
        """All that can be heard was heard: what became of it is kept by now, or is from here on."""
        await self._kept(listener)
        self._is_over = True
        spot = self._desk.tree[self._id]
        message = message_of(spot)
        self._failure = self._why(listener) if spot.outcome != "whole" or message is None else None
        if message is not None and self._failure is None:
            self._ready.append(Ended(message, self.turn))

    def _why(self, listener: Listener) -> BaseException:
        if listener.failure is not None:
            return listener.failure
        if listener.started and listener.status != 200:
            return refused(listener.status, self._refusal, _retry_after(listener))
        return self._broken or BackendBroken("the answer broke off")


def _retry_after(listener: Listener) -> float | None:
    headers = ((name.lower().encode(), value.encode()) for name, value in listener.headers)
    return retry_after_of(headers, wall=time.time())


def _deltas(event: BlockDelta) -> Iterator[Said]:
    delta = event.delta
    if event.kind == "text_delta" and delta["text"]:
        yield TextDelta(str(delta["text"]))
    elif event.kind == "thinking_delta" and delta["thinking"]:
        yield ThinkingDelta(str(delta["thinking"]))
