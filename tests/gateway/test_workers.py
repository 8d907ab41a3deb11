"""Several processes on one port: they share the work, one that dies is replaced, and none outlives its parent."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from asyncio.subprocess import Process
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clew.gateway.ending import Ending
from clew.gateway.plan import Plan
from clew.gateway.workers import Workers
from clew.settings.load import SettingsText
from clew.testing import Simulator
from tests.admin.booth import Unix
from tests.forking import run_clew
from tests.gateway.served import MOST_SECONDS, Served, backend, listens
from tests.gateway.test_idle import MOST_WAKES, wakes_a_second
from tests.store.test_writer import Lock
from tests.waiting import until

pytestmark = pytest.mark.slow

CONFIG = 'active = "claude"\n[gateway]\nadmin_port = 0\ndrain_seconds = %d\nclosing_seconds = 30\n'
LONG = "about: long\n\nturn:\n  text: It begins.\n  pause: 60\n  text: It ends.\n"


@pytest.fixture
def vendor(tmp_path: Path) -> Iterator[Simulator]:
    (tmp_path / "long.scenario").write_text(LONG)
    with Simulator(scenario=str(tmp_path / "long.scenario")) as simulator:
        yield simulator


@pytest.fixture
def drain() -> int:
    return 2


@pytest.fixture
def gateway(vendor: Simulator, drain: int) -> Iterator[Served]:
    with Served(CONFIG % drain + backend("claude", vendor.url, 'realm = "anthropic"\n'), "--workers", "2") as served:
        until(lambda: len(workers(served)) == 2)
        yield served


def workers(served: Served) -> list[int]:
    """The children of the process that was started."""
    return children(served.process.pid)


def children(parent: int) -> list[int]:
    return sorted(pid for pid in _pids() if _parent(pid) == parent)


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]


def _parent(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0
    state, parent = text.rpartition(")")[2].split()[:2]
    return 0 if state == "Z" else int(parent)


def lives(pid: int) -> bool:
    return _parent(pid) != 0


def serving(served: Served) -> set[int]:
    """Which workers have the connections that are open now."""
    inodes = {pid: _sockets(pid) for pid in workers(served)}
    accepted = _accepted(served.port)
    return {pid for pid, own in inodes.items() if own & accepted}


def _sockets(pid: int) -> set[str]:
    found = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = os.readlink(link)
        except OSError:
            continue
        if target.startswith("socket:["):
            found.add(target[8:-1])
    return found


def _accepted(port: int) -> set[str]:
    """Inodes of established connections to this port."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {row[9] for row in rows if row[1].endswith(f":{port:04X}") and row[3] == "01"}


def test_they_share_the_port(gateway: Served) -> None:
    until(lambda: (gateway.peer(), len(serving(gateway)) == 2)[1], 120)
    assert all(gateway.get("/healthz")[0] == 200 for _ in range(20))


def is_ready(gateway: Served) -> bool:
    """The system refuses a connection that it had given to the killed one."""
    try:
        return gateway.get("/readyz")[0] == 200
    except ConnectionError:
        return False


def test_one_that_is_killed_is_replaced(gateway: Served) -> None:
    before = workers(gateway)
    os.kill(before[0], signal.SIGKILL)
    until(lambda: len(workers(gateway)) == 2 and before[0] not in workers(gateway), 120)
    until(lambda: is_ready(gateway))
    assert before[1] in workers(gateway), "the other one never noticed"
    until(
        lambda: "a worker process ended with status -9" in (gateway.home / "log").read_text()
    )  # the log has a thread of its own


def test_all_drain_with_their_parent(gateway: Served) -> None:
    streams = [gateway.ask() for _ in range(6)]
    for peer in streams:
        peer.read_until(b"It begins.")
    pids = workers(gateway)
    gateway.signal()
    assert gateway.ended() == 0
    assert [b"event: error" in peer.read_to_end() for peer in streams] == [True] * 6
    assert [pid for pid in pids if lives(pid)] == []
    assert {exchange.outcome for exchange in gateway.exchanges()} == {"cut"}


@pytest.mark.parametrize("drain", [600])
def test_a_second_signal_reaches_them_all(gateway: Served) -> None:
    """The first one alone would take ten minutes."""
    gateway.ask().read_until(b"It begins.")
    pids = workers(gateway)
    gateway.signal()
    until(lambda: not listens(gateway.port))
    gateway.signal(signal.SIGINT)
    assert gateway.ended() == 0
    assert [pid for pid in pids if lives(pid)] == []


def of_all(served: Served) -> dict[str, Any]:
    """The status, as the parent's admin tells it."""
    line = Unix(Path(served.told["socket"]))
    try:
        line.request("GET", "/api/status")
        return json.loads(line.getresponse().read())
    finally:
        line.close()


def counted(served: Served) -> str:
    line = Unix(Path(served.told["socket"]))
    try:
        line.request("GET", "/metrics")
        return line.getresponse().read().decode()
    finally:
        line.close()


def test_the_admin_counts_what_is_under_way_in_all_of_them(gateway: Served) -> None:
    assert of_all(gateway)["open_streams"] == 0
    streams = [gateway.ask() for _ in range(6)]
    for peer in streams:
        peer.read_until(b"It begins.")
    until(lambda: len(serving(gateway)) == 2 or streams.append(gateway.ask()))
    until(lambda: of_all(gateway)["open_streams"] == len(streams))
    assert f"clew_open_streams {len(streams)}.0" in counted(gateway)
    os.kill(workers(gateway)[0], signal.SIGKILL)
    until(lambda: 0 < of_all(gateway)["open_streams"] < len(streams))
    for peer in streams:
        peer.socket.close()
    until(lambda: of_all(gateway)["open_streams"] == 0)


def test_the_admin_tells_of_a_store_that_a_worker_cannot_write_to(gateway: Served) -> None:
    """Its own writer has nothing to write."""
    stream = gateway.ask()
    stream.read_until(b"It begins.")
    assert of_all(gateway)["store"]["state"] == "ok"
    with Lock(gateway.home / "clew.db"):
        stream.socket.close()
        until(lambda: of_all(gateway)["store"]["state"] == "degraded")
        assert 'clew_store_state{state="degraded"} 1.0' in counted(gateway)
    until(lambda: (gateway.ask().read_until(b"It begins."), of_all(gateway)["store"]["state"] == "ok")[1])


@pytest.mark.real_time
def test_one_that_nobody_asks_hardly_wakes(gateway: Served) -> None:
    """To tell its parent about itself takes no clock of its own."""
    until(lambda: all(wakes_a_second(pid) <= MOST_WAKES for pid in workers(gateway)))


def test_they_end_when_their_parent_is_killed(gateway: Served) -> None:
    pids = workers(gateway)
    gateway.signal(signal.SIGKILL)
    gateway.ended()
    until(lambda: not any(map(lives, pids)), 120)


NOBODY_LISTENS = (
    "import clew.cli, clew.gateway.workers as workers; workers._COMMAND = ('sleep', '60'); "
    "clew.cli.main(['serve', '--workers', '2', '--port', '0', '--no-admin'])"
)


def test_a_signal_ends_them_though_none_of_them_listens_yet(tmp_path: Path) -> None:
    """A service that is stopped while it starts, or whose workers cannot start at all."""
    environ = {"PATH": os.environ["PATH"], "CLEW_HOME": str(tmp_path / "home")}
    with subprocess.Popen([sys.executable, "-c", NOBODY_LISTENS], env=environ, stdout=subprocess.PIPE) as parent:
        until(lambda: len(children(parent.pid)) == 2)
        parent.send_signal(signal.SIGTERM)
        try:
            assert parent.communicate(timeout=MOST_SECONDS) == (b"", None)
            assert parent.returncode == 0
        finally:
            parent.kill()


def test_none_is_started_where_others_are_not_let_in(tmp_path: Path) -> None:
    """4.1: said once by their parent, and not by each of them again and again."""
    environ = {"PATH": os.environ["PATH"], "CLEW_HOME": str(tmp_path / "home")}
    command = ["serve", "--workers", "2", "--host", "0.0.0.0", "--no-admin"]
    told = run_clew(command, env=environ, timeout=MOST_SECONDS)
    assert (told.returncode, told.stdout) == (5, "")
    assert told.stderr.startswith("Error: other machines can reach 0.0.0.0, and no key exists for them: set CLEW_KEY")


def test_who_was_just_starting_when_all_were_told_to_end_is_told_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the end would wait for as long as streams may go on."""
    start = asyncio.create_subprocess_exec

    async def scene() -> None:
        ending = Ending()

        async def starts(*command: str, **options: Any) -> Process:
            process = await start(*command, **options)
            ending.ask()
            await asyncio.sleep(0)  # those that are known are told now
            return process

        monkeypatch.setattr(asyncio, "create_subprocess_exec", starts)
        workers = Workers(Plan(name="g"), 1, {"PATH": os.environ["PATH"]}, 600, lambda: SettingsText("", ""))
        await asyncio.wait_for(workers.run(ending), MOST_SECONDS)

    monkeypatch.setattr("clew.gateway.workers._COMMAND", ("sleep", "600"))
    asyncio.run(scene())
