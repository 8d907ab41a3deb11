"""One tiny request to a backend, to see that it answers, and what it offers beside answers.

A trial costs a few tokens. It goes the same way as the gateway's requests: same pool, same address checks, same headers of
auth; nothing of it is recorded.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from clew.backends.row import Auth, Backend, Credential, auth_headers
from clew.errors import BackendError
from clew.http.client_message import ClientRequest, Timeouts
from clew.settings.values import Settings
from clew.upstream.endpoint import endpoint_of
from clew.upstream.pool import Pool, PoolSettings

__all__ = ["Trial", "credential_in", "trials"]

_CHEAP: Final = "claude-haiku-4-5"
"""Asked for where the backend has no small model of its own."""
_MOST_BYTES: Final = 1024 * 1024
_SECONDS: Final = 60.0
_VARIABLES: Final = {"ANTHROPIC_API_KEY": "x-api-key", "ANTHROPIC_AUTH_TOKEN": "authorization"}


class Trial(Struct, frozen=True, kw_only=True):
    """What came of it. `ok` is None where nothing could be asked."""

    backend: str
    model: str = ""
    ok: bool | None = None
    status: int = 0
    seconds: float = 0.0
    says: str = ""
    count_tokens: bool | None = None
    models: bool | None = None


class _Heard(Struct, frozen=True):
    status: int
    body: bytes


def credential_in(environ: Mapping[str, str]) -> Credential:
    """What a client on this machine would show: the first of its usual variables that is set."""
    for variable, header in _VARIABLES.items():
        if value := environ.get(variable, "").strip():
            return ((header, f"Bearer {value}" if header == "authorization" else value),)
    return ()


async def trials(settings: Settings, backends: Mapping[str, Backend], environ: Mapping[str, str]) -> list[Trial]:
    """All at once; in the order of the backends."""
    pool = Pool(_pool_settings(settings, environ))
    credential = credential_in(environ)
    try:
        return list(await asyncio.gather(*(_trial(pool, backend, credential) for backend in backends.values())))
    finally:
        pool.close()


def _pool_settings(settings: Settings, environ: Mapping[str, str]) -> PoolSettings:
    return PoolSettings(
        timeouts=Timeouts(total=_SECONDS),
        ca_file=settings.ca_file or None,
        proxy_environ=environ if settings.proxy else None,
    )


async def _trial(pool: Pool, backend: Backend, credential: Credential) -> Trial:
    model = backend.models.get("haiku") or backend.model or _CHEAP
    if backend.auth == "passthrough" and not credential:
        says = "it takes the client's own credential, and none is in ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN"
        return Trial(backend=backend.name, model=model, says=says)
    began = time.monotonic()
    try:
        heard = await _ask(pool, backend, credential, "POST", "/v1/messages", _body(model, max_tokens=16))
    except BackendError as error:
        return Trial(backend=backend.name, model=model, ok=False, seconds=time.monotonic() - began, says=str(error))
    seconds = time.monotonic() - began
    ok, says = _judged(heard)
    trial = Trial(backend=backend.name, model=model, ok=ok, status=heard.status, seconds=seconds, says=says)
    return await _with_offers(pool, backend, credential, trial) if ok else trial


async def _with_offers(pool: Pool, backend: Backend, credential: Credential, trial: Trial) -> Trial:
    """What else it has: both are optional, so a failure here is only said."""
    counted = await _has(pool, backend, credential, "POST", "/v1/messages/count_tokens", _body(trial.model))
    listed = await _has(pool, backend, credential, "GET", "/v1/models", b"")
    return msgspec.structs.replace(trial, count_tokens=counted, models=listed)


async def _has(pool: Pool, backend: Backend, credential: Credential, method: str, path: str, body: bytes) -> bool:
    try:
        return (await _ask(pool, backend, credential, method, path, body)).status == 200
    except BackendError:
        return False


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


def _body(model: str, **more: int) -> bytes:
    return msgspec.json.encode({"model": model, **more, "messages": [{"role": "user", "content": "Say ok."}]})


class _Error(Struct, frozen=True):
    message: str = ""


class _Answer(Struct, frozen=True):
    """What we look at; everything else may be there or not."""

    type: str = ""
    error: _Error = _Error()
    model: str = ""


def _judged(heard: _Heard) -> tuple[bool, str]:
    try:
        answer = msgspec.json.decode(heard.body, type=_Answer)
    except (ValueError, RecursionError):
        return False, f"status {heard.status}, and what came is not an answer in Anthropic's dialect: is the url right?"
    if heard.status == 200 and answer.type == "message":
        return True, f"answers as {answer.model}" if answer.model else "answers"
    return False, f"status {heard.status}: {answer.error.message or 'no reason given'}{_hint(heard.status)}"


def _hint(status: int) -> str:
    hints = {401: "; check its key", 403: "; check its key", 404: "; check its url and its model"}
    return hints.get(status, "")


AUTHS: Final[dict[Auth, str]] = {
    "passthrough": "the client's own",
    "key": "x-api-key",
    "bearer": "Bearer",
    "api-key": "api-key",
    "none": "none",
}
"""How each kind of auth is said to people."""
