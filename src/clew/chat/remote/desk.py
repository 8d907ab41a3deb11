"""The desk on a gateway elsewhere: the same turns, read and asked over its admin listener."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final
from urllib.parse import quote, urlencode

from msgspec import Raw

from clew.chat.desk import Begun, Claim, Question, Taken
from clew.chat.floor import Floor
from clew.chat.projected import Projected
from clew.chat.remote.hearing import RemoteHearing
from clew.chat.remote.line import Line
from clew.chat.remote.told import Asked, Marked, Opened, Place, ToldTurn, spot_of
from clew.chat.tree import Tree
from clew.engine.ids import new_id
from clew.errors import BackendError, ClewError, RequestInvalid
from clew.store.values import Thread

__all__ = ["RemoteDesk", "opened_there"]

_NOBODY: Final = ""
_LOOKING_SECONDS: Final = 1.0
"""For what became of a question that was cut off. The gateway stops at once, and keeps what was finished."""


class RemoteDesk(Floor):
    """One thread of whoever the key belongs to."""

    def __init__(self, line: Line, thread: Thread, place: Place) -> None:
        self.thread = thread
        self.tree = Tree()
        self._known = 0
        """How many turns the thread has, as far as is known here."""
        self._line = line
        self._place = place

    @property
    def backends(self) -> Mapping[str, str]:
        return self._place.backends

    @property
    def active(self) -> str:
        return self._place.active

    async def beside(self, agent: str, id: str) -> RemoteDesk:
        desk = RemoteDesk(self._line, _new(id, session=self.thread.session, agent=agent), self._place)
        with suppress(RequestInvalid):  # there is none yet
            desk.take(await self._line.get("GET", desk._path(), Opened))
        return desk

    # Reading.

    async def refresh(self) -> None:
        if not self._known:
            self._place = await self._line.get("GET", "", Place)
            return
        with suppress(RequestInvalid):  # what could not be saved is known here alone
            await self._look()

    async def _look(self) -> None:
        """Only for whether there is more, unless what is here may have changed."""
        known = "" if self.tree.is_open else f"?known={self._known}"
        self.take(await self._line.get("GET", f"{self._path()}{known}", Opened))

    def take(self, opened: Opened) -> None:
        """The conversation as it is now."""
        self.thread, self._place = opened.thread, opened.place
        self._known = opened.thread.turns
        if opened.turns is not None:
            self.tree = Tree(spot_of(turn, opened.thread) for turn in opened.turns)

    def note(self, thread: Thread, turn: ToldTurn) -> None:
        """A turn that is new, or as it is now."""
        self.thread = thread
        self._known += turn.id not in self.tree
        self.tree.put(spot_of(turn, thread))

    async def as_sent(self, tip: str, backend: str, model: str) -> Projected:
        if not tip:
            return Projected(backend=backend, model=model, asked=[], messages=(), changes=())
        asked = urlencode({"turn": tip, "backend": backend, "model": model})
        return await self._line.get("GET", f"{self._path()}/sent?{asked}", Projected)

    # Saying.

    async def ask(self, question: Question, begun: Begun) -> RemoteHearing:
        asked = Asked(
            asked=tuple(map(Raw, question.asked)),
            model=question.model,
            follows=question.follows,
            backend=question.backend,
            wishes=question.wishes,
            session=self.thread.session,
            agent=self.thread.agent,
        )
        known = frozenset(spot.id for spot in self.tree)
        hearing = RemoteHearing(self, self._line.ask("POST", f"{self._path()}/turns", asked))
        try:
            await hearing.begin()
        except (asyncio.CancelledError, BackendError):
            if not hearing.was_refused and (turn := await self._look_for(question, known)):
                begun(turn)
            raise
        begun(hearing.id)
        return hearing

    async def _look_for(self, question: Question, known: frozenset[str]) -> str:
        """The turn of a question that was cut off before the gateway's first word: it may have become one all the same."""
        await self.settled(lambda: self._new_of(question, known))
        return self._new_of(question, known)

    async def settled(self, find: Callable[[], str]) -> None:
        """Wait until the turn that this finds is here, and over; but not for long."""
        with suppress(ClewError, TimeoutError):
            async with asyncio.timeout(_LOOKING_SECONDS):
                while (turn := find()) not in self.tree or self.tree[turn].outcome == "open":
                    with suppress(RequestInvalid):  # there is no such thread yet
                        await self._look()
                    await asyncio.sleep(_LOOKING_SECONDS / 50)

    def _new_of(self, question: Question, known: frozenset[str]) -> str:
        """Somebody else may have gone on from the same turn meanwhile, with another question."""
        new = [spot for spot in self.tree if spot.id not in known and spot.follows == question.follows]
        return next((spot.id for spot in reversed(new) if spot.passage.asked == question.asked), "")

    async def stop(self, turn: str) -> None:
        """The gateway lets go of the backend, and keeps what was finished."""
        await self._line.get("DELETE", f"{self._path()}/turns/{quote(turn, safe='')}", Raw)

    async def take_calls(self, claim: Claim) -> bool:
        wish = Marked(claim.turn, run=claim.run, was=claim.was, followers=self.tree.followers(claim.turn))
        return (await self._line.get("PUT", f"{self._path()}/begun", Marked, wish)).run == claim.run

    async def leave_calls(self, claim: Claim) -> None:
        """The gateway never took anybody there for at it."""

    async def end_calls(self, claim: Claim) -> None:
        await self._line.get("PUT", f"{self._path()}/begun", Marked, Marked("", run=claim.run, was=claim.was, followers=0))

    async def calls_begun(self) -> Taken:
        found = await self._line.get("GET", f"{self._path()}/begun", Marked)
        return Taken(found.turn, found.run, found.lives)

    async def rename(self, title: str) -> bool:
        if not self._known:
            return False
        self.thread = await self._line.get("PATCH", self._path(), Thread, {"title": title})
        return True

    def _path(self) -> str:
        return f"/{quote(self.thread.id, safe='')}"


async def opened_there(line: Line, thread: str) -> RemoteDesk:
    """A new thread, or the one whose id begins so. Raises RequestInvalid if there is no such thread."""
    if not thread:
        return RemoteDesk(line, _new(new_id()), await line.get("GET", "", Place))
    opened = await line.get("GET", f"/{quote(thread, safe='')}", Opened)
    desk = RemoteDesk(line, opened.thread, opened.place)
    desk.take(opened)
    return desk


def _new(id: str, *, session: str = "", agent: str = "") -> Thread:
    """Whose it is, the gateway knows."""
    now = time.time()
    return Thread(
        id=id, principal=_NOBODY, session=session or id, agent=agent, title="", pin="", created=now, used=now, turns=0
    )
