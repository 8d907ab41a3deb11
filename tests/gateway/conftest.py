"""A data plane on a free port with an engine that only remembers what it was asked, and raw sockets to talk to it."""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from clew.backends.credential import Secret
from clew.backends.row import Backend
from clew.exchange.call import Call
from clew.gateway.plane import DataPlane
from clew.gateway.routes import RouteTable
from clew.http.message import ServerLimits
from clew.http.responder import Responder
from clew.http.server import Server, listen
from clew.model.facts import models
from clew.settings.key_table import KeyTable
from clew.settings.values import GatewaySettings, Settings
from clew.testing.simulator import Background
from tests.http.conftest import Peer

KEY = "local-key"
TEAM_KEY = "clew_team_key"

PASSTHROUGH = Backend(name="claude", url="https://api.anthropic.com", realm="anthropic")
KEYED = Backend(name="glm", url="https://glm.test", realm="glm", auth="key", keys=(Secret("vendor"),), model="glm-5")


def settings_with(*backends: Backend, **gateway: object) -> Settings:
    return Settings(
        active=backends[0].name,
        backends={backend.name: backend for backend in backends},
        gateway=GatewaySettings(**gateway),
        models=models(),
    )


class Governed:
    """Settings that a test can change."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.problem = ""


class FakeEngine:
    """Says `ok`, or does what the test tells it to."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.error: Exception | None = None
        self.hold: asyncio.Event | None = None

    async def answer(self, call: Call, client: Responder) -> None:
        self.calls.append(call)
        if self.hold is not None:
            await self.hold.wait()
        if self.error is not None:
            raise self.error
        client.send(200, [("content-type", "application/json")], b'{"ok":true}')


class Gateway:
    """One data plane under test."""

    def __init__(self, loop: Background, plane: DataPlane, server: Server, engine: FakeEngine) -> None:
        self.loop = loop
        self.plane = plane
        self.server = server
        self.engine = engine
        self.peers: list[Peer] = []

    @property
    def port(self) -> int:
        return self.server.port

    def peer(self) -> Peer:
        peer = Peer(self.port)
        self.peers.append(peer)
        return peer

    def raw(self, data: bytes) -> tuple[int, dict[str, str], bytes]:
        return self.peer().send(data).response()

    def ask(
        self, method: str = "POST", path: str = "/v1/messages", body: bytes = b"{}", **headers: str | None
    ) -> tuple[int, dict[str, str], bytes]:
        """One request on a connection of its own. Header names with `_` for `-`; None leaves one out."""
        return self.raw(self.request(method, path, body, **headers))

    def request(self, method: str, path: str, body: bytes = b"{}", **headers: str | None) -> bytes:
        usual: dict[str, str | None] = {"host": f"127.0.0.1:{self.port}", "content-type": "application/json"}
        given = usual | {name.replace("_", "-"): value for name, value in headers.items()}
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items() if value is not None)]
        return "\r\n".join([*lines, f"content-length: {len(body)}", "", ""]).encode("latin-1") + body


def said(answer: tuple[int, dict[str, str], bytes]) -> tuple[int, str]:
    """Status and error type, after the shape was looked at."""
    status, headers, body = answer
    told = json.loads(body)
    assert set(told) == {"type", "error", "request_id"}, told
    assert set(told["error"]) == {"type", "message"}
    assert told["type"] == "error"
    assert told["request_id"] == headers["request-id"]
    assert headers["content-type"] == "application/json"
    return status, told["error"]["type"]


Making = Callable[..., Gateway]


@pytest.fixture
def making() -> Iterator[Making]:
    """Makes gateways; ends them all."""
    with ExitStack() as stack:
        loop = stack.enter_context(Background())

        def make(
            settings: Settings | None = None,
            *,
            host: str = "127.0.0.1",
            loaded: bool = True,
            routes: RouteTable | None = None,
            limits: ServerLimits | None = None,
        ) -> Gateway:
            async def start() -> Gateway:
                engine = FakeEngine()
                plane = DataPlane(
                    Governed(settings or settings_with(PASSTHROUGH, KEYED)), KeyTable(KEY, extra={TEAM_KEY: "team"}), routes
                )
                server = await listen(plane.handle, refuse=plane.refuse, limits=limits, check=plane.check)
                plane.listening(host, server.port)
                if loaded:
                    plane.serve(engine)
                return Gateway(loop, plane, server, engine)

            gateway = loop.call(start())
            stack.callback(lambda: loop.call(gateway.server.close(grace=0)))
            stack.callback(lambda: [peer.socket.close() for peer in gateway.peers])
            return gateway

        yield make


@pytest.fixture
def gateway(making: Making) -> Gateway:
    return making()
