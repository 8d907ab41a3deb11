"""After the first signal a gateway can go on to take connections, until a load balancer has seen that it ends."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.gateway.ending import Ending
from clew.gateway.plan import Plan
from clew.gateway.process import Gateway, open_gateway
from clew.settings.home import home_of
from clew.settings.load import load
from clew.testing import Simulator
from clew.testing.simulator import Background
from tests.clock import Clock
from tests.gateway.served import KEY, Served, backend, listens
from tests.http.conftest import Peer
from tests.waiting import until

CONFIG = "[gateway]\nkeep_accepting_seconds = %d\ndrain_seconds = 600\n"


class EndingGateway:
    """A gateway in this process, and what tells it to end."""

    def __init__(self, loop: Background, home: Path, keep_accepting: int) -> None:
        config = home / "clew.toml"
        config.write_text(CONFIG % keep_accepting + backend("a", "http://127.0.0.1:9"))
        config.chmod(0o600)
        self._environ = {"CLEW_HOME": str(home), "CLEW_KEY": KEY}
        self._loop = loop
        self._config = config
        self.gateway, self.ending = loop.call(self._open())

    async def _open(self) -> tuple[Gateway, Ending]:
        loaded = load(self._config, self._environ)
        return await open_gateway(Plan(name="1", port=0), loaded, home_of(self._environ), environ=self._environ), Ending()

    def drain(self) -> None:
        """Returns when the drain has begun."""

        async def begin() -> None:
            self.ending.ask()
            self._draining = asyncio.ensure_future(self.gateway.drain(self.ending))
            await asyncio.sleep(0)

        self._loop.call(begin())

    def insist(self) -> None:
        async def ask() -> None:
            self.ending.ask()

        self._loop.call(ask())

    def readiness(self) -> tuple[int, bytes]:
        """On a new connection."""
        port = self.gateway.server.port
        peer = Peer(port)
        try:
            status, _, body = peer.send(f"GET /readyz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()).response()
        finally:
            peer.socket.close()
        return status, body

    @property
    def accepts(self) -> bool:
        return listens(self.gateway.server.port)

    def close(self) -> None:
        self._loop.call(self.gateway.close())


@pytest.fixture
def ending(request: pytest.FixtureRequest, clock: Clock, tmp_path: Path) -> Iterator[EndingGateway]:
    with Background() as loop:
        made = EndingGateway(loop, tmp_path, request.param)
        yield made
        made.close()


@pytest.mark.parametrize("ending", [20], indirect=True)
def test_connections_are_taken_for_so_long_and_readiness_says_no(clock: Clock, ending: EndingGateway) -> None:
    ending.drain()
    clock.pass_time(19)
    assert ending.readiness() == (503, b'{"status":"draining"}')
    clock.pass_time(1)
    assert not ending.accepts


@pytest.mark.parametrize("ending", [0], indirect=True)
def test_by_default_the_port_is_free_at_once(clock: Clock, ending: EndingGateway) -> None:
    assert ending.accepts
    ending.drain()
    clock.pass_time(0)
    assert not ending.accepts


@pytest.mark.parametrize("ending", [600], indirect=True)
def test_a_second_signal_does_not_wait(clock: Clock, ending: EndingGateway) -> None:
    ending.drain()
    clock.pass_time(1)
    assert ending.accepts
    ending.insist()
    clock.pass_time(0)
    assert not ending.accepts


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_process_that_was_told_to_end_still_answers_new_clients(workers: str) -> None:
    """The time that it keeps accepting counts in the deadline, and in the patience with workers: nothing is killed early."""
    with Simulator() as vendor:
        config = 'active = "a"\n[gateway]\nadmin_port = 0\nkeep_accepting_seconds = 600\ndrain_seconds = 0.1\nclosing_seconds = 60\n'
        with Served(config + backend("a", vendor.url, 'realm = "anthropic"\n'), "--workers", workers) as gateway:
            gateway.signal()
            until(lambda: gateway.get("/readyz")[0] == 503)
            assert b"message_stop" in gateway.ask().read_until(b"0\r\n\r\n")
            gateway.signal()
            assert gateway.ended() == 0
