"""What a backend offers beside answers, all of it optional: a list of its models, a count of tokens."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from clew.backends.row import Backend, Credential, auth_headers
from clew.errors import BackendError
from clew.http.client.message import ClientRequest
from clew.upstream.endpoint import endpoint_of
from clew.upstream.pool import Pool

_MOST_BYTES: Final = 4 * 1024 * 1024


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
    """Whether the backend counts the tokens of a request."""
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
