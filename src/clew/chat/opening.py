"""Opening a conversation: settings, store and engine as the command line would find them, and the thread."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from clew.backends.credential import Credential, credential_in
from clew.chat.local import LocalDesk
from clew.engine.ids import new_id
from clew.engine.works import Works, build_works
from clew.errors import RequestInvalid
from clew.settings.home import HOME_VARIABLE, home_of
from clew.settings.load import load
from clew.store import Store
from clew.store.values import Thread

__all__ = ["PRINCIPAL", "desk_on", "opened"]

PRINCIPAL: Final = "local"
"""Whoever works on this machine, with or without a gateway: they find each other's threads."""


@asynccontextmanager
async def opened(
    thread: str,
    home: str | Path | None,
    config: str | Path | None,
    environ: Mapping[str, str] | None,
    commit_seconds: float,
) -> AsyncGenerator[LocalDesk]:
    """The desk of one conversation; all that it stands on ends with it."""
    given = dict(os.environ if environ is None else environ)
    environment = given if home is None else {**given, HOME_VARIABLE: str(home)}
    file = Path(config) if config else None
    loaded = await asyncio.to_thread(load, file, environment)
    own = await asyncio.to_thread(home_of(environment).make)
    works = await build_works(loaded, own, file=file, environ=environment, logs=False, commit_seconds=commit_seconds)
    try:
        works.keep_up()
        desk = await asyncio.to_thread(desk_on, works, thread, credential=credential_in(environment))
        try:
            yield desk
        finally:
            await desk.close()
    finally:
        await works.close()


def desk_on(works: Works, thread: str = "", *, principal: str = PRINCIPAL, credential: Credential = ()) -> LocalDesk:
    """The desk of a new thread, or of the one whose id begins so, on works that are there already. Reads the store, so it
    belongs in a thread. Raises RequestInvalid if there is no such thread."""
    found = _found(works.store, principal, thread) if thread and works.store else _new(principal)
    desk = LocalDesk(works, found, credential=credential)
    desk.load()
    return desk


def _new(principal: str) -> Thread:
    """A thread is its own session: what is said in another one with the same words is another's."""
    id, now = new_id(), time.time()
    return Thread(id=id, principal=principal, session=id, agent="", title="", pin="", created=now, used=now, turns=0)


def _found(store: Store, principal: str, thread: str) -> Thread:
    threads = store.threads(principal, limit=2, starting=thread)
    exact = [each for each in threads if each.id == thread] or threads
    if len(exact) != 1:
        many = "more than one thread begins" if exact else "there is no thread that begins"
        raise RequestInvalid(f"{many} with {thread!r}")
    return exact[0]
