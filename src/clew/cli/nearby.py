"""Servers on this machine: what answers on the ports where servers for local models usually listen.

Asked for by people who look at their backends, never on the way of a request. Only 127.0.0.1 is tried, all ports at once,
with a question that costs nothing (the list of models), and nobody waits longer than half a second. What does not answer
with such a list is not taken for a server of models.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import closing
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from clew.admin.trial.beside import listed_models, models_heard
from clew.backends.presets import Preset, presets
from clew.backends.row import Backend
from clew.errors import BackendError
from clew.http.client.message import Timeouts
from clew.upstream.pool import Pool, PoolSettings

__all__ = ["Server", "listed", "local_rows", "nearby"]

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
    taken = {_place(backend.url): name for name, backend in backends.items()}
    with closing(_hasty_pool()) as pool:
        found = await asyncio.gather(*(_at(pool, row, taken) for row in rows))
    return [server for server in found if server is not None]


async def listed(backends: Mapping[str, Backend]) -> dict[str, tuple[str, ...]]:
    """The models that each of these lists, without a key; none for one that does not answer in time."""
    with closing(_hasty_pool()) as pool:
        found = await asyncio.gather(*(listed_models(pool, backend, ()) for backend in backends.values()))
    return {name: models or () for name, models in zip(backends, found, strict=True)}


def _hasty_pool() -> Pool:
    return Pool(PoolSettings(timeouts=Timeouts(connect=_SECONDS, first_byte=_SECONDS, gap=_SECONDS, total=_SECONDS)))


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
