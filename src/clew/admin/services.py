"""AdminServices: the objects that the routes of one admin work with."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final, Protocol, TypeVar

from clew.admin.access import AdminAccess, Caller, RequestLimit
from clew.admin.chat.runs import ChatRuns
from clew.admin.feed import Feed
from clew.admin.metrics import Metrics
from clew.admin.problems import AdminProblem
from clew.admin.remote_answers import RemoteAnswers
from clew.backends.credential import Credential
from clew.chat.local import LocalThreadService
from clew.engine.runtime import Runtime
from clew.engine.snapshot import Snapshot
from clew.exchange.redact import Redactor
from clew.gateway.workers import WorkerReport, merge_health
from clew.settings.home import Home
from clew.settings.named_keys import NamedKeys
from clew.store import Store
from clew.store.values import Health, Thread

T = TypeVar("T")

WRITE_SECONDS: Final = 5.0

_log = logging.getLogger("clew.admin")


class CurrentSettings(Protocol):
    """The present snapshot, and why a newer one could not be taken ("" if nothing is wrong)."""

    @property
    def snapshot(self) -> Snapshot: ...
    @property
    def problem(self) -> str: ...
    @property
    def file(self) -> Path | None:
        """The settings file; None if there is none."""
        ...

    def poll(self) -> None:
        """Apply what changed in the settings, at once."""
        ...

    def attend(self, told: Callable[[], None]) -> AbstractContextManager[None]:
        """Be called after each change, until the context is left."""
        ...

    def beside(self, look: Callable[[], None]) -> AbstractContextManager[None]:
        """Be called with each poll, in its thread, until the context is left."""
        ...


@dataclass(kw_only=True)
class AdminServices:
    """What every route works with: settings, store, feed, runs and access."""

    current: CurrentSettings
    store: Store | None
    home: Home
    access: AdminAccess
    feed: Feed
    metrics: Metrics
    planes: Callable[[], Sequence[WorkerReport]]
    """The report of each data plane: that of this process, or those of its workers."""
    runtime: Runtime | None = None
    """The engine and its store, for chats and conversations."""
    runs: ChatRuns = field(default_factory=ChatRuns)
    """The answers of the chat that come now."""
    limit: RequestLimit = field(default_factory=RequestLimit)
    """How many requests each key holder may have under way."""
    url: str = ""
    """Of this admin, without a slash at its end."""
    pid: int = field(default_factory=os.getpid)
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    answers: RemoteAnswers = field(default_factory=RemoteAnswers)
    """The answers of conversations whose library runs elsewhere."""

    @cached_property
    def version(self) -> str:
        """The version of clew."""
        from importlib.metadata import version  # late: it imports parsers of mail and archives

        return version("clew")

    @property
    def kept(self) -> Store:
        """The store. Raises AdminProblem if it is switched off."""
        if self.store is None:
            raise AdminProblem(
                409,
                "there is no store",
                'the settings say `[store] url = "off"`, so nothing is kept',
                "remove that line and start the gateway again",
            )
        return self.store

    @property
    def keys(self) -> NamedKeys:
        """The table of named keys. It waits for a disk or a database: call it in a thread."""
        return NamedKeys(self.home, self.store)

    @property
    def working(self) -> Runtime:
        """The engine and its store. Raises AdminProblem if this admin has none."""
        if self.runtime is None:
            how = "start the gateway with `clew serve`"
            raise AdminProblem(409, "there are no backends here", "this admin runs without a gateway", how)
        return self.runtime

    def open_streams(self) -> int:
        """Exchanges under way, of every data plane and of the chat and the conversations here."""
        return sum(report.running for report in self.planes()) + self.runs.running + len(self.answers)

    def health(self) -> Health | None:
        """Of the store, as this process and its workers find it; None if it is switched off. Call it in a thread."""
        if self.store is None:
            return None
        return merge_health((self.store.health(), *(report.store for report in self.planes() if report.store)))

    async def read(self, work: Callable[[], T]) -> T:
        """Call `work` in a thread, because the store takes some time."""
        return await asyncio.to_thread(work)

    async def wait_for_write(self, future: Future[T]) -> T:
        """The result of a write to the store. Raises AdminProblem if it takes too long."""
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), WRITE_SECONDS)
        except TimeoutError:
            why = "another process may hold it"
            raise AdminProblem(503, "the store did not answer in time", why, "try again") from None

    async def note(self, who: str, what: str, target: str, before: str = "", after: str = "") -> None:
        """Add an entry to the audit. The change is made already: where there is no store, it is in the log alone."""
        if self.store is None:
            _log.info("%s: %s of %s: %r, before %r", who, what, target, after, before)
        else:
            await self.wait_for_write(self.store.audit.note(who, what, target, before, after))

    async def forget(self, principal: str, thread: str, *, by: str) -> bool:
        """Delete a thread. Answers that come in it are stopped first, so that nothing of them is kept."""
        await self.runs.stop((principal, thread))
        await self.answers.stop_in(principal, thread)
        try:
            found = await self.wait_for_write(self.kept.forget(principal, thread, at=time.time()))
            if found:
                await self.note(by, "thread deleted", f"thread:{thread}", f"principal {principal}")
            return found
        finally:
            await asyncio.to_thread(self.current.poll)  # drops the thread from memory, as in every other process

    def open_thread(
        self, caller: Caller, id: str, credential: Credential = (), *, session: str = "", agent: str = ""
    ) -> LocalThreadService:
        """The caller's thread with this id, or a new one, with its turns. Reads the store: call it in a thread."""
        now, principal = time.time(), caller.principal
        thread = self.kept.thread(principal, id) or Thread(
            id=id,
            principal=principal,
            session=session or id,
            agent=agent,
            title="",
            pin="",
            created=now,
            used=now,
            turns=0,
        )
        service = LocalThreadService(self.working, thread, credential=credential, holder=caller.holder)
        service.load()
        return service

    def redactor(self) -> Redactor:
        """Knows every secret that is loaded now."""
        return Redactor(secrets_of(self.current.snapshot))


def secrets_of(snapshot: Snapshot) -> Iterable[str]:
    return (key.reveal() for backend in snapshot.settings.backends.values() for key in backend.keys)
