"""What a backend has beside answers, all of it optional: a list of its models, a count of tokens."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from clew.backends.credential import credential_in
from clew.backends.row import Backend, Credential, auth_headers
from clew.errors import BackendError
from clew.http.client.message import ClientRequest
from clew.upstream.endpoint import endpoint_of
from clew.upstream.pool import Pool

__all__ = ["Listing", "counts_tokens", "credential_in", "listed_models", "models_heard"]

_MOST_BYTES: Final = 4 * 1024 * 1024


class _Heard(Struct, frozen=True):
    status: int
    body: bytes


class _Model(Struct, frozen=True):
    id: str = ""


class _Models(Struct, frozen=True):
    data: list[_Model] | None
    """Ollama says null as long as it has none."""


async def counts_tokens(pool: Pool, backend: Backend, credential: Credential, model: str) -> bool:
    """Whether it does."""
    body = msgspec.json.encode({"model": model, "messages": [{"role": "user", "content": "Say ok."}]})
    try:
        return (await _ask(pool, backend, credential, "POST", "/v1/messages/count_tokens", body)).status == 200
    except BackendError:
        return False


class Listing(Struct, frozen=True):
    """What a backend says when it is asked for its models; None if that is no list."""

    status: int
    models: tuple[str, ...] | None = None


async def listed_models(pool: Pool, backend: Backend, credential: Credential) -> tuple[str, ...] | None:
    """The names that the backend itself lists; None if it does not."""
    try:
        return (await models_heard(pool, backend, credential)).models
    except BackendError:
        return None


async def models_heard(pool: Pool, backend: Backend, credential: Credential) -> Listing:
    """The same with the status. Raises BackendError."""
    path = "/v1/models" if backend.dialect == "anthropic" else "/models"
    heard = await _ask(pool, backend, credential, "GET", path, b"")
    if heard.status != 200:
        return Listing(heard.status)
    try:
        listed = msgspec.json.decode(heard.body, type=_Models).data or ()
    except (ValueError, RecursionError):
        return Listing(heard.status)
    return Listing(heard.status, tuple(model.id for model in listed if model.id))


async def _ask(pool: Pool, backend: Backend, credential: Credential, method: str, path: str, body: bytes) -> _Heard:
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
        return _Heard(reply.status, await reply.read(_MOST_BYTES))
