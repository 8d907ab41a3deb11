"""Servers on this machine: what answers on the ports where servers for local models usually listen.

Asked for by people who look at their backends, never on the way of a request. Only 127.0.0.1 is tried, all ports at once,
with a question that costs nothing (the list of models), and nobody waits longer than half a second. What does not answer
with such a list is not taken for a server of models.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from clew.backends.presets import Preset, presets
from clew.backends.row import Backend
from clew.cli.beside import models_heard
from clew.errors import BackendError
from clew.http.client_message import Timeouts
from clew.upstream.pool import Pool, PoolSettings

__all__ = ["Server", "local_rows", "nearby"]

_SECONDS: Final = 0.5
_NO_KEY: Final = (401, 403)


class Server(Struct, frozen=True, kw_only=True):
    """One that answers. Which program it is, its port suggests."""

    preset: str
    title: str
    url: str
    models: tuple[str, ...] = ()
    wants_key: bool = False
    backend: str = ""
    """The backend of the config that calls it already."""


def local_rows() -> list[Preset]:
    return [row for row in presets().values() if row.port]


async def nearby(backends: Mapping[str, Backend], rows: Iterable[Preset]) -> list[Server]:
    """Those of these rows that answer, in their order."""
    pool = Pool(PoolSettings(timeouts=Timeouts(connect=_SECONDS, first_byte=_SECONDS, gap=_SECONDS, total=_SECONDS)))
    taken = {_place(backend.url): name for name, backend in backends.items()}
    try:
        found = await asyncio.gather(*(_at(pool, row, taken) for row in rows))
    finally:
        pool.close()
    return [server for server in found if server is not None]


async def _at(pool: Pool, row: Preset, taken: Mapping[tuple[str, int | None], str]) -> Server | None:
    backend = Backend(name=row.name, url=row.url, realm=row.realm, dialect=row.dialect, auth="none")
    try:
        heard = await models_heard(pool, backend, ())
    except BackendError:
        return None
    wants_key = heard.status in _NO_KEY
    if heard.models is None and not wants_key:
        return None
    return Server(
        preset=row.name,
        title=row.title,
        url=row.url,
        models=heard.models or (),
        wants_key=wants_key,
        backend=taken.get(_place(row.url), ""),
    )


def _place(url: str) -> tuple[str, int | None]:
    parts = urlsplit(url)
    return "127.0.0.1" if parts.hostname == "localhost" else parts.hostname or "", parts.port
