"""An admin inside a test: on real sockets, in a thread with a loop of its own, with a store and settings to look at."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from clew.admin.listening import Admin, serve_admin
from clew.admin.services import AdminServices
from clew.backends.credential import Secret
from clew.backends.row import Backend
from clew.engine.current import Current
from clew.engine.hub import Hub, Value
from clew.model.facts import models
from clew.settings.home import Home
from clew.settings.load import Loaded
from clew.settings.values import Settings
from clew.store import Store
from clew.store.sqlite.store import SqliteStore
from clew.testing.simulator import Background
from clew.thinking.keyring import keyring_of
from clew.web import routes

KEY = "the-gateway's-own-key"
CANARY = "canary-0123456789-abcdef"
SECRET = b"a secret of thirty-two bytes, or more"


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    raw: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.raw)

    @property
    def why(self) -> str:
        return self.json["error"]["why"]


class Unix(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("clew", timeout=10)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(120)
        self.sock.connect(str(self._path))


class Booth:
    """Enter it, then ask. By default over the unix socket, as the owner."""

    def __init__(self, root: Path, *, store: bool = True) -> None:
        self.home = Home(root)
        self._stores = store
        self._background = Background()
        self.hub = Hub()

    def __enter__(self) -> Self:
        self._background.__enter__()
        self.store = SqliteStore(self.home.make().root / "clew.db") if self._stores else None
        self.current = present(self.home, self.store)
        self._background.call(self._follow())
        self.admin: Admin = self._background.call(self._start())
        self.port = int(self.admin.url.rpartition(":")[2])
        return self

    async def _follow(self) -> None:
        self._following = asyncio.create_task(self.current.follow())

    async def _start(self, port: int = 0) -> Admin:
        return await serve_admin(
            current=self.current,
            store=self.store,
            hub=self.hub,
            home=self.home,
            port=port,
            name="test",
            pages=routes,
            key=KEY,
        )

    def __exit__(self, *error: object) -> None:
        self._background.call(self.admin.close())
        self._background.__exit__(None, None, None)
        if self.store is not None:
            self.store.close()

    def restart(self) -> None:
        """The same home and the same port, by a new admin that knows nothing of the old one."""
        self._background.call(self.admin.close())
        self.admin = self._background.call(self._start(self.port))

    @property
    def services(self) -> AdminServices:
        """Of the admin, which is loaded if nobody connected yet."""

        async def load() -> AdminServices:
            return (await self.admin.load()).services

        return self._background.call(load())

    def publish(self, kind: str, value: Value) -> None:
        async def told() -> None:
            self.hub.publish(kind, value)

        self._background.call(told())

    def call(self, coroutine: Any) -> Any:
        return self._background.call(coroutine)

    def ask(
        self,
        path: str,
        *,
        method: str = "GET",
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        port: bool = False,
    ) -> Reply:
        """`port` goes over TCP, with nothing but the headers that are given."""
        with self.opened(path, method=method, body=body, headers=headers, port=port) as response:
            return Reply(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())

    @contextmanager
    def opened(
        self,
        path: str,
        *,
        method: str = "GET",
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        port: bool = False,
    ) -> Iterator[http.client.HTTPResponse]:
        """The answer, still open."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120) if port else Unix(self.admin.socket)
        given = {"content-type": "application/json"} if body is not None else {}
        try:
            connection.request(method, path, None if body is None else json.dumps(body), {**given, **(headers or {})})
            yield connection.getresponse()
        finally:
            connection.close()

    def raw(self, data: bytes) -> bytes:
        """Bytes over TCP as they are; all that comes back."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=120) as connection:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: connection.recv(65536), b""))

    def logged_in(self) -> dict[str, str]:
        """The headers of a browser that came in."""
        response = self.ask(self.admin.login_url.removeprefix(self.admin.url), port=True)
        assert (response.status, response.headers["location"]) == (303, "/")
        cookie = {"cookie": response.headers["set-cookie"].partition(";")[0]}
        csrf = self.ask("/api/session", headers=cookie, port=True).json["csrf"]
        return {**cookie, "x-clew-csrf": csrf}


def present(home: Home, store: Store | None = None) -> Current:
    """What holds in this home, with these settings. Nobody follows it yet."""
    return Current(
        Loaded(settings=settings()), keyring_of(SECRET).sealer(), store=store, environ={"CLEW_HOME": str(home.root)}
    )


def settings() -> Settings:
    keys = (Secret(CANARY),)
    backends = {
        "claude": Backend(name="claude", url="https://api.anthropic.com", realm="anthropic"),
        "glm": Backend(name="glm", url="https://glm.example/<b>", realm="glm", auth="key", keys=keys, model="glm-5"),
    }
    return Settings(active="claude", backends=backends, models=models())
