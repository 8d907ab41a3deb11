"""What a backend offers beside answers: a list of its models, a count of tokens. And which servers run on this machine.

A server on this machine is one that answers on a port where servers for local models usually listen. They are looked for
when a person looks at the backends, never while a request is handled. Only 127.0.0.1 is tried, all ports at once, with a
request that costs nothing (the list of models) and half a second at most. A server that does not answer with such a list is
not taken for one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import closing
from typing import Final
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from clew.backends.credential import Credential
from clew.backends.presets import Preset, presets
from clew.backends.row import Backend, auth_headers
from clew.errors import BackendError
from clew.http.client.message import ClientRequest
from clew.upstream.endpoint import endpoint_of
from clew.upstream.pool import Pool

_MOST_BYTES: Final = 4 * 1024 * 1024
_SECONDS: Final = 0.5
_NO_KEY: Final = (401, 403)


class _Model(Struct, frozen=True):
    id: str = ""


class _Models(Struct, frozen=True):
    data: list[_Model] | None
    """Ollama says null as long as it has none."""


class BackendModels(Struct, frozen=True):
    """What a backend says when it is asked for its models; None if that is no list."""

    status: int
    models: tuple[str, ...] | None = None


async def counts_tokens(pool: Pool, backend: Backend, credential: Credential, model: str) -> bool:
    """Whether the backend answers a request to count tokens."""
    body = msgspec.json.encode({"model": model, "messages": [{"role": "user", "content": "Say ok."}]})
    try:
        status, _ = await _ask(pool, backend, credential, "POST", "/v1/messages/count_tokens", body)
    except BackendError:
        return False
    return status == 200


async def listed_models(pool: Pool, backend: Backend, credential: Credential) -> tuple[str, ...] | None:
    """The names that the backend itself lists; None if it does not."""
    try:
        return (await ask_models(pool, backend, credential)).models
    except BackendError:
        return None


async def ask_models(pool: Pool, backend: Backend, credential: Credential) -> BackendModels:
    """The names with the status. Raises BackendError."""
    path = "/v1/models" if backend.dialect == "anthropic" else "/models"
    status, body = await _ask(pool, backend, credential, "GET", path, b"")
    if status != 200:
        return BackendModels(status)
    try:
        listed = msgspec.json.decode(body, type=_Models).data or ()
    except (ValueError, RecursionError):
        return BackendModels(status)
    return BackendModels(status, tuple(model.id for model in listed if model.id))


async def _ask(
    pool: Pool, backend: Backend, credential: Credential, method: str, path: str, body: bytes
) -> tuple[int, bytes]:
    endpoint = endpoint_of(backend.url)
    request = ClientRequest(
        method=method.encode(),
        target=f"{urlsplit(backend.url).path.rstrip('/')}{path}".encode(),
        headers=(
            (b"host", endpoint.authority.encode()),
            (b"content-type", b"application/json"),
            (b"accept-encoding", b"identity"),
            (b"anthropic-version", b"2023-06-01"),
            *auth_headers(backend, backend.keys[0] if backend.keys else None, credential),
        ),
        body=body,
    )
    async with pool.ask(endpoint, request) as reply:
        return reply.status, await reply.read(_MOST_BYTES)


# Servers on this machine


class LocalServer(Struct, frozen=True, kw_only=True):
    """A server that answers. Its port suggests which program it is."""

    preset: str
    title: str
    url: str
    models: tuple[str, ...] = ()
    wants_key: bool = False
    backend: str = ""
    """The backend of the config that calls it already."""


def local_presets() -> list[Preset]:
    """The presets of servers for local models."""
    return [row for row in presets().values() if row.port]


async def find_local_servers(backends: Mapping[str, Backend], rows: Iterable[Preset]) -> list[LocalServer]:
    """The servers of these presets that answer, in their order."""
    taken = {_address(backend.url): name for name, backend in backends.items()}
    with closing(_hasty_pool()) as pool:
        found = await asyncio.gather(*(_find_server(pool, row, taken) for row in rows))
    return [server for server in found if server is not None]


async def list_models(backends: Mapping[str, Backend]) -> dict[str, tuple[str, ...]]:
    """The models that each of these backends lists, without a key; none for one that does not answer in time."""
    with closing(_hasty_pool()) as pool:
        found = await asyncio.gather(*(listed_models(pool, backend, ()) for backend in backends.values()))
    return {name: models or () for name, models in zip(backends, found, strict=True)}


def _hasty_pool() -> Pool:
    from clew.model.http import Timeouts  # late: most pages are made without a connection
    from clew.upstream.pool import Pool, PoolSettings

    return Pool(PoolSettings(timeouts=Timeouts(connect=_SECONDS, first_byte=_SECONDS, gap=_SECONDS, total=_SECONDS)))


async def _find_server(pool: Pool, row: Preset, taken: Mapping[tuple[str, int | None], str]) -> LocalServer | None:
    backend = Backend(name=row.name, url=row.url, realm=row.realm, dialect=row.dialect, auth="none")
    try:
        heard = await ask_models(pool, backend, ())
    except BackendError:
        return None
    wants_key = heard.status in _NO_KEY
    if heard.models is None and not wants_key:
        return None
    return LocalServer(
        preset=row.name,
        title=row.title,
        url=row.url,
        models=heard.models or (),
        wants_key=wants_key,
        backend=taken.get(_address(row.url), ""),
    )


def _address(url: str) -> tuple[str, int | None]:
    parts = urlsplit(url)
    return "127.0.0.1" if parts.hostname == "localhost" else parts.hostname or "", parts.port
