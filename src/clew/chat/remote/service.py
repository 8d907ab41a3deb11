"""The service of a thread on a gateway elsewhere: its turns are read and asked over the gateway's admin listener."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final
from urllib.parse import quote, urlencode

from msgspec import Raw

from clew.chat.projected import Projected
from clew.chat.remote.answer import RemoteAnswerReader
from clew.chat.remote.connection import GatewayConnection
from clew.chat.remote.protocol import (
    AvailableBackends,
    CallMark,
    OpenedThread,
    RemoteQuestion,
    RemoteTurn,
    stored_turn_of,
)
from clew.chat.service import AnswerLock, BegunCalls, Claim, OnTurn, Question
from clew.chat.turns import Tree
from clew.engine.ids import new_id
from clew.errors import BackendError, ClewError, RequestInvalid
from clew.store.values import Thread

__all__ = ["RemoteThreadService", "open_remote"]

_LOOKING_SECONDS: Final = 1.0
"""How long to look for the outcome of a question that was cut off. The gateway stops it at once."""


class RemoteThreadService(AnswerLock):
    """One thread of the principal with this key."""

    def __init__(self, connection: GatewayConnection, thread: Thread, backends: AvailableBackends) -> None:
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
            self._connection, _new_thread(id, session=self.thread.session, agent=agent), self._available
        )
        with suppress(RequestInvalid):  # the thread does not exist yet
            service.take(await self._connection.get("GET", service._path(), OpenedThread))
        return service

    # Reading.

    async def refresh(self) -> None:
        if not self._known:
            self._available = await self._connection.get("GET", "", AvailableBackends)
            return
        with suppress(RequestInvalid):  # a question that could not be stored is known only here
            await self._look()

    async def _look(self) -> None:
        """Ask for new turns only, unless a known turn may have changed."""
        known = "" if self.tree.is_open else f"?known={self._known}"
        self.take(await self._connection.get("GET", f"{self._path()}{known}", OpenedThread))

    def take(self, opened: OpenedThread) -> None:
        """Take over the thread as the gateway has it."""
        self.thread, self._available = opened.thread, opened.place
        self._known = opened.thread.turns
        if opened.turns is not None:
            self.tree = Tree(stored_turn_of(turn, opened.thread) for turn in opened.turns)

    def note(self, thread: Thread, turn: RemoteTurn) -> None:
        """Add a turn, or replace it."""
        self.thread = thread
        self._known += turn.id not in self.tree
        self.tree.put(stored_turn_of(turn, thread))

    async def as_sent(self, tip: str, backend: str, model: str) -> Projected:
        if not tip:
            return Projected(backend=backend, model=model, asked=[], messages=(), changes=())
        asked = urlencode({"turn": tip, "backend": backend, "model": model})
        return await self._connection.get("GET", f"{self._path()}/sent?{asked}", Projected)

    # Saying.

    async def ask(self, question: Question, on_turn: OnTurn) -> RemoteAnswerReader:
        asked = RemoteQuestion(
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
                await self.settled(lambda: self._new_turn(question, known))
                if turn := self._new_turn(question, known):
                    on_turn(turn)
            raise
        on_turn(reader.id)
        return reader

    async def settled(self, find: Callable[[], str]) -> None:
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
        wish = CallMark(claim.turn, run=claim.run, was=claim.was, followers=self.tree.followers(claim.turn))
        return (await self._connection.get("PUT", f"{self._path()}/begun", CallMark, wish)).run == claim.run

    async def leave_calls(self, claim: Claim) -> None:
        """Nothing to do: the gateway never counts a remote run as active."""

    async def end_calls(self, claim: Claim) -> None:
        await self._connection.get(
            "PUT", f"{self._path()}/begun", CallMark, CallMark("", run=claim.run, was=claim.was, followers=0)
        )

    async def calls_begun(self) -> BegunCalls:
        found = await self._connection.get("GET", f"{self._path()}/begun", CallMark)
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
        return RemoteThreadService(connection, _new_thread(new_id()), await connection.get("GET", "", AvailableBackends))
    opened = await connection.get("GET", f"/{quote(thread, safe='')}", OpenedThread)
    service = RemoteThreadService(connection, opened.thread, opened.place)
    service.take(opened)
    return service


def _new_thread(id: str, *, session: str = "", agent: str = "") -> Thread:
    """A thread without a principal: the gateway knows it."""
    now = time.time()
    return Thread(id=id, principal="", session=session or id, agent=agent, title="", pin="", created=now, used=now, turns=0)
