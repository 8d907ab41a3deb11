"""The gateway of a trial: it is asked as by a client, and records everything that goes over the wire.

So a trial shows what holds for every gateway: same projection, same translation, same repairs. It listens on a free port of
this machine with a key of its own, and its home is a directory that is deleted with it: nothing is recorded elsewhere.
"""

from __future__ import annotations

import asyncio
import io
import os
import secrets
import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct, structs

from clew.backends.credential import Credential
from clew.backends.names import alias_of
from clew.backends.row import Backend
from clew.dialects.anthropic.passthrough import PASSTHROUGH
from clew.engine.runtime import Runtime
from clew.gateway.plan import Plan
from clew.gateway.process import Gateway, open_gateway
from clew.http.client.message import ClientRequest
from clew.model.http import Timeouts
from clew.model.json import JsonObject
from clew.model.turn import Bodies, Exchange
from clew.pipeline.stream.answer import AnswerSoFar
from clew.pipeline.stream.passthrough import answer_of_stream
from clew.settings.home import CONFIG_VARIABLE, HOME_VARIABLE, Home
from clew.settings.load import Loaded
from clew.settings.values import Retry, Settings, StoreSettings
from clew.upstream.endpoint import endpoint_of

_PRINCIPAL: Final = "local"
_SECONDS: Final = 120.0
_STEP: Final = 0.02
_STEPS: Final = 100


class TrialAnswer(Struct, frozen=True, kw_only=True):
    """What a client got, and what went over the wire for it."""

    status: int
    """The backend's own, where it had one."""
    answer: AnswerSoFar = AnswerSoFar()
    """Without blocks, if it was no answer."""
    error: str = ""
    sent: bytes = b""
    """As the backend got it; the last one, if the first was refused and repaired."""
    came: bytes = b""
    """As the backend said it."""
    repairs: int = 0
    reached: bool = True


class TrialGateway:
    """Asks backends through the gateway, each by its own name and the model's."""

    def __init__(self, gateway: Gateway, runtime: Runtime, credential: Credential) -> None:
        self._gateway = gateway
        self._runtime = runtime
        self._credential = credential

    async def ask(self, backend: str, model: str, body: JsonObject) -> TrialAnswer:
        """`model` is the backend's own name for it."""
        named = {"model": alias_of(backend, model), **body, "stream": True}
        endpoint = endpoint_of(self._gateway.url)
        request = ClientRequest(
            method=b"POST",
            target=b"/v1/messages",
            headers=(
                (b"content-type", b"application/json"),
                (b"accept-encoding", b"identity"),
                (b"anthropic-version", b"2023-06-01"),
                (b"x-clew-key", self._gateway.plan.run_key.encode()),
                *((name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in self._credential),
                (b"host", endpoint.authority.encode()),
            ),
            body=msgspec.json.encode(named),
        )
        async with self._runtime.pool.ask(endpoint, request, timeouts=Timeouts(total=_SECONDS)) as reply:
            raw = await reply.read()
            id_ = next((value for name, value in reply.headers if name.lower() == b"x-clew-exchange"), b"").decode()
            return _trial_answer(reply.status, raw, *await self._read_recorded(id_))

    async def _read_recorded(self, id_: str) -> tuple[Exchange | None, Bodies]:
        """What the gateway recorded of the exchange; the bodies come a moment after the answer."""
        store = self._runtime.store
        assert store is not None, "the gateway of a trial has a store"
        for _ in range(_STEPS):
            exchange, bodies = store.exchange(_PRINCIPAL, id_), store.bodies(_PRINCIPAL, id_)
            if exchange is not None and bodies is not None:
                return exchange, bodies
            await asyncio.sleep(_STEP)
        return None, Bodies()


@asynccontextmanager
async def open_trial_gateway(
    settings: Settings, backends: Mapping[str, Backend], environ: Mapping[str, str], credential: Credential
) -> AsyncGenerator[TrialGateway]:
    """A gateway of its own for trials: with these backends alone, and without second tries."""
    own_settings = structs.replace(
        settings,
        active=next(iter(backends)),
        backends=backends,
        rules=(),
        failover=(),
        retry=Retry(retries=0),
        store=StoreSettings(bodies="all"),
    )
    with tempfile.TemporaryDirectory(prefix="clew-test-", ignore_cleanup_errors=True) as directory:
        own_environ = {**environ, HOME_VARIABLE: directory, CONFIG_VARIABLE: ""}
        plan = Plan(name=f"test-{os.getpid()}", port=0, run_key=f"clew_test_{secrets.token_urlsafe(32)}")
        home = Home(Path(directory)).make()
        gateway = await open_gateway(plan, Loaded(settings=own_settings), home, environ=own_environ)
        try:
            async with gateway.load(io.StringIO()) as runtime:
                yield TrialGateway(gateway, runtime, credential)
                await gateway.server.close(grace=0)
        finally:
            await gateway.server.close(grace=0)


class _Error(Struct, frozen=True):
    message: str = ""


class _ErrorBody(Struct, frozen=True):
    error: _Error = _Error()


def _trial_answer(status: int, raw: bytes, exchange: Exchange | None, bodies: Bodies) -> TrialAnswer:
    tries = exchange.tries if exchange else ()
    wire = TrialAnswer(status=status, sent=bodies.sent, came=bodies.answered, repairs=exchange.heals if exchange else 0)
    if status == 200:
        answer = answer_of_stream(raw, PASSTHROUGH)
        return structs.replace(wire, answer=answer, error=str(answer.illegal or ""))
    try:
        error = msgspec.json.decode(raw, type=_ErrorBody).error.message
    except (ValueError, RecursionError):
        error = ""
    own = tries[-1].status if tries else 0
    return structs.replace(wire, status=own or status, error=error, reached=bool(own))
