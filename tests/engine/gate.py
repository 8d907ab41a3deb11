"""A gateway inside a test: engine, store and data plane on a real socket, in a thread with a loop of its own.

with Simulator() as claude, Gate(tmp_path, claude=claude_backend(claude)) as gate:
    answer = gate.ask(body)
    gate.use("glm")
"""

from __future__ import annotations

import asyncio
import http.client
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from clew.backends.credential import Secret
from clew.backends.row import Backend, Quirks
from clew.engine.choices import ACTIVE
from clew.engine.current import Current
from clew.engine.engine import Engine
from clew.engine.hub import Hub
from clew.engine.services import EngineServices
from clew.exchange.redact import Redactor
from clew.gateway.plane import DataPlane
from clew.http.server import Server, listen
from clew.model.facts import models
from clew.model.origin import ANTHROPIC
from clew.settings.key_table import KeyTable
from clew.settings.load import Loaded
from clew.settings.values import Settings, StoreSettings
from clew.store.sqlite.store import SqliteStore
from clew.testing import Simulator
from clew.testing.simulator import Background
from clew.thinking.keyring import keyring_of
from clew.upstream.pool import Pool, PoolSettings
from clew.wire.sse import SseReader
from tests.clock import ClockedLoop
from tests.database import leave_empty_store

__all__ = ["KEY", "Answer", "Gate", "claude", "other", "post"]

KEY = "gate-test-key"
SECRET = b"a secret of thirty-two bytes, or more"


def claude(simulator: Simulator, name: str = "claude", **more: Any) -> Backend:
    """A first-party Claude host."""
    return _row(simulator, name, ANTHROPIC, Quirks(unique_tool_ids=True), **more)


def other(simulator: Simulator, name: str = "glm", **more: Any) -> Backend:
    """A host that speaks the dialect and is not Anthropic's."""
    return _row(simulator, name, name, Quirks(), **more)


def _row(simulator: Simulator, name: str, realm: str, quirks: Quirks, **more: Any) -> Backend:
    fields = {"name": name, "realm": realm, "quirks": quirks, "auth": "key", "keys": (Secret(simulator.key),), **more}
    return Backend(url=simulator.url, **fields)


@dataclass(frozen=True)
class Answer:
    """What a client got."""

    status: int
    headers: Mapping[str, str]
    raw: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.raw)

    @property
    def events(self) -> list[Any]:
        reader = SseReader()
        return [json.loads(event.data) for event in [*reader.feed(self.raw), *reader.flush()]]

    @property
    def kinds(self) -> list[str]:
        return [event["type"] for event in self.events]


def post(url: str, body: Any, *, path: str, headers: Mapping[str, str]) -> Answer:
    """One request on a connection of its own. Bytes go as they are; a header that is "" does not go."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    usual = {"content-type": "application/json", "anthropic-version": "2023-06-01"}
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    try:
        connection.request("POST", path, raw, {name: value for name, value in {**usual, **headers}.items() if value})
        response = connection.getresponse()
        return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
    finally:
        connection.close()


class Gate:
    """One gateway on one store. Leaving it keeps the store: a second one on the same path is the same after a restart."""

    def __init__(
        self,
        home: Path,
        *backends: Backend,
        store: bool | StoreSettings = True,
        others: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> None:
        self.home = home
        self._backends = {backend.name: backend for backend in backends}
        self._more = {"active": backends[0].name, **settings}
        self._kept = store if isinstance(store, StoreSettings) else StoreSettings()
        self._stores = bool(store)
        self._keys = KeyTable(KEY, extra=others)
        self._background = Background()
        self.store: SqliteStore | None = None
        self.hub = Hub()

    def __enter__(self) -> Self:
        self._background.__enter__()
        self.store = self._opened() if self._stores else None
        self._server: Server = self._background.call(self._start())
        return self

    def __exit__(self, *error: object) -> None:
        self._background.call(self._stop())
        self._background.__exit__(None, None, None)
        if self.store is not None:
            self.store.close()

    def _opened(self) -> SqliteStore:
        leave_empty_store(self.home / "clew.db")
        return SqliteStore(self.home / "clew.db", content=self._kept.content, keep=self._kept.kept_bodies)

    async def _start(self) -> Server:
        settings = Settings(backends=self._backends, models=models(), store=self._kept, **self._more)
        sealer = keyring_of(SECRET).sealer()
        self.current = Current(Loaded(settings=settings), sealer, store=self.store, environ={"CLEW_HOME": str(self.home)})
        self._pool = Pool(PoolSettings(timeouts=settings.timeouts))
        keys = [key.reveal() for backend in self._backends.values() for key in backend.keys]
        parts = EngineServices(
            pool=self._pool,
            snapshot=lambda: self.current.snapshot,
            store=self.store,
            hub=self.hub,
            commit_seconds=120.0,
            clock=loop.time if isinstance(loop := asyncio.get_running_loop(), ClockedLoop) else time.monotonic,
            redact=Redactor(keys),
        )
        self.engine = Engine(parts)
        plane = DataPlane(self.current, self._keys)
        plane.serve(self.engine)
        server = await listen(plane.handle, refuse=plane.refuse)
        plane.listening(server.host, server.port)
        return server

    async def closed(self) -> None:
        """The server is told to end, and does not wait for its answers."""
        await self._server.close(grace=0)

    async def _stop(self) -> None:
        await self.closed()
        self._pool.close()

    @property
    def url(self) -> str:
        return self._server.url

    def use(self, backend: str) -> None:
        """As `clew use` does, and seen at once."""
        assert self.store is not None
        self.store.set(ACTIVE, backend, at=0.0).result()
        self.current.poll()

    def ask(self, body: Any, *, path: str = "/v1/messages", headers: Mapping[str, str] | None = None) -> Answer:
        """POST it. Bytes go as they are."""
        return post(self.url, body, path=path, headers={"x-api-key": KEY, **(headers or {})})

    def call(self, coroutine: Any) -> Any:
        return self._background.call(coroutine)

    def tasks(self) -> int:
        """Tasks of the gateway's loop that are not over."""

        async def count() -> int:
            return len(asyncio.all_tasks()) - 1

        return self._background.call(count())
