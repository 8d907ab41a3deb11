"""What happens to requests while the settings change under them, or the whole process stands still."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from clew.testing import Simulator
from tests.counts import examples
from tests.gateway.served import Served, backend
from tests.manifest import proves
from tests.waiting import until

pytestmark = pytest.mark.slow

HEAD = "[gateway]\nadmin_port = 0\ndrain_seconds = 1\nclosing_seconds = 30\n"
ANTHROPIC = 'realm = "anthropic"\n'
ROUNDS = examples(6, soak=100)


class Load:
    """Clients that ask without a pause; `failed` is what any of them was told but an answer."""

    def __init__(self, gateway: Served, clients: int = 3) -> None:
        self.gateway = gateway
        self.answers = 0
        self.failed: list[tuple[int, bytes]] = []
        self._ending = threading.Event()
        self._threads = [threading.Thread(target=self._ask, args=(n,)) for n in range(clients)]

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ending.set()
        for thread in self._threads:
            thread.join(120)

    def _ask(self, number: int) -> None:
        peer = self.gateway.peer()
        while not self._ending.is_set():
            status, _, body = peer.send(self.gateway.request(f"Client {number}", stream=False)).response()
            self.answers += 1
            if status != 200:
                self.failed.append((status, body))


def descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


@proves("fault:P5")
def test_no_request_fails_while_the_config_changes_again_and_again() -> None:
    """Backends come, go, change their names and their keys; each request keeps what it began with."""
    with Simulator() as one, Simulator() as two:
        forms = [
            f'active = "a"\n{HEAD}' + backend("a", one.url, ANTHROPIC),
            f'active = "b"\n{HEAD}' + backend("a", one.url, ANTHROPIC) + backend("b", two.url, ANTHROPIC),
            f'active = "c"\n{HEAD}' + backend("c", two.url, ANTHROPIC).replace("sim-test-key", "sim-other-1"),
        ]
        with Served(forms[0]) as gateway:
            until(lambda: gateway.get("/readyz")[0] == 200)
            with Load(gateway) as load:
                until(lambda: load.answers > 5)
                before = descriptors(gateway.process.pid)
                for n in range(ROUNDS):
                    heard = (len(two.journal()), len(one.journal()))
                    _saved(gateway.config, forms[(n + 1) % 3])
                    turn = 1 if (n + 1) % 3 == 0 else 0
                    vendor, known = ((two, heard[0]), (one, heard[1]))[turn]
                    until(lambda vendor=vendor, known=known: len(vendor.journal()) > known + 3)
                until(
                    lambda: descriptors(gateway.process.pid) - before < 12
                )  # connections to those that are gone are not kept
            assert load.failed == []


def _saved(path: Path, text: str) -> None:
    """As most editors do it."""
    fresh = path.with_suffix(".new")
    fresh.write_text(text)
    fresh.chmod(0o600)
    fresh.replace(path)


@proves("fault:P4")
@pytest.mark.real_time
def test_a_process_that_stood_still_goes_on_where_it_was(tmp_path: Path) -> None:
    """Nobody is cancelled for it: neither the stream nor the connections that waited."""
    (tmp_path / "slow.scenario").write_text("about: slow\n\nturn:\n  text: It begins.\n  pause: 1.0\n  text: It ends.\n")
    with (
        Simulator(scenario=str(tmp_path / "slow.scenario")) as vendor,
        Served(f'active = "a"\n{HEAD}' + backend("a", vendor.url, ANTHROPIC)) as gateway,
    ):
        idle = gateway.peer()
        assert gateway.get("/healthz", idle)[0] == 200
        stream = gateway.ask()
        stream.read_until(b"It begins.")
        gateway.signal(signal.SIGSTOP)
        time.sleep(examples(3, soak=10))
        gateway.signal(signal.SIGCONT)
        assert b"message_stop" in stream.read_until(b"0\r\n\r\n")
        assert gateway.get("/healthz", idle)[0] == 200
        assert b"message_stop" in gateway.ask().read_until(b"0\r\n\r\n")
