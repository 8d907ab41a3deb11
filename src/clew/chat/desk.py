"""Desk: where the turns of one conversation are kept and asked.

What is said is in the store before anybody is asked: as an open turn, under the id that the engine's record of its end then
replaces. So whatever happens afterwards, to the backend, to the caller or to the process, what was said is there, and says
what came of it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec
from msgspec import Struct, structs

from clew.backends.row import Credential
from clew.chat.listener import Listener
from clew.chat.tree import Tree
from clew.chat.turns import Spot
from clew.engine.call import Call, Entry
from clew.engine.ids import new_id
from clew.engine.turns import unanswered
from clew.engine.works import Works
from clew.errors import RequestInvalid, SettingsInvalid
from clew.model.json import JsonObject
from clew.model.origin import Origin
from clew.model.recording import Recording
from clew.store import Store, outcome
from clew.store.values import Exchange, Passage, Thread, Turn

__all__ = ["COMMIT_SECONDS", "Desk", "Question"]

COMMIT_SECONDS = 10.0
"""How long the store may take: an app would rather wait than say that nothing was kept."""

_ALL: Final = 1_000_000
_TITLE: Final = 80
_HEADERS: Final = {"anthropic-version": "2023-06-01"}
_NOBODY = Origin("", "", "", "")


class Question(Struct, frozen=True, kw_only=True):
    """What is asked, after which turn ("" for a beginning)."""

    asked: tuple[bytes, ...]
    follows: str


class Desk:
    """One thread of one principal, on one engine."""

    def __init__(self, works: Works, thread: Thread, *, credential: Credential = ()) -> None:
        """Raises SettingsInvalid where nothing, or not what was said, is kept."""
        self.works = works
        self.store = _keeping(works)
        self.thread = thread
        self.tree = Tree()
        self._stop: Callable[[], Awaitable[None]] | None = None
        self._credential = credential

    def beside(self, agent: str) -> Desk:
        """The desk of a new thread for a sub-agent: in the same session, so that the tree shows who sent it."""
        own, now, id = self.thread, time.time(), new_id()
        thread = structs.replace(own, id=id, agent=agent, title="", created=now, used=now, turns=0)
        return Desk(self.works, thread, credential=self._credential)

    def load(self) -> None:
        """What is kept of the thread. Reads the store, so it belongs in a thread of its own."""
        named, thread = self.thread.principal, self.thread.id
        known = {each.id: each for each in self.store.exchanges(named, thread=thread, limit=_ALL)}
        passages = self.store.passages(named, thread)
        self.tree = Tree(Spot(passage, known.get(passage.exchange)) for passage in passages)

    def entry(self, question: Question) -> Entry:
        """A new turn."""
        own = self.thread
        return Entry(
            id=new_id(),
            thread=own.id,
            session=own.session,
            agent=own.agent,
            follows=question.follows,
            asked=question.asked,
            told=lambda exchange, recording: self._note(question, exchange, recording),
        )

    async def keep(self, entry: Entry, model: str) -> None:
        """What was said, and that it is not answered yet. Raises StoreError if it cannot be kept."""
        own, now = self.thread, time.time()
        exchange = Exchange(
            id=entry.id,
            principal=own.principal,
            thread=own.id,
            started=now,
            ended=now,
            asked_model=model,
            backend="",
            model="",
            session=own.session,
            agent=own.agent,
            outcome="open",
            status=0,
            streamed=True,
        )
        recording = unanswered(entry, own.principal, _NOBODY)
        self.thread = structs.replace(own, title=own.title or _title(entry.asked))
        turn = Turn(exchange=exchange, recording=recording, asked=entry.asked, title=self.thread.title)
        self._put(entry.asked, exchange, recording)
        if problem := await outcome(self.store.record(turn), COMMIT_SECONDS):
            raise problem

    def ask(self, entry: Entry, body: bytes) -> Listener:
        """Ask the engine. Raises ClewError if it cannot read that."""
        listener = Listener()
        own, credential = self.thread, self._credential
        call = Call(body=body, headers=_HEADERS, principal=own.principal, credential=credential, entry=entry)
        listener.ask(self.works.engine, call)
        return listener

    async def settle(self, id: str) -> None:
        """Until a turn that is not whole is in the store. One that the engine did not keep is marked as failed."""
        spot = self.tree.get(id)
        if spot is None or spot.exchange is None or spot.outcome == "whole":
            return
        if spot.outcome == "open":
            exchange = structs.replace(spot.exchange, outcome="failed", ended=time.time())
            asked, recording = spot.passage.asked, spot.passage.recording
            turn = Turn(exchange=exchange, recording=recording, asked=asked, title=self.thread.title)
            self._put(asked, exchange, recording)
            if not await asyncio.wrap_future(self.store.record(turn)):  # it was kept, and left before that was told
                await asyncio.to_thread(self.load)
        await asyncio.wrap_future(self.store.touch(self.thread.principal, at=time.time()))  # comes after what waits

    async def pin(self, backend: str) -> None:
        if backend != self.thread.pin:
            await outcome(self.store.pin(self.thread.principal, self.thread.id, backend), COMMIT_SECONDS)
            self.thread = structs.replace(self.thread, pin=backend)

    def begin(self, stop: Callable[[], Awaitable[None]]) -> None:
        """One answer at a time. `stop` ends it. Raises RequestInvalid while there is one."""
        if self._stop is not None:
            raise RequestInvalid("an answer is under way: wait for its end, or stop it")
        self._stop = stop

    def end(self) -> None:
        """The answer is over."""
        self._stop = None

    async def close(self) -> None:
        """An answer that is under way is stopped, and what was finished of it kept."""
        if self._stop is not None:
            await self._stop()

    def _note(self, question: Question, exchange: Exchange, recording: Recording | None) -> None:
        """How a turn ended, as the engine tells it."""
        self._put(question.asked, exchange, recording)

    def _put(self, asked: tuple[bytes, ...], exchange: Exchange, recording: Recording | None) -> None:
        passage = Passage(exchange=exchange.id, at=exchange.started, asked=asked, recording=recording)
        self.tree.put(Spot(passage, exchange))


def _keeping(works: Works) -> Store:
    kept = works.current.settings.store
    if works.store is None or not kept.content:
        off = 'url = "off"' if works.store is None else "content = false"
        raise SettingsInvalid(f"a conversation is kept in the store, and `[store] {off}` forbids that", key="store")
    return works.store


class _Message(Struct):
    content: str | list[JsonObject] = ""


def _title(asked: tuple[bytes, ...]) -> str:
    """The first words that were said."""
    content = msgspec.json.decode(asked[0], type=_Message).content if asked else ""
    texts = (
        [content] if isinstance(content, str) else [text for each in content if isinstance(text := each.get("text"), str)]
    )
    words = " ".join(texts[0].split()) if texts else ""
    return words if len(words) <= _TITLE else words[: _TITLE - 1] + "…"
