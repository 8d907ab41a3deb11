"""A gateway ends when it is told to, whatever its threads do."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from clew.testing import Simulator
from tests.gateway.served import CLEW, Served, backend
from tests.waiting import until

pytestmark = pytest.mark.slow

HANGS = 60.0
"""Seconds after which a process that should end within two is taken for one that hangs."""
SHORT = "about: short\n\nturn:\n  text: Done.\n"
LONG = "about: long\n\nturn:\n  text: It begins.\n  pause: 3600\n  text: It ends.\n"
OCCUPIED = """
import signal, threading, time
from concurrent.futures import ThreadPoolExecutor

pools = set()
submit = ThreadPoolExecutor.submit

def remember(self, *given, **named):
    pools.add(self)
    return submit(self, *given, **named)

def occupy(*_):
    for pool in pools:
        for _ in range(100):
            submit(pool, time.sleep, 3600)

ThreadPoolExecutor.submit = remember
signal.signal(signal.SIGUSR2, occupy)
"""
"""As `sitecustomize`: from SIGUSR2 on, every thread that is there for work is at work for an hour."""


@pytest.fixture
def vendor(tmp_path: Path) -> Iterator[Simulator]:
    (tmp_path / "s.scenario").write_text(SHORT)
    with Simulator(scenario=str(tmp_path / "s.scenario")) as simulator:
        yield simulator


def config(vendor: Simulator, drain: float = 0.5) -> str:
    return f'active = "a"\n[gateway]\ndrain_seconds = {drain}\nadmin_port = 0\n' + backend("a", vendor.url)


def occupied(tmp_path: Path) -> tuple[str | Path, ...]:
    (tmp_path / "sitecustomize.py").write_text(OCCUPIED)
    return ("env", f"PYTHONPATH={tmp_path}", CLEW)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_threads_that_never_end_do_not_keep_it_and_what_was_answered_is_kept(
    vendor: Simulator, tmp_path: Path, workers: str
) -> None:
    with Served(config(vendor), "--workers", workers, command=occupied(tmp_path)) as gateway:
        assert b"message_stop" in gateway.ask().read_until(b"0\r\n\r\n")
        for pid in (gateway.process.pid, *_children(gateway.process.pid)):
            _send(pid, signal.SIGUSR2)
        gateway.signal()
        assert gateway.ended(HANGS) == 0
        assert _children(gateway.process.pid) == []
        assert [exchange.outcome for exchange in gateway.exchanges()] == ["whole"]


def _send(pid: int, number: signal.Signals) -> None:
    subprocess.run(["kill", f"-{number.value}", str(pid)], check=True)


def _children(pid: int) -> list[int]:
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True).stdout.split()
    return [int(each) for each in found]


@pytest.mark.parametrize("signals", [1, 2])
def test_a_store_that_cannot_be_written_does_not_keep_it(vendor: Simulator, signals: int) -> None:
    """Somebody else holds the lock, and does not let go; with two signals the drain is not waited for."""
    with Served(config(vendor, drain=0.5 if signals == 1 else 3600)) as gateway:
        gateway.ask().read_until(b"0\r\n\r\n")
        other = apsw.Connection(str(gateway.home / "clew.db"))
        other.set_busy_timeout(10_000)  # what comes after the turn may be written just now
        try:
            other.execute("begin immediate")
            gateway.ask().read_until(b"0\r\n\r\n")
            for _ in range(signals):
                gateway.signal()
            gateway.ended(HANGS)
        finally:
            other.close()


BUSY = """
import asyncio, sys, time
from clew.gateway.ending import Deadline, Ending

async def main(deadline):
    deadline.drain_seconds = lambda: float(sys.argv[1])
    with Ending().handle_signals(deadline):
        print("busy", flush=True)
        while True:
            pass

with Deadline() as deadline:
    asyncio.run(main(deadline))
"""


@pytest.mark.parametrize(("drain", "signals"), [("0.1", 1), ("3600", 2), ("3600", 3)])
def test_signals_are_heard_while_the_loop_is_busy(drain: str, signals: int) -> None:
    with subprocess.Popen([sys.executable, "-c", BUSY, drain], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"busy\n"
        heard = 0
        while process.poll() is None and heard < signals:
            process.send_signal(signal.SIGTERM)
            heard += 1
            if heard < signals:
                until(lambda heard=heard: _threads(process.pid) > heard or process.poll() is not None)
        assert process.wait(HANGS) == 1
        assert process.stderr is not None
        assert (
            process.stderr.read()
            == b"clew: ends now, although a thread is still at work. What it was doing may not be recorded.\n"
        )


def _threads(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/task").iterdir()))
