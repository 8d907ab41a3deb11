"""An answer while it comes: what was said is saved, then asked, then told piece by piece, and its end last of all.

    answer = conversation.ask("…")          # nothing has happened yet
    async for event in answer: ...           # saved, asked, told
    message = await answer.message()         # or all of it at once

Whoever stops listening, by `stop`, by leaving the `async with`, or by being cancelled, stops the backend; the blocks that
were finished are kept, and the turn is marked as cut.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Generator
from typing import Any, Self, TypeAlias

from clew.chat.desk import Desk, Hearing
from clew.chat.events import Ended, Said
from clew.chat.messages import Message
from clew.chat.stoppable import Stoppable
from clew.chat.turns import Spot, Turn, message_of, turn_of
from clew.errors import BackendBroken

__all__ = ["AsyncAnswer", "Begin"]

Begin: TypeAlias = Callable[[], Awaitable[Hearing]]
"""Saves what was said, then asks."""


class AsyncAnswer(Stoppable):
    """One answer. Iterate it, or await its message; nothing happens before that."""

    def __init__(self, desk: Desk, begin: Begin) -> None:
        self._desk = desk
        self._begin = begin
        self._hearing: Hearing | None = None
        self._ready: deque[Said] = deque()
        self._is_over = False
        self._holds = False
        """Is the conversation kept from asking anything else?"""
        self._is_kept = False
        self._failure: BaseException | None = None

    @property
    def turn(self) -> Turn | None:
        """The turn as it is now; None before it is saved."""
        spot = self._spot
        return turn_of(spot, self._desk.tree.attempts()[spot.id]) if spot else None

    @property
    def _spot(self) -> Spot | None:
        return self._desk.tree.get(self._hearing.id) if self._hearing else None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Said:
        """Raises BackendError and its kin if the answer fails: the turn is then marked, and can be tried again."""
        try:
            event = await self._next()
        except BaseException:
            if self._holds:  # it broke off here, by cancelling or by a fault: the conversation goes on without it
                await self.stop()
            raise
        if event is None:
            raise StopAsyncIteration
        return event

    async def message(self) -> Message:
        """The whole answer; of one that was stopped, what was finished. Raises as iterating does."""
        async for _ in self:
            pass
        spot = self._spot
        return (message_of(spot) if spot else None) or Message(role="assistant", content="")

    def __await__(self) -> Generator[Any, None, Message]:
        return self.message().__await__()

    async def stop(self) -> None:
        """Listen no more. What was finished is kept when this returns."""
        self._is_over = True
        if self._hearing is not None:
            self._hearing.leave()
            await self._kept(self._hearing)

    async def _kept(self, hearing: Hearing) -> None:
        """Until the turn is in the store as what became of it. Once: it may be forgotten from then on."""
        try:
            if not self._is_kept:
                await hearing.kept()
                self._is_kept = True
        finally:
            self._release()

    def _release(self) -> None:
        """The next answer may begin."""
        if self._holds:
            self._holds = False
            self._desk.end()

    async def _next(self) -> Said | None:
        while not self._ready:
            if self._failure is not None:
                raise self._failure
            if self._is_over:
                return None
            hearing = self._hearing or await self._started()
            if said := await hearing.heard():
                self._ready.extend(said)
            elif not self._is_over:  # stopped in the meantime
                await self._end(hearing)
        return self._ready.popleft()

    async def _started(self) -> Hearing:
        self._desk.begin(self.stop)
        self._holds = True
        try:
            self._hearing = await self._begin()
        except BaseException as error:
            self._release()
            self._is_over, self._failure = True, None if isinstance(error, asyncio.CancelledError) else error
            raise
        if self._is_over:  # stopped in the meantime
            await self.stop()
        return self._hearing

    async def _end(self, hearing: Hearing) -> None:
        """All that can be heard was heard: what became of it is kept by now, or is from here on."""
        await self._kept(hearing)
        self._is_over = True
        spot = self._desk.tree[hearing.id]
        message = message_of(spot)
        if spot.outcome != "whole" or message is None:
            self._failure = hearing.failure or BackendBroken("the answer broke off")
        else:
            self._ready.append(Ended(message, self.turn))
