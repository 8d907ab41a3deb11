"""RemoteAnswer: an answer for a library that runs elsewhere. It is asked in a task of its own, and sent as events.

The client's connection is not the answer's: a web server ends the tasks of a request abruptly, and the finished blocks of
an answer must be recorded before anything else. A client that leaves stops the answer, as one in this process does.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager, suppress
from typing import Final

import msgspec

from clew.chat.answer import AsyncAnswer
from clew.chat.hearing import LocalAnswerReader
from clew.chat.local import LocalThreadService
from clew.chat.messages import ToolCall
from clew.chat.remote import protocol
from clew.chat.remote.protocol import RemoteTurn, remote_error_of, remote_turn_of
from clew.chat.service import AnswerEvent, Question, TextDelta, ThinkingDelta
from clew.errors import BackendOverloaded, StoreError
from clew.exchange.failures import DRAINING

PING_SECONDS: Final = 15.0
PING: Final = b": still here\n\n"
_MOST_WAITING: Final = 64
"""Events that may wait to be sent. Then the backend has to wait."""

_EVENT_NAMES: Final[dict[type[AnswerEvent], str]] = {
    ThinkingDelta: protocol.THINKING,
    TextDelta: protocol.TEXT,
    ToolCall: protocol.CALL,
}
"""The end has an event of its own."""


class RemoteAnswer:
    """An answer for a library that runs elsewhere, from its question to its end."""

    def __init__(self, service: LocalThreadService, question: Question) -> None:
        self.id = ""
        """Of the turn, as soon as there is one."""
        self.thread = service.thread.id
        self._service = service
        self._question = question
        self._waiting: asyncio.Queue[bytes | None] = asyncio.Queue(_MOST_WAITING)
        self._ready = asyncio.Event()
        self._failure: Exception | None = None
        self._answer = AsyncAnswer(service, self._begin)
        self._task = asyncio.create_task(self._run(), name="clew conversation")
        self._leaving: asyncio.Task[None] | None = None

    async def wait_until_begun(self) -> None:
        """Wait until the question is saved, or could not be. Raises the reason if there is no turn at all."""
        await self._ready.wait()
        if self._failure is not None and not self.id:
            raise self._failure

    async def stop(self) -> RemoteTurn:
        """End the answer. Returns the turn as it is recorded then."""
        await self._answer.stop()
        return remote_turn_of(self._service.tree[self.id])

    async def over(self) -> None:
        """Wait until the whole answer is sent, or the client has left."""
        await asyncio.wait((self._task,))

    async def events(self, closing: asyncio.Event) -> AsyncGenerator[bytes]:
        """The events, to the end. An admin that closes stops the answer."""

        async def stop_when_closing() -> None:
            await closing.wait()
            self._failure = self._failure or BackendOverloaded(DRAINING)
            await self.stop()

        stopping = asyncio.create_task(stop_when_closing())
        try:
            while True:
                try:
                    event = await asyncio.wait_for(self._waiting.get(), PING_SECONDS)
                except TimeoutError:
                    event = PING
                if event is None:
                    return
                yield event
        finally:
            stopping.cancel()

    def leave(self) -> None:
        """The client has left: the answer is stopped, and no event holds it up."""
        if self._task.done() or self._leaving is not None:
            return
        while not self._waiting.empty():
            self._waiting.get_nowait()

        async def stop() -> None:
            with suppress(StoreError):  # the store's health reports it
                await self._answer.stop()

        self._leaving = asyncio.create_task(stop())

    # In the answer's own task.

    async def _begin(self) -> LocalAnswerReader:
        def note_turn(id: str) -> None:
            self.id = id

        reader = await self._service.ask(self._question, note_turn)
        await self._announce()
        return reader

    async def _announce(self) -> None:
        """The first event, once: there is a turn."""
        if not self._ready.is_set():
            turn = remote_turn_of(self._service.tree[self.id])
            await self._send(protocol.TURN, protocol.TurnBegun(self._service.thread, turn))
            self._ready.set()

    async def _run(self) -> None:
        """Until the answer is recorded: if another caller stops it, that may be later than its end."""
        try:
            try:
                async for said in self._answer:
                    if name := _EVENT_NAMES.get(type(said)):
                        await self._send(name, said)
                await self._answer.stop()
            except Exception as error:  # sent to the client, which is no part of this task
                self._failure = error
            if self.id:
                await self._announce()
                trouble = remote_error_of(self._failure) if self._failure else None
                await self._send(protocol.END, protocol.TurnEnded(remote_turn_of(self._service.tree[self.id]), trouble))
        finally:
            self._ready.set()
            if self._leaving is None:
                await self._waiting.put(None)

    async def _send(self, name: str, value: object) -> None:
        """JSON has no raw line ends, so one line of data holds it."""
        if self._leaving is None:
            await self._waiting.put(b"event: %b\ndata: %b\n\n" % (name.encode(), msgspec.json.encode(value)))


class RemoteAnswers:
    """The answers that come now, each for its principal to stop."""

    def __init__(self) -> None:
        self._is_draining = False
        self._running: dict[tuple[str, str], RemoteAnswer] = {}

    def __len__(self) -> int:
        return len(self._running)

    def get(self, principal: str, id: str) -> RemoteAnswer | None:
        return self._running.get((principal, id))

    def check_open(self) -> None:
        """Raises BackendOverloaded once the gateway is ending: no new answer may begin then."""
        if self._is_draining:
            raise BackendOverloaded(DRAINING)

    async def drain(self, seconds: float) -> None:
        """Begin no new answers, and wait up to `seconds` for those that come. Closing the admin stops the rest."""
        self._is_draining = True
        if waiting := [asyncio.ensure_future(each.over()) for each in self._running.values()]:
            await asyncio.wait(waiting, timeout=seconds)

    async def stop_in(self, principal: str, thread: str) -> None:
        """End the answers in this thread: their finished blocks are recorded when this returns."""
        found = [each for (owner, _), each in self._running.items() if owner == principal and each.thread == thread]
        await asyncio.gather(*(each.stop() for each in found))

    @contextmanager
    def listening(self, principal: str, answer: RemoteAnswer) -> Generator[None]:
        """In this block the principal can stop the answer; at its end the client has left."""
        self._running[principal, answer.id] = answer
        try:
            yield
        finally:
            self._running.pop((principal, answer.id), None)
            answer.leave()
