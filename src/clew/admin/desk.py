"""The desk: what the routes of one admin work with."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final, Protocol, TypeVar

from clew.admin.access import Access
from clew.admin.chat.runs import ChatRuns
from clew.admin.conversations.telling import Tellings
from clew.admin.crowd import Crowd
from clew.admin.feed import Feed
from clew.admin.metrics import Metrics
from clew.admin.problem import Problem
from clew.engine.redact import Redactor
from clew.engine.snapshot import Snapshot
from clew.engine.works import Works
from clew.errors import SettingsInvalid
from clew.gateway.workers import WorkerReport, merge_health
from clew.settings.gateway_key import LOCAL, named_keys
from clew.settings.home import Home
from clew.store import Store
from clew.store.reports import Health

__all__ = ["Desk", "Present", "principals_of", "secrets_of"]

T = TypeVar("T")

WRITE_SECONDS: Final = 5.0


class Present(Protocol):
    """What holds now: the snapshot, and why a newer one could not be taken ("" if nothing is wrong)."""

    @property
    def snapshot(self) -> Snapshot: ...
    @property
    def problem(self) -> str: ...
    @property
    def file(self) -> Path | None:
        """The settings file; None if there is none."""
        ...

    def glance(self) -> None:
        """Take over what changed, now."""
        ...

    def attend(self, told: Callable[[], None]) -> AbstractContextManager[None]:
        """Be called after each change, until the context is left."""
        ...


@dataclass(kw_only=True)
class Desk:
    """Handed to every route."""

    current: Present
    store: Store | None
    home: Home
    access: Access
    feed: Feed
    metrics: Metrics
    planes: Callable[[], Sequence[WorkerReport]]
    """What each data plane tells of itself: that of this process, or those of its workers."""
    works: Works | None = None
    """What answers, for whoever is asked something here."""
    runs: ChatRuns = field(default_factory=ChatRuns)
    """The answers of the chat that come now."""
    crowd: Crowd = field(default_factory=Crowd)
    """How much of the room each key holder takes."""
    url: str = ""
    """Of this admin, without a slash at its end."""
    pid: int = field(default_factory=os.getpid)
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    tellings: Tellings = field(default_factory=Tellings)
    """Answers that somebody elsewhere listens to."""

    @property
    def version(self) -> str:
        """Of clew."""
        return _version()

    @property
    def kept(self) -> Store:
        """The store, or the reason why there is nothing to show."""
        if self.store is None:
            raise Problem(
                409,
                "there is no store",
                'the settings say `[store] url = "off"`, so nothing is kept',
                "remove that line and start the gateway again",
            )
        return self.store

    @property
    def working(self) -> Works:
        """What answers, or the reason why nobody does."""
        if self.works is None:
            raise Problem(409, "there is nobody to ask", "this admin stands alone", "start the gateway with `clew serve`")
        return self.works

    def open_streams(self) -> int:
        """Exchanges that are not over: of every data plane, and of the chat here."""
        return sum(report.running for report in self.planes()) + self.runs.running + len(self.tellings)

    def health(self) -> Health | None:
        """Of the store, as this process and its workers find it; None if it is switched off. Belongs into a thread."""
        if self.store is None:
            return None
        return merge_health((self.store.health(), *(report.store for report in self.planes() if report.store)))

    async def read(self, work: Callable[[], T]) -> T:
        """What the store is asked takes some time, so it is asked in a thread."""
        return await asyncio.to_thread(work)

    async def written(self, future: Future[T]) -> T:
        """The end of a write, within reason."""
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), WRITE_SECONDS)
        except TimeoutError:
            raise Problem(503, "the store did not answer in time", "another process may hold it", "try again") from None

    async def forget(self, principal: str, thread: str) -> bool:
        """Delete a thread. Answers that come in it are stopped first: nothing of them will be kept, nor in memory."""
        await self.runs.stop((principal, thread))
        await self.tellings.stop_in(principal, thread)
        try:
            return await self.written(self.kept.forget(principal, thread, at=time.time()))
        finally:
            await asyncio.to_thread(self.current.glance)  # which lets go of it, as it does in every other process

    def redactor(self) -> Redactor:
        """Knows every secret that is loaded now."""
        return Redactor(secrets_of(self.current.snapshot))


@cache
def _version() -> str:
    from importlib.metadata import version  # late: it reads mail and archives, which nothing else here does

    return version("clew")


def secrets_of(snapshot: Snapshot) -> Iterable[str]:
    return (key.reveal() for backend in snapshot.settings.backends.values() for key in backend.keys)


def principals_of(home: Home) -> tuple[str, ...]:
    """The operator's own, and those that keys were made for. An unreadable table of keys hides the others."""
    try:
        named = [key.principal for key in named_keys(home)]
    except SettingsInvalid:
        named = []
    return tuple(dict.fromkeys([LOCAL, *named]))
