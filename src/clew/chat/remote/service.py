"""The service of a thread on a gateway elsewhere: its turns are read and asked over the gateway's admin listener.

An answer comes as named events, of which the first and the last are a turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final
from urllib.parse import quote, urlencode

import msgspec
from msgspec import Raw

from clew.chat.messages import ToolCall
from clew.chat.remote import protocol
from clew.chat.remote.connection import GatewayConnection, check_reply
from clew.chat.request import Projected
from clew.chat.service import (
    AnswerEvent,
    AnswerLock,
    BegunCalls,
    Claim,
    OnTurn,
    Question,
    TextDelta,
    ThinkingDelta,
    new_thread,
)
from clew.chat.turns import Tree
from clew.engine.ids import new_id
from clew.errors import BackendBroken, BackendError, ClewError, RequestInvalid
from clew.store.values import Thread
from clew.upstream.pool import PooledCall
from clew.upstream.reply import BackendReply
from clew.wire.sse import SseEvent, SseReader

_LOOKING_SECONDS: Final = 1.0
"""How long to look for the outcome of a question that was cut off. The gateway stops it at once."""

_DECODERS: Final[dict[str, Callable[[bytes], AnswerEvent]]] = {
    protocol.THINKING: msgspec.json.Decoder(ThinkingDelta).decode,
    protocol.TEXT: msgspec.json.Decoder(TextDelta).decode,
    protocol.CALL: msgspec.json.Decoder(ToolCall).decode,
}


class RemoteThreadService(AnswerLock):
    """A thread of the principal whose key this is, over a gateway."""

    def __init__(self, connection: GatewayConnection, thread: Thread, backends: protocol.AvailableBackends) -> None:
        self.thread = thread
        self.tree = Tree()
        self._known = 0
        """How many turns of the thread are known here."""
        self._connection = connection
        self._available = backends

    @property
    def backends(self) -> Mapping[str, str]:
        return self._available.backends

    @property
    def active(self) -> str:
        return self._available.active

    async def beside(self, agent: str, id: str) -> RemoteThreadService:
        service = RemoteThreadService(
            self._connection, new_thread(id, session=self.thread.session, agent=agent), self._available
        )
        with suppress(RequestInvalid):  # the thread does not exist yet
            service.take(await self._connection.get("GET", service._path(), protocol.OpenedThread))
        return service

    # Reading.

    async def refresh(self) -> None:
        if not self._known:
            self._available = await self._connection.get("GET", "", protocol.AvailableBackends)
            return
        with suppress(RequestInvalid):  # a question that could not be stored is known only here
            await self._look()

    async def _look(self) -> None:
        """Ask for new turns only, unless a known turn may have changed."""
        known = "" if self.tree.is_open else f"?known={self._known}"
        self.take(await self._connection.get("GET", f"{self._path()}{known}", protocol.OpenedThread))

    def take(self, opened: protocol.OpenedThread) -> None:
        """Take over the thread as the gateway has it."""
        self.thread, self._available = opened.thread, opened.place
        self._known = opened.thread.turns
        if opened.turns is not None:
            self.tree = Tree(protocol.stored_turn_of(turn, opened.thread) for turn in opened.turns)

    def note(self, thread: Thread, turn: protocol.RemoteTurn) -> None:
        """Add a turn, or replace it."""
        self.thread = thread
        self._known += turn.id not in self.tree
        self.tree.put(protocol.stored_turn_of(turn, thread))

    async def as_sent(self, tip: str, backend: str, model: str) -> Projected:
        if not tip:
            return Projected(backend=backend, model=model, asked=[], messages=(), changes=())
        asked = urlencode({"turn": tip, "backend": backend, "model": model})
        return await self._connection.get("GET", f"{self._path()}/sent?{asked}", Projected)

    # Saying.

    async def ask(self, question: Question, on_turn: OnTurn) -> RemoteAnswerReader:
        asked = protocol.RemoteQuestion(
            asked=tuple(map(Raw, question.asked)),
            model=question.model,
            follows=question.follows,
            backend=question.backend,
            wishes=question.wishes,
            session=self.thread.session,
            agent=self.thread.agent,
        )
        known = frozenset(stored.id for stored in self.tree)
        reader = RemoteAnswerReader(self, self._connection.ask("POST", f"{self._path()}/turns", asked))
        try:
            await reader.begin()
        except (asyncio.CancelledError, BackendError):
            # Cut off before the first event: the gateway may have stored the question all the same.
            if not reader.was_refused:
                await self.wait_for_end(lambda: self._new_turn(question, known))
                if turn := self._new_turn(question, known):
                    on_turn(turn)
            raise
        on_turn(reader.id)
        return reader

    async def wait_for_end(self, find: Callable[[], str]) -> None:
        """Wait, but not for long, until `find` finds a turn and that turn is over."""
        with suppress(ClewError, TimeoutError):
            async with asyncio.timeout(_LOOKING_SECONDS):
                while (turn := find()) not in self.tree or self.tree[turn].outcome == "open":
                    with suppress(RequestInvalid):  # the thread does not exist yet
                        await self._look()
                    await asyncio.sleep(_LOOKING_SECONDS / 50)

    def _new_turn(self, question: Question, known: frozenset[str]) -> str:
        """The new turn with this question: another client may have asked something else after the same turn."""
        new = [stored for stored in self.tree if stored.id not in known and stored.follows == question.follows]
        return next((stored.id for stored in reversed(new) if stored.passage.asked == question.asked), "")

    async def stop(self, turn: str) -> None:
        """Stop an answer: the gateway stops the backend, and stores the finished blocks."""
        await self._connection.get("DELETE", f"{self._path()}/turns/{quote(turn, safe='')}", Raw)

    async def take_calls(self, claim: Claim) -> bool:
        wish = protocol.CallMark(claim.turn, run=claim.run, was=claim.was, followers=self.tree.followers(claim.turn))
        return (await self._connection.get("PUT", f"{self._path()}/begun", protocol.CallMark, wish)).run == claim.run

    async def leave_calls(self, claim: Claim) -> None:
        """Nothing to do: the gateway never counts a remote run as active."""

    async def end_calls(self, claim: Claim) -> None:
        await self._connection.get(
            "PUT",
            f"{self._path()}/begun",
            protocol.CallMark,
            protocol.CallMark("", run=claim.run, was=claim.was, followers=0),
        )

    async def calls_begun(self) -> BegunCalls:
        found = await self._connection.get("GET", f"{self._path()}/begun", protocol.CallMark)
        return BegunCalls(found.turn, found.run, found.lives)

    async def rename(self, title: str) -> bool:
        if not self._known:
            return False
        self.thread = await self._connection.get("PATCH", self._path(), Thread, {"title": title})
        return True

    def _path(self) -> str:
        return f"/{quote(self.thread.id, safe='')}"


async def open_remote(connection: GatewayConnection, thread: str) -> RemoteThreadService:
    """The service of a new thread, or of the thread whose id begins so. Raises RequestInvalid if there is none."""
    if not thread:
        return RemoteThreadService(
            connection, new_thread(new_id()), await connection.get("GET", "", protocol.AvailableBackends)
        )
    opened = await connection.get("GET", f"/{quote(thread, safe='')}", protocol.OpenedThread)
    service = RemoteThreadService(connection, opened.thread, opened.place)
    service.take(opened)
    return service


class RemoteAnswerReader:
    """Reads one answer. Call `begin` first: it returns when the question is stored."""

    def __init__(self, service: RemoteThreadService, asking: PooledCall) -> None:
        self.id = ""
        self.failure: BaseException | None = None
        self._service = service
        self._asking = asking
        self._reader = SseReader()
        self._reply: BackendReply | None = None
        self._early: list[AnswerEvent] = []
        self._has_ended = False
        """Has the gateway sent the outcome?"""
        self._over = False
        self._leaving: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()

    @property
    def was_refused(self) -> bool:
        """Did the gateway refuse the question? Then there is no turn."""
        return self._reply is not None and self._reply.status != 200

    async def begin(self) -> None:
        """Wait for the first event. Raises the gateway's refusal, and BackendError if there is no gateway."""
        reply = self._reply = await self._asking.__aenter__()
        try:
            await check_reply(reply)
            while not self.id:
                self._early += await self._next(reply)
        except BaseException:
            self._end()
            raise

    async def next_events(self) -> Sequence[AnswerEvent]:
        """Only one task reads at a time: another task may stop the answer than the one that iterates it."""
        async with self._lock:
            said, self._early = self._early, []
            while not said and not self._over and self._reply is not None:
                try:
                    said = await self._next(self._reply)
                except ClewError as error:  # the gateway is gone: it stops the answer and stores its finished blocks
                    self.failure = self.failure or error
                    self._end()
            return said

    async def wait_stored(self) -> None:
        """Wait for the outcome: the gateway ends an answer that was left, and sends it."""
        while not self._over:
            await self.next_events()
        if self._leaving is not None:
            with suppress(ClewError):
                await self._leaving
        await self._service.wait_for_end(lambda: self.id)

    def leave(self) -> None:
        if not self._over and self._leaving is None and self.id:
            self._leaving = asyncio.ensure_future(self._service.stop(self.id))

    async def _next(self, reply: BackendReply) -> list[AnswerEvent]:
        data = await reply.chunk()
        if not data:
            self._end()
            if not self._has_ended:
                raise BackendBroken("the gateway broke off")
        return [said for event in self._reader.feed(data) for said in self._read(event)]

    def _read(self, event: SseEvent) -> list[AnswerEvent]:
        name = event.name.decode("latin-1")
        if name in _DECODERS:
            return [_DECODERS[name](event.data)]
        if name == protocol.TURN:
            begun = msgspec.json.decode(event.data, type=protocol.TurnBegun)
            self.id = begun.turn.id
            self._service.note(begun.thread, begun.turn)
        elif name == protocol.END:
            ended = msgspec.json.decode(event.data, type=protocol.TurnEnded)
            self._service.note(self._service.thread, ended.turn)
            self.failure = protocol.error_of(ended.trouble) if ended.trouble else None
            self._has_ended = True
        return []

    def _end(self) -> None:
        if not self._over:
            self._over = True
            self._asking.end()
