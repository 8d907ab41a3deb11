"""The desk in this process: on an engine and a store of its own, or on those of a gateway that it is part of.

What is said is kept as an open turn, under the id that the engine's record of its end then replaces.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Final, TypeVar

import msgspec
from msgspec import Struct, structs

from clew.backends.row import Credential
from clew.chat.desk import Begun, Claim, Question, Taken
from clew.chat.floor import Floor
from clew.chat.hearing import LocalHearing
from clew.chat.projected import Projected, projection_of
from clew.chat.request import history_of, request_of
from clew.chat.tree import Tree
from clew.chat.turns import Spot
from clew.engine.call import Call, Entry
from clew.engine.ids import new_id
from clew.engine.turns import unanswered
from clew.engine.works import Works
from clew.errors import SettingsInvalid
from clew.model.events import Event
from clew.model.json import JsonObject
from clew.model.origin import Origin
from clew.model.recording import Recording
from clew.store import Store
from clew.store.commits import wait_for_commit
from clew.store.values import Exchange, Passage, RunClaim, Thread, TurnRecord
from clew.thinking.recognise import Context

__all__ = ["COMMIT_SECONDS", "LocalDesk", "keeping"]

T = TypeVar("T")

COMMIT_SECONDS = 10.0
"""How long the store may take: an app would rather wait than say that nothing was kept."""

_ALL: Final = 1_000_000
_TITLE: Final = 80
_HEADERS: Final = {"anthropic-version": "2023-06-01"}
_NOBODY = Origin("", "", "", "")


class LocalDesk(Floor):
    """One thread of one principal, on one engine."""

    overheard: Callable[[str, Event], None] | None = None
    """Told of each event of an answer as it comes, and of which turn, for those who show more of it than what is said."""
    answers: Callable[[str, str, str], None] | None = None
    """Told once for each answer, before its first event: the turn, and the backend and the model that answer."""

    def __init__(self, works: Works, thread: Thread, *, credential: Credential = ()) -> None:
        """Raises SettingsInvalid where nothing, or not what was said, is kept."""
        self.works = works
        self.store = keeping(works)
        self.thread = thread
        self.tree = Tree()
        self._unplaced = 0
        """Turns that are in no line, because nobody noted what they followed."""
        self._credential = credential

    @property
    def backends(self) -> Mapping[str, str]:
        settings = self.works.current.settings
        return {**dict.fromkeys(settings.disabled, ""), **{name: row.model for name, row in settings.backends.items()}}

    @property
    def active(self) -> str:
        return self.works.current.snapshot.active

    async def beside(self, agent: str, id: str) -> LocalDesk:
        return await asyncio.to_thread(self._beside, agent, id)

    def _beside(self, agent: str, id: str) -> LocalDesk:
        own, now = self.thread, time.time()
        new = structs.replace(own, id=id, agent=agent, title="", created=now, used=now, turns=0)
        desk = LocalDesk(self.works, self.store.thread(own.principal, id) or new, credential=self._credential)
        desk.load()
        return desk

    # Reading.

    def load(self) -> None:
        """What is kept of the thread. Reads the store, so it belongs in a thread of its own."""
        named, thread = self.thread.principal, self.thread.id
        known = {each.id: each for each in self.store.exchanges(named, thread=thread, limit=_ALL)}
        passages = self.store.passages(named, thread)
        self.tree = Tree(Spot(passage, known.get(passage.exchange)) for passage in passages)
        self._unplaced = len(passages) - len(self.tree)

    async def refresh(self) -> None:
        """What other processes said in this thread, and what became of their questions."""
        await asyncio.to_thread(self._look)

    def _look(self) -> None:
        found = self.store.thread(self.thread.principal, self.thread.id)
        if found is None:
            return
        self.thread = found
        if found.turns != len(self.tree) + self._unplaced or self.tree.is_open:
            self.load()

    async def as_sent(self, tip: str, backend: str, model: str) -> Projected:
        return await asyncio.to_thread(self._projected, tip, backend, model)

    def _projected(self, tip: str, backend: str, model: str) -> Projected:
        snapshot, own = self.works.current.snapshot, self.thread
        line = [msgspec.json.decode(raw, type=JsonObject) for raw in history_of(self.tree.line(tip), snapshot.sealer)]
        context = Context(principal=own.principal, session=own.session, agent=own.agent)
        return projection_of(line, backend, model, snapshot, self.store, context)

    # Saying.

    async def rename(self, title: str) -> bool:
        renamed = self.store.rename(self.thread.principal, self.thread.id, title)
        if problem := await wait_for_commit(renamed, COMMIT_SECONDS):
            raise problem
        if renamed.result():
            self.thread = structs.replace(self.thread, title=title)
        return renamed.result()

    async def take_calls(self, claim: Claim) -> bool:
        wish = self._beginning(claim, self.tree.followers(claim.turn))
        return await _kept(self.store.claim_calls(wish, at=time.time(), here=True))

    async def leave_calls(self, claim: Claim) -> None:
        await _kept(self.store.abandon_calls(self._beginning(claim), at=time.time()))

    async def end_calls(self, claim: Claim) -> None:
        await _kept(self.store.finish_calls(self._beginning(claim)))

    async def calls_begun(self) -> Taken:
        turn, run, process = await asyncio.to_thread(self.store.call_owner, self.thread.principal, self.thread.id)
        return Taken(turn, run, bool(process))

    async def note_begun(self, claim: Claim, followers: int | None) -> None:
        """What somebody says who runs calls elsewhere, and of whom nobody here knows how long they are there."""
        wish = self._beginning(claim, followers)
        if claim.turn:
            await _kept(self.store.claim_calls(wish, at=time.time(), here=False))
        else:
            await _kept(self.store.finish_calls(wish))

    def _beginning(self, claim: Claim, followers: int | None = 0) -> RunClaim:
        return RunClaim(self.thread.principal, self.thread.id, claim.turn, claim.run, claim.was, followers)

    async def ask(self, question: Question, begun: Begun) -> LocalHearing:
        hearing = LocalHearing(self)
        entry = self._entry(question, hearing)
        hearing.id = entry.id
        try:
            await self._keep(entry, question.model, begun)
            line, sealer = self.tree.line(question.follows), self.works.current.snapshot.sealer
            asked = question.model, question.wishes, line, question.asked, sealer
            hearing.listen(self._call(entry, *await asyncio.to_thread(request_of, *asked)))
        except BaseException:
            await self.settle(entry.id)
            raise
        return hearing

    def _entry(self, question: Question, hearing: LocalHearing) -> Entry:
        """A new turn."""
        own = self.thread
        return Entry(
            id=new_id(),
            thread=own.id,
            session=own.session,
            agent=own.agent,
            follows=question.follows,
            backend=question.backend,
            asked=question.asked,
            answers=hearing.begin,
            told=lambda exchange, recording: self._put(question.asked, exchange, recording),
            failed=hearing.fail,
        )

    async def _keep(self, entry: Entry, model: str, begun: Begun) -> None:
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
        title = _title(entry.asked)  # the thread's own may be that of one that was deleted since
        self.thread = structs.replace(own, title=own.title or title)
        turn = TurnRecord(exchange=exchange, recording=recording, asked=entry.asked, title=title)
        self._put(entry.asked, exchange, recording)
        begun(entry.id)
        if problem := await wait_for_commit(self.store.record(turn), COMMIT_SECONDS):
            raise problem

    def _call(self, entry: Entry, body: bytes, betas: tuple[str, ...]) -> Call:
        own, credential = self.thread, self._credential
        headers = {**_HEADERS, "anthropic-beta": ",".join(betas)} if betas else _HEADERS
        return Call(body=body, headers=headers, principal=own.principal, credential=credential, entry=entry)

    async def settle(self, id: str) -> None:
        """Until a turn is in the store. One that the engine did not keep is marked as failed."""
        spot = self.tree.get(id)
        if spot is None or spot.exchange is None:
            return
        if spot.outcome == "open":
            await self._fail(spot.passage, structs.replace(spot.exchange, outcome="failed", ended=time.time()))
        elif spot.outcome != "whole":
            await asyncio.wrap_future(self._record(spot.passage, spot.exchange))
        elif self._is_hurried:
            await wait_for_commit(self._record(spot.passage, spot.exchange), COMMIT_SECONDS)

    @property
    def _is_hurried(self) -> bool:
        """Whether the engine lets an answer end before the store has it, rather than wait as long as we would."""
        return self.works.engine.parts.commit_seconds < COMMIT_SECONDS

    def _record(self, passage: Passage, exchange: Exchange) -> Future[bool]:
        """Keep it. The same again changes nothing, and comes after what waits."""
        asked = passage.asked
        return self.store.record(
            TurnRecord(exchange=exchange, recording=passage.recording, asked=asked, title=_title(asked))
        )

    async def _fail(self, passage: Passage, exchange: Exchange) -> None:
        is_new = True
        try:
            is_new = await asyncio.wrap_future(self._record(passage, exchange))
        finally:
            if is_new:
                self._put(passage.asked, exchange, passage.recording)
        if not is_new:  # it was kept, and left before that was told; or its thread was deleted
            await asyncio.to_thread(self.load)
        if exchange.id not in self.tree:
            self._put(passage.asked, exchange, passage.recording)

    def _put(self, asked: tuple[bytes, ...], exchange: Exchange, recording: Recording | None) -> None:
        passage = Passage(exchange=exchange.id, at=exchange.started, asked=asked, recording=recording)
        self.tree.put(Spot(passage, exchange))


def keeping(works: Works) -> Store:
    """The store. Raises SettingsInvalid where nothing, or not what was said, is kept."""
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


async def _kept(write: Future[T]) -> T:
    return await asyncio.wait_for(asyncio.wrap_future(write), COMMIT_SECONDS)
