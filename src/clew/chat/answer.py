"""An answer while it comes: the question is stored, the backend is asked, and its events follow, the end last.

    answer = conversation.ask("…")          # nothing has happened yet
    async for event in answer: ...           # stored, asked, read
    message = await answer.message()         # or all of it at once

To stop reading, by `stop`, by leaving the `async with`, or by being cancelled, stops the backend. The finished blocks are
stored, and the turn is marked as cut.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Awaitable, Callable, Generator
from types import TracebackType
from typing import Any, Self, TypeAlias

from clew.chat.messages import Message
from clew.chat.service import AnswerEvent, AnswerReader, Ended, ThreadService
from clew.chat.turns import StoredTurn, Turn, message_of, turn_of
from clew.errors import BackendBroken


class Stoppable(ABC):
    """Something that runs until it is stopped: leaving the `async with` stops it."""

    @abstractmethod
    async def stop(self) -> None:
        """Stop. Everything that was finished is stored when this returns."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()


Begin: TypeAlias = Callable[[], Awaitable[AnswerReader]]
"""Stores the question, then asks."""


class AsyncAnswer(Stoppable):
    """One answer. Iterate it, or await its message; nothing happens before that."""

    def __init__(self, service: ThreadService, begin: Begin) -> None:
        self._service = service
        self._begin = begin
        self._reader: AnswerReader | None = None
        self._ready: deque[AnswerEvent] = deque()
        self._is_over = False
        self._holds = False
        """Does it keep the conversation from asking anything else?"""
        self._is_stored = False
        self._failure: BaseException | None = None

    @property
    def turn(self) -> Turn | None:
        """The turn as it is now; None before it is stored."""
        stored = self._stored
        return turn_of(stored, self._service.tree.attempts()[stored.id]) if stored else None

    @property
    def _stored(self) -> StoredTurn | None:
        return self._service.tree.get(self._reader.id) if self._reader else None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> AnswerEvent:
        """Raises BackendError if the answer fails: the turn is then marked, and can be tried again."""
        try:
            event = await self._next()
        except BaseException:
            if self._holds:  # cancelled or failed here: the conversation must be free for the next answer
                await self.stop()
            raise
        if event is None:
            raise StopAsyncIteration
        return event

    async def message(self) -> Message:
        """The whole answer; of a stopped answer, its finished blocks. Raises as iterating does."""
        async for _ in self:
            pass
        stored = self._stored
        return (message_of(stored) if stored else None) or Message(role="assistant", content="")

    def __await__(self) -> Generator[Any, None, Message]:
        return self.message().__await__()

    async def stop(self) -> None:
        """Stop the answer. Its finished blocks are stored when this returns."""
        self._is_over = True
        if self._reader is not None:
            self._reader.leave()
            await self._wait_stored(self._reader)

    async def _wait_stored(self, reader: AnswerReader) -> None:
        """Wait until the turn is stored with its outcome. Only once: the turn may be deleted afterwards."""
        try:
            if not self._is_stored:
                await reader.wait_stored()
                self._is_stored = True
        finally:
            self._release()

    def _release(self) -> None:
        """Give up the thread's lock, so that the next answer can begin."""
        if self._holds:
            self._holds = False
            self._service.end()

    async def _next(self) -> AnswerEvent | None:
        while not self._ready:
            if self._failure is not None:
                raise self._failure
            if self._is_over:
                return None
            reader = self._reader or await self._start()
            if events := await reader.next_events():
                self._ready.extend(events)
            elif not self._is_over:  # else it was stopped in the meantime
                # The last event was read: wait for the commit, and make the end event or the failure
                await self._wait_stored(reader)
                self._is_over = True
                stored = self._service.tree[reader.id]
                message = message_of(stored)
                if stored.outcome != "whole" or message is None:
                    self._failure = reader.failure or BackendBroken("the answer broke off")
                else:
                    self._ready.append(Ended(message, self.turn))
        return self._ready.popleft()

    async def _start(self) -> AnswerReader:
        self._service.begin(self.stop)
        self._holds = True
        try:
            self._reader = await self._begin()
        except BaseException as error:
            self._release()
            self._is_over, self._failure = True, None if isinstance(error, asyncio.CancelledError) else error
            raise
        if self._is_over:  # stopped in the meantime
            await self.stop()
        return self._reader
