"""systemd is told when a gateway is ready, and when it stops."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.gateway.ending import READY, notify
from clew.testing import Simulator
from tests.gateway.served import CLEW, Served, backend


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as plug:
        plug.bind(str(tmp_path / "notify"))
        plug.settimeout(120)
        yield plug


def test_a_state_is_one_datagram(manager: socket.socket) -> None:
    notify(READY, {"NOTIFY_SOCKET": manager.getsockname()})
    assert manager.recv(100) == b"READY=1"


def test_an_abstract_name_is_reached() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as plug:
        plug.bind("")  # Linux chooses an abstract name
        notify(READY, {"NOTIFY_SOCKET": "@" + plug.getsockname()[1:].decode()})
        assert plug.recv(100) == b"READY=1"


@pytest.mark.parametrize(
    "environ", [{}, {"NOTIFY_SOCKET": ""}, {"NOTIFY_SOCKET": "/nowhere/notify"}, {"NOTIFY_SOCKET": "x"}]
)
def test_without_a_manager_nothing_happens(environ: dict[str, str]) -> None:
    notify(READY, environ)


@pytest.mark.slow
def test_a_gateway_says_when_it_is_ready_and_when_it_stops(manager: socket.socket) -> None:
    command = ("env", f"NOTIFY_SOCKET={manager.getsockname()}", CLEW)
    with Simulator() as vendor, Served("[gateway]\nadmin_port = 0\n" + backend("a", vendor.url), command=command) as gateway:
        assert manager.recv(100) == b"READY=1"
        assert gateway.get("/readyz")[0] == 200
        gateway.signal()
        assert manager.recv(100) == b"STOPPING=1"
        assert gateway.ended() == 0
