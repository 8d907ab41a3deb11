"""An answer that somebody elsewhere listens to: asked in a task of its own, told as events.

The listener's connection is not the answer's: a web server ends what runs in a request in its own rough way, and what was
finished of an answer must be kept before anything else. A listener that leaves stops the answer, as one in this process
does.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager, suppress
from typing import Final

import msgspec

from clew.chat.answer import AsyncAnswer
from clew.chat.events import AnswerEvent, TextDelta, ThinkingDelta
from clew.chat.hearing import LocalAnswerReader
from clew.chat.local import LocalThreadService
from clew.chat.messages import ToolCall
from clew.chat.remote import protocol
from clew.chat.remote.protocol import RemoteTurn, remote_error_of, remote_turn_of
from clew.chat.service import Question
from clew.engine.failures import DRAINING
from clew.errors import BackendOverloaded, StoreError

__all__ = ["Telling", "Tellings"]

PING_SECONDS: Final = 15.0
PING: Final = b": still here\n\n"
_MOST_WAITING: Final = 64
"""Events that may wait to be told before the backend has to."""

_NAMES: Final[dict[type[AnswerEvent], str]] = {
    ThinkingDelta: protocol.THINKING,
    TextDelta: protocol.TEXT,
    ToolCall: protocol.CALL,
}
"""The end is told in its own way."""


class Telling:
    """One answer, from its question to its end."""

    def __init__(self, desk: LocalThreadService, question: Question) -> None:
        self.id = ""
        """Of the turn, as soon as there is one."""
        self._desk = desk
        self._question = question
        self._waiting: asyncio.Queue[bytes | None] = asyncio.Queue(_MOST_WAITING)
        self._ready = asyncio.Event()
        self._failure: Exception | None = None
        self._answer = AsyncAnswer(desk, self._begin)
        self._task = asyncio.create_task(self._run(), name="clew conversation")
        self._leaving: asyncio.Task[None] | None = None

    async def begun(self) -> str:
        """The turn's id, once what was said is kept, or could not be. Raises what prevented that there is a turn at all."""
        await self._ready.wait()
        if self._failure is not None and not self.id:
            raise self._failure
        return self.id

    async def stop(self) -> RemoteTurn:
        """End it: the turn as it is kept then."""
        await self._answer.stop()
        return remote_turn_of(self._desk.tree[self.id])

    async def over(self) -> None:
        """Until all of it is told, or nobody listens any more."""
        await asyncio.wait((self._task,))

    @property
    def thread(self) -> str:
        return self._desk.thread.id

    async def events(self, closing: asyncio.Event) -> AsyncGenerator[bytes]:
        """What is told, to the end. An admin that closes stops the answer."""
        ending = asyncio.create_task(self._end_with(closing))
        try:
            while (data := await self._next()) is not None:
                yield data
        finally:
            ending.cancel()

    def leave(self) -> None:
        """Nobody listens any more: the answer is stopped, and nothing that is told holds it up."""
        if self._task.done() or self._leaving is not None:
            return
        while not self._waiting.empty():
            self._waiting.get_nowait()
        self._leaving = asyncio.create_task(self._abandon())

    async def _end_with(self, closing: asyncio.Event) -> None:
        await closing.wait()
        self._failure = self._failure or BackendOverloaded(DRAINING)
        await self.stop()

    async def _abandon(self) -> None:
        with suppress(StoreError):  # it is in the store's health
            await self._answer.stop()

    async def _next(self) -> bytes | None:
        try:
            return await asyncio.wait_for(self._waiting.get(), PING_SECONDS)
        except TimeoutError:
            return PING

    # In the answer's own task.

    async def _begin(self) -> LocalAnswerReader:
        hearing = await self._desk.ask(self._question, self._noted)
        await self._announce()
        return hearing

    def _noted(self, id: str) -> None:
        self.id = id

    async def _announce(self) -> None:
        """The first event, once: there is a turn."""
        if not self._ready.is_set():
            await self._tell(protocol.TURN, protocol.TurnBegun(self._desk.thread, self._turn()))
            self._ready.set()

    async def _run(self) -> None:
        try:
            await self._listen()
            if self.id:
                await self._announce()
                await self._tell(
                    protocol.END, protocol.TurnEnded(self._turn(), remote_error_of(self._failure) if self._failure else None)
                )
        finally:
            self._ready.set()
            if self._leaving is None:
                await self._waiting.put(None)

    async def _listen(self) -> None:
        """To the end, and until it is kept: where somebody else stops it, that may be later."""
        try:
            async for said in self._answer:
                if name := _NAMES.get(type(said)):
                    await self._tell(name, said)
            await self._answer.stop()
        except Exception as error:  # told to whoever listens, who is no part of this task
            self._failure = error

    async def _tell(self, name: str, value: object) -> None:
        """JSON has no raw line ends, so one line of data holds it."""
        if self._leaving is None:
            await self._waiting.put(b"event: %b\ndata: %b\n\n" % (name.encode(), msgspec.json.encode(value)))

    def _turn(self) -> RemoteTurn:
        return remote_turn_of(self._desk.tree[self.id])


class Tellings:
    """The answers that come now, each for its principal to stop."""

    def __init__(self) -> None:
        self._is_draining = False
        self._running: dict[tuple[str, str], Telling] = {}

    def __len__(self) -> int:
        return len(self._running)

    def get(self, principal: str, id: str) -> Telling | None:
        return self._running.get((principal, id))

    def check_open(self) -> None:
        """Raises BackendOverloaded once no new ones may begin."""
        if self._is_draining:
            raise BackendOverloaded(DRAINING)

    async def drain(self, seconds: float) -> None:
        """Begin no new ones, and let those that come go on for so long. An admin that closes then stops them."""
        self._is_draining = True
        if waiting := [asyncio.ensure_future(each.over()) for each in self._running.values()]:
            await asyncio.wait(waiting, timeout=seconds)

    async def stop_in(self, principal: str, thread: str) -> None:
        """End those in this thread: what was finished is kept when this returns."""
        telling = [each for (owner, _), each in self._running.items() if owner == principal and each.thread == thread]
        await asyncio.gather(*(each.stop() for each in telling))

    @contextmanager
    def listening(self, principal: str, telling: Telling) -> Generator[None]:
        """While somebody does, it can be stopped; then it is."""
        self._running[principal, telling.id] = telling
        try:
            yield
        finally:
            self._running.pop((principal, telling.id), None)
            telling.leave()
