"""The service of a thread in this process: on an engine and a store of its own, or on those of a gateway.

A question is stored as an open turn. The engine's record of the end replaces it under the same id.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Final, TypeVar

import msgspec
from msgspec import Struct, structs

from clew.backends.credential import Credential
from clew.chat.hearing import LocalAnswerReader
from clew.chat.request import Projected, history_of, projection_of, request_of
from clew.chat.service import AnswerLock, BegunCalls, Claim, OnTurn, Question
from clew.chat.turns import StoredTurn, Tree
from clew.engine.ids import new_id
from clew.engine.process_commands import TurnObserver
from clew.engine.runtime import Runtime
from clew.errors import SettingsInvalid
from clew.exchange.call import Call, OwnTurn
from clew.exchange.turns import unanswered
from clew.limits.keys import KeyHolder
from clew.model.events import Event
from clew.model.json import JsonObject
from clew.model.origin import Origin
from clew.model.recording import Recording
from clew.model.turn import Exchange, TurnRecord
from clew.store import Store
from clew.store.commits import wait_for_commit
from clew.store.values import Passage, RunClaim, Thread
from clew.thinking.recognise import Context

T = TypeVar("T")

COMMIT_SECONDS = 10.0
"""How long the store may take: an app would rather wait than lose a turn."""

_ALL: Final = 1_000_000
_TITLE: Final = 80
_HEADERS: Final = {"anthropic-version": "2023-06-01"}
_NO_ORIGIN = Origin("", "", "", "")


class LocalThreadService(AnswerLock):
    """A thread of a principal, on the engine of this process."""

    overheard: Callable[[str, Event], None] | None = None
    """Called with the turn and each event of its answer, for callers that show more than the text."""
    answers: Callable[[str, str, str], None] | None = None
    """Called once for each answer, before its first event, with the turn, the backend and the model."""

    def __init__(
        self, runtime: Runtime, thread: Thread, *, credential: Credential = (), holder: KeyHolder | None = None
    ) -> None:
        """`holder`: who asks by a named key, whose rights and limits hold. Raises SettingsInvalid if the settings forbid to
        store conversations."""
        self.runtime = runtime
        self.store = conversation_store(runtime)
        self.thread = thread
        self.tree = Tree()
        self._unplaced = 0
        """How many turns are in no line, because the turn before them is not known."""
        self._credential = credential
        self._holder = holder or KeyHolder(thread.principal)

    @property
    def backends(self) -> Mapping[str, str]:
        settings = self.runtime.current.settings
        return {**dict.fromkeys(settings.disabled, ""), **{name: row.model for name, row in settings.backends.items()}}

    @property
    def active(self) -> str:
        return self.runtime.current.snapshot.active

    async def beside(self, agent: str, id: str) -> LocalThreadService:
        def load() -> LocalThreadService:
            own, now = self.thread, time.time()
            new = structs.replace(own, id=id, agent=agent, title="", created=now, used=now, turns=0)
            found = self.store.thread(own.principal, id) or new
            service = LocalThreadService(self.runtime, found, credential=self._credential, holder=self._holder)
            service.load()
            return service

        return await asyncio.to_thread(load)

    # Reading.

    def load(self) -> None:
        """Read the turns of the thread. It reads the store, so call it in a thread of its own."""
        named, thread = self.thread.principal, self.thread.id
        known = {each.id: each for each in self.store.exchanges(named, thread=thread, limit=_ALL)}
        passages = self.store.passages(named, thread)
        self.tree = Tree(StoredTurn(passage, known.get(passage.exchange)) for passage in passages)
        self._unplaced = len(passages) - len(self.tree)

    async def refresh(self) -> None:
        """Read the turns of other processes in this thread, and the outcomes of their questions."""

        def look() -> None:
            found = self.store.thread(self.thread.principal, self.thread.id)
            if found is None:
                return
            self.thread = found
            if found.turns != len(self.tree) + self._unplaced or self.tree.is_open:
                self.load()

        await asyncio.to_thread(look)

    async def as_sent(self, tip: str, backend: str, model: str) -> Projected:
        def project() -> Projected:
            snapshot, own = self.runtime.current.snapshot, self.thread
            line = [msgspec.json.decode(raw, type=JsonObject) for raw in history_of(self.tree.line(tip), snapshot.sealer)]
            context = Context(principal=own.principal, session=own.session, agent=own.agent)
            return projection_of(line, backend, model, snapshot, self.store, context, snapshot.chat_options)

        return await asyncio.to_thread(project)

    # Claims on calls.

    async def take_calls(self, claim: Claim) -> bool:
        wish = self._call_claim(claim, self.tree.followers(claim.turn))
        return await _result_of(self.store.claim_calls(wish, at=time.time(), here=True))

    async def leave_calls(self, claim: Claim) -> None:
        await _result_of(self.store.abandon_calls(self._call_claim(claim), at=time.time()))

    async def end_calls(self, claim: Claim) -> None:
        await _result_of(self.store.finish_calls(self._call_claim(claim)))

    async def calls_begun(self) -> BegunCalls:
        turn, run, process = await asyncio.to_thread(self.store.call_owner, self.thread.principal, self.thread.id)
        return BegunCalls(turn, run, bool(process))

    async def note_begun(self, claim: Claim, followers: int | None) -> None:
        """Store the mark of a run elsewhere. This process cannot know how long that run stays active."""
        wish = self._call_claim(claim, followers)
        if claim.turn:
            await _result_of(self.store.claim_calls(wish, at=time.time(), here=False))
        else:
            await _result_of(self.store.finish_calls(wish))

    def _call_claim(self, claim: Claim, followers: int | None = 0) -> RunClaim:
        return RunClaim(self.thread.principal, self.thread.id, claim.turn, claim.run, claim.was, followers)

    # Asking.

    async def rename(self, title: str) -> bool:
        renamed = self.store.rename(self.thread.principal, self.thread.id, title)
        if problem := await wait_for_commit(renamed, COMMIT_SECONDS):
            raise problem
        if renamed.result():
            self.thread = structs.replace(self.thread, title=title)
        return renamed.result()

    async def ask(self, question: Question, on_turn: OnTurn) -> LocalAnswerReader:
        reader, own = LocalAnswerReader(self), self.thread
        entry = OwnTurn(
            id=new_id(),
            thread=own.id,
            session=own.session,
            agent=own.agent,
            follows=question.follows,
            backend=question.backend,
            asked=question.asked,
        )
        observer = TurnObserver(
            answers=reader.begin,
            told=lambda exchange, recording: self._put(question.asked, exchange, recording),
            failed=reader.fail,
        )
        reader.id = entry.id
        try:
            await self._store_question(entry, question.model, on_turn)
            line, sealer = self.tree.line(question.follows), self.runtime.current.snapshot.sealer
            asked = question.model, question.wishes, line, question.asked, sealer
            body, betas = await asyncio.to_thread(request_of, *asked)
            headers = {**_HEADERS, "anthropic-beta": ",".join(betas)} if betas else _HEADERS
            reader.listen(
                Call(
                    body=body,
                    headers=headers,
                    principal=own.principal,
                    credential=self._credential,
                    key=self._holder.key,
                    team=self._holder.team,
                    rights=self._holder.rights,
                    entry=entry,
                    front=reader.front.dialect,
                ),
                observer,
            )
        except BaseException:
            await self.settle(entry.id)
            raise
        return reader

    async def _store_question(self, entry: OwnTurn, model: str, on_turn: OnTurn) -> None:
        """Store the question as an open turn. Raises StoreError if that fails."""
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
        recording = unanswered(entry, own.principal, _NO_ORIGIN)
        title = _title(entry.asked)  # the title of `own` may be of a thread that was deleted since
        self.thread = structs.replace(own, title=own.title or title)
        turn = TurnRecord(exchange=exchange, recording=recording, asked=entry.asked, title=title)
        self._put(entry.asked, exchange, recording)
        on_turn(entry.id)
        if problem := await wait_for_commit(self.store.record(turn), COMMIT_SECONDS):
            raise problem

    async def settle(self, id: str) -> None:
        """Wait until a turn is stored. A turn that the engine did not store is marked as failed."""
        stored = self.tree.get(id)
        if stored is None or stored.exchange is None:
            return
        if stored.outcome == "open":
            passage = stored.passage
            exchange = structs.replace(stored.exchange, outcome="failed", ended=time.time())
            is_new = True
            try:
                is_new = await asyncio.wrap_future(self._record(passage, exchange))
            finally:
                if is_new:
                    self._put(passage.asked, exchange, passage.recording)
            if not is_new:  # it was stored before the engine could report that, or its thread was deleted
                await asyncio.to_thread(self.load)
            if exchange.id not in self.tree:
                self._put(passage.asked, exchange, passage.recording)
        elif stored.outcome != "whole":
            await asyncio.wrap_future(self._record(stored.passage, stored.exchange))
        elif self.runtime.engine.services.commit_seconds < COMMIT_SECONDS:
            # the engine does not wait as long as this service: the answer may have ended before its commit
            await wait_for_commit(self._record(stored.passage, stored.exchange), COMMIT_SECONDS)

    def _record(self, passage: Passage, exchange: Exchange) -> Future[bool]:
        """Store a turn. The same turn again changes nothing, and is written after everything that waits."""
        asked = passage.asked
        return self.store.record(
            TurnRecord(exchange=exchange, recording=passage.recording, asked=asked, title=_title(asked))
        )

    def _put(self, asked: tuple[bytes, ...], exchange: Exchange, recording: Recording | None) -> None:
        passage = Passage(exchange=exchange.id, at=exchange.started, asked=asked, recording=recording)
        self.tree.put(StoredTurn(passage, exchange))


def conversation_store(runtime: Runtime) -> Store:
    """The store for conversations. Raises SettingsInvalid if the settings forbid to store them."""
    kept = runtime.current.settings.store
    if runtime.store is None or not kept.content:
        off = 'url = "off"' if runtime.store is None else "content = false"
        raise SettingsInvalid(f"a conversation is kept in the store, but the settings say `[store] {off}`", key="store")
    return runtime.store


class _Message(Struct):
    content: str | list[JsonObject] = ""


def _title(asked: tuple[bytes, ...]) -> str:
    """The beginning of the question, as the title of a thread."""
    content = msgspec.json.decode(asked[0], type=_Message).content if asked else ""
    texts = (
        [content] if isinstance(content, str) else [text for each in content if isinstance(text := each.get("text"), str)]
    )
    words = " ".join(texts[0].split()) if texts else ""
    return words if len(words) <= _TITLE else words[: _TITLE - 1] + "…"


async def _result_of(write: Future[T]) -> T:
    return await asyncio.wait_for(asyncio.wrap_future(write), COMMIT_SECONDS)
