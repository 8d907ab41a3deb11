"""`clew serve` in a process of its own, as a user starts it, with a home that outlives it."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from clew.model.turn import Exchange
from clew.store.sqlite.store import SqliteStore
from tests.forking import ClewProcess, run_clew
from tests.http.conftest import Peer
from tests.waiting import until

CLEW = Path(sys.executable).with_name("clew")
KEY = "a-gateway-key"
MOST_SECONDS = 120.0
"""For what must become so. It only detects hangs."""


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def worked(pid: int) -> float:
    """The seconds that a process has worked: what a busy machine adds to those on the wall is not counted."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Served:
    """`with Served(config) as gateway:`; the process is killed if it has not ended by itself. `command` is a program instead
    of `clew`; `patient` is as for `ClewProcess`, so that no turn is unrecorded because the machine is busy; `beside` is a
    gateway whose home this one shares, with a config of its own."""

    def __init__(
        self,
        config: str,
        *options: str,
        command: Sequence[str | Path] = (),
        patient: bool = True,
        beside: "Served | None" = None,
    ) -> None:
        self._command = command
        self._patient = patient
        self._directory = tempfile.TemporaryDirectory(prefix="clew-")
        own = Path(self._directory.name)
        self.home = beside.home if beside else own
        self.config = own / "clew.toml"
        self.config.write_text(config)
        self.config.chmod(0o600)
        self._options = ("--port", "0", *options)
        self.peers: list[Peer] = []

    @property
    def environment(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "CLEW_HOME": str(self.home), "CLEW_KEY": KEY}

    def __enter__(self) -> Self:
        self.log = (self.config.parent / "log").open("w")
        arguments = ["serve", "--json", "--config", self.config, *self._options]
        pipes: Any = {"env": self.environment, "stdout": subprocess.PIPE, "stderr": self.log, "text": True}
        if self._command:
            self.process = subprocess.Popen([*self._command, *arguments], **pipes)
        else:
            self.process = ClewProcess(arguments, patient=self._patient, **pipes)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"it did not start:\n{(self.config.parent / 'log').read_text()}"
        self.told = json.loads(line)
        self.url: str = self.told["url"]
        self.port = int(self.url.rpartition(":")[2])
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for peer in self.peers:
            peer.socket.close()
        if self.process.poll() is None:
            workers = self._children()
            self.process.kill()
            until(lambda: not any(map(_runs, workers)))  # they end with their parent, and write to its home until then
        self.process.wait(MOST_SECONDS)
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.log.close()
        self._directory.cleanup()

    def _children(self) -> list[str]:
        pid = self.process.pid
        return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()

    def peer(self) -> Peer:
        peer = Peer(self.port)
        peer.socket.settimeout(MOST_SECONDS)
        self.peers.append(peer)
        return peer

    def ask(self, prompt: str = "Why?", *, model: str = "claude-opus-5-5", stream: bool = True) -> Peer:
        """A request on a connection of its own; what comes back is the test's to read."""
        return self.peer().send(self.request(prompt, model=model, stream=stream))

    def request(self, prompt: str = "Why?", *, model: str = "claude-opus-5-5", stream: bool = True) -> bytes:
        messages = [{"role": "user", "content": prompt}]
        body = json.dumps({"model": model, "max_tokens": 2000, "stream": stream, "messages": messages}).encode()
        head = [
            b"POST /v1/messages?beta=true HTTP/1.1",
            f"Host: 127.0.0.1:{self.port}".encode(),
            b"content-type: application/json",
            b"anthropic-version: 2023-06-01",
            b"x-api-key: " + KEY.encode(),
            b"content-length: %d" % len(body),
        ]
        return b"\r\n".join([*head, b"", body])

    def get(self, path: str, peer: Peer | None = None) -> tuple[int, dict[str, str], bytes]:
        asked = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nx-api-key: {KEY}\r\n\r\n"
        return (peer or self.peer()).send(asked.encode()).response()

    def signal(self, number: signal.Signals = signal.SIGTERM) -> None:
        self.process.send_signal(number)

    def ended(self, seconds: float = MOST_SECONDS) -> int:
        return self.process.wait(seconds)

    def clew(self, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Another command in the same home, with these variables beside the gateway's."""
        return run_clew(arguments, env=self.environment | environ, timeout=MOST_SECONDS)

    def exchanges(self) -> Sequence[Exchange]:
        with SqliteStore(self.home / "clew.db") as store:
            assert store.verify() == ()
            return store.exchanges("local", limit=1000)


def backend(name: str, url: str, more: str = "") -> str:
    return f'\n[backends.{name}]\nurl = "{url}"\nauth = "key"\nkey = "sim-test-key"\n{more}'


def _runs(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False
