"""Opening a conversation: on a gateway that runs, or on settings, store and engine as the command line would find them."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from clew.backends.address import is_local
from clew.backends.credential import Credential, credential_in
from clew.chat.desk import Desk
from clew.chat.local import COMMIT_SECONDS, LocalDesk
from clew.chat.remote.desk import opened_there
from clew.chat.remote.finding import AUTO, gateway_in, line_at, line_to
from clew.chat.remote.line import Line
from clew.engine.ids import new_id
from clew.engine.works import Works, build_works
from clew.errors import BackendUnreachable, RequestInvalid, SettingsInvalid
from clew.settings.document import BASE_URL
from clew.settings.home import HOME_VARIABLE, home_of
from clew.settings.load import Loaded, load, load_given
from clew.store import Store
from clew.store.values import Thread

__all__ = ["PRINCIPAL", "Where", "desk_on", "opened"]

PRINCIPAL: Final = "local"
"""Whoever works on this machine, with or without a gateway: they find each other's threads."""


class Where(Struct, frozen=True, kw_only=True):
    """What a conversation stands on: an engine of its own with these settings, or a gateway that runs at `url`."""

    home: str | Path | None = None
    config: str | Path | None = None
    environ: Mapping[str, str] | None = None
    backends: Mapping[str, Mapping[str, object]] | None = None
    url: str = ""
    key: str = ""

    def check(self) -> None:
        """Raises SettingsInvalid for what is of another type, and for what excludes each other."""
        _check_path("home", self.home)
        _check_path("config", self.config)
        _check_tables(self.backends)
        for name, value in (("config", self.config), ("url", self.url)):
            if value and self.backends is not None:
                raise SettingsInvalid(f"backends and {name} exclude each other: both say who can answer", key="backends")

    @property
    def environment(self) -> Mapping[str, str]:
        given = dict(os.environ if self.environ is None else self.environ)
        return given if self.home is None else {**given, HOME_VARIABLE: str(self.home)}


def _check_path(name: str, value: object) -> None:
    kind = type(value).__name__
    if value is not None and not isinstance(value, str | os.PathLike):
        more = ": backends that are no file go into `backends={…}`" if isinstance(value, Mapping) else ""
        raise SettingsInvalid(f"{name} is a path, not a {kind}{more}", key=name)


def _check_tables(value: object) -> None:
    kind = type(value).__name__
    if value is not None and not isinstance(value, Mapping):
        raise SettingsInvalid(f"backends are a table for each name, not a {kind}", key="backends")


@asynccontextmanager
async def opened(thread: str, where: Where) -> AsyncGenerator[Desk]:
    """The desk of one conversation; all that it stands on ends with it."""
    where.check()
    async with AsyncExitStack() as stack:
        desk = await _elsewhere(thread, where, stack) or await _here(thread, where, stack)
        stack.push_async_callback(desk.close)
        yield desk


async def _elsewhere(thread: str, where: Where, stack: AsyncExitStack) -> Desk | None:
    """On a gateway. None for one that was looked for, and is not there (any more)."""
    environment = where.environment
    if where.url != AUTO:
        return await _joined(line_at(where.url, where.key, environment), thread, stack) if where.url else None
    gateway = (
        None if where.config or where.backends is not None else await asyncio.to_thread(gateway_in, home_of(environment))
    )
    if gateway is not None:
        with suppress(BackendUnreachable):
            return await _joined(line_to(gateway, environment), thread, stack)
    return None


async def _joined(line: Line, thread: str, stack: AsyncExitStack) -> Desk:
    stack.callback(line.close)
    return await opened_there(line, thread)


async def _here(thread: str, where: Where, stack: AsyncExitStack) -> LocalDesk:
    environment, file = where.environment, Path(where.config) if where.config else None
    loaded = await asyncio.to_thread(_loaded, where, file)
    own = await asyncio.to_thread(home_of(environment).make)
    first = next(iter(where.backends or ()), "")  # what `clew use` chose is of the backends of a file
    works = await build_works(
        loaded, own, file=file, choice=first, environ=environment, logs=False, commit_seconds=COMMIT_SECONDS
    )
    stack.push_async_callback(works.close)
    works.keep_up()
    return await asyncio.to_thread(desk_on, works, thread, credential=credential_in(environment))


def _loaded(where: Where, file: Path | None) -> Loaded:
    if where.backends is not None:
        return load_given(where.backends, where.environment)
    loaded = load(file, where.environment)
    given = (where.environ or {}).get(BASE_URL, "")
    if given and given != os.environ.get(BASE_URL) and is_local(given) and not loaded.names_backends:
        raise SettingsInvalid(
            f"environ: {BASE_URL} is not used where it names this machine, because it may be a gateway of clew. "
            f'Say instead: backends={{"claude": {{"url": "{given}", "key": "…"}}}}',
            key="environ",
        )
    return loaded


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
