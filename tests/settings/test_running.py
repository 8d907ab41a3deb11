"""The registry of gateways that run."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from clew.settings.home import Home
from clew.settings.processes import RegisteredGateway, register, registered_gateways, unregister


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def gateway(**more: object) -> RegisteredGateway:
    return RegisteredGateway(**{"pid": os.getpid(), "url": "http://127.0.0.1:2539", "started": 1.0} | more)


def test_a_gateway_is_there_from_its_entry_to_its_leave(home: Home) -> None:
    assert registered_gateways(home) == []
    one = register(home, gateway(name="main", admin_url="http://127.0.0.1:2540", socket=str(home.socket("main"))))
    two = register(home, gateway(url="http://127.0.0.1:9", started=0.5))
    assert (two.name, registered_gateways(home)) == (str(os.getpid()), [two, one])
    assert [stat.S_IMODE(path.stat().st_mode) for path in home.run.iterdir()] == [0o600, 0o600]
    unregister(home, one)
    unregister(home, one)
    assert registered_gateways(home) == [two]


def test_the_dead_are_removed_with_their_sockets(home: Home) -> None:
    """`kill -9` leaves a file and a socket behind."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait(120)
    socket = home.make().socket("gone")
    socket.touch()
    register(home, gateway(pid=child.pid, name="gone", socket=str(socket)))
    assert (registered_gateways(home), list(home.run.iterdir())) == ([], [])


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system does not say it")
def test_one_that_was_killed_is_gone_before_its_parent_asks_for_its_end(home: Home) -> None:
    """In a container the parent is often one that never asks."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        entered = register(home, gateway(pid=child.pid, name="killed"))
        assert registered_gateways(home) == [entered]
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert registered_gateways(home) == []


def test_a_process_number_that_is_used_again_is_not_the_gateway(home: Home) -> None:
    entered = register(home, gateway(name="main"))
    (home.run / "main.json").write_bytes(msgspec.json.encode(structs.replace(entered, born="1")))
    assert registered_gateways(home) == []


def test_what_is_no_entry_is_removed_and_stops_nobody(home: Home) -> None:
    entered = register(home, gateway(name="main"))
    (home.run / "half.json").write_text('{"pid":')
    (home.run / "huge.json").write_text('{"pid":99999999999999999999,"url":""}')
    assert registered_gateways(home) == [entered]
    assert [path.name for path in home.run.iterdir()] == ["main.json"]
