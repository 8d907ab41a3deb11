"""What is measured: nginx as a plain proxy, and clew as a user starts it, all in front of the same mock.

Each target is a process on a core of its own (where there are two); the mock and the load share the other. A target that is
not there says so and is left out.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from string import Template

from backend import Backend
from cases import Case
from machine import free_port, pin, tree_of, until_open
from traffic import MODEL

__all__ = ["KEY", "Target", "clew", "plain_proxy", "running"]

HERE = Path(__file__).parent / "wire"
KEY = "bench-0123456789abcdef"
_OF_TLS = ("proxy_ssl", "terminator")
_CLEW = "from clew.cli import main; main()"


@dataclass(kw_only=True)
class Target:
    """Something that listens on `port` and relays to the mock. Without a command it is the mock itself."""

    name: str
    port: int
    command: list[str] = field(default_factory=list[str])
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    folder: Path = Path()
    headers: tuple[str, ...] = ()
    models: Mapping[str, str] = field(default_factory=dict[str, str])
    """How a model is asked for: `chat` and `responses` for backends of other dialects, `tls` and `chat-tls` over TLS."""
    base_path: str = ""
    """What stands before the path of every request."""
    tls_path: str = ""
    """What stands before the path of a request that is to go over TLS."""
    patience: float = 20.0
    """Seconds until it listens."""
    skips: frozenset[str] = frozenset()
    """Cases that it cannot be asked, by their keys."""
    process: subprocess.Popen[bytes] | None = None

    @property
    def pids(self) -> list[int]:
        return tree_of(self.process.pid) if self.process else []

    def disk_bytes(self) -> int:
        """Of its store."""
        return sum(file.stat().st_size for file in self.folder.rglob("*.db*"))

    def model(self, case: Case) -> str:
        kind = "-".join([*filter(None, [case.backend]), *["tls"] * case.tls])
        return self.models.get(kind, MODEL)

    def path(self, case: Case) -> str:
        path = "/v1/messages/count_tokens" if case.counts else f"/v1/{case.front}"
        return self.base_path + (self.tls_path if case.tls else "") + path


def plain_proxy(executable: Path, folder: Path, backend: Backend) -> Target:
    """A plain proxy without buffering."""
    port, home = free_port(), folder / "nginx"
    home.mkdir(parents=True, exist_ok=True)
    given = {
        "port": port,
        "upstream": backend.port,
        "terminator": backend.tls_port,
        "certificate": backend.certificate or "",
    }
    text = Template((HERE / "nginx.conf").read_text()).substitute(given)
    (home / "nginx.conf").write_text(text if backend.certificate else _without_tls(text))
    command = [str(executable), "-p", str(home), "-c", str(home / "nginx.conf")]
    return Target(name="nginx", port=port, command=command, folder=home, tls_path="/tls")


def _without_tls(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if not any(word in line for word in _OF_TLS))


def clew(
    name: str,
    folder: Path,
    backend: Backend,
    *,
    settings: str = "",
    source: Path | None = None,
    python: Path | None = None,
) -> Target:
    """`clew serve` as it comes: its config file names the backends, and nothing else but `settings`. `source` is another
    checkout than this one, `python` another interpreter."""
    port, home = free_port(), folder / name.replace("/", "-")
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    (home / "clew.toml").write_text(_config(backend, settings))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANTHROPIC_", "CLEW_"))}
    path = {"PYTHONPATH": str(source / "src")} if source else {}
    trusted = {"SSL_CERT_FILE": str(backend.certificate)} if backend.certificate else {}
    place = ["--port", str(port), "--admin-port", str(free_port())]
    return Target(
        name=name,
        port=port,
        command=[str(python or sys.executable), "-c", _CLEW, "serve", "--config", str(home / "clew.toml"), *place],
        env={**kept, **path, **trusted, "CLEW_HOME": str(home), "CLEW_KEY": KEY},
        folder=home,
        headers=(f"x-api-key: {KEY}",),
        models={kind: f"anthropic/{kind}" for kind in ("chat", "responses", "tls", "chat-tls")},
    )


def _config(backend: Backend, settings: str) -> str:
    rows = Template((HERE / "clew.toml").read_text()).substitute(upstream=backend.port)
    if backend.certificate:
        rows += Template((HERE / "clew-tls.toml").read_text()).substitute(terminator=backend.tls_port)
    return rows + settings


@contextmanager
def running(target: Target) -> Iterator[float]:
    """The target, listening; gives the seconds that it took to get there."""
    if not target.command:
        yield 0.0
        return
    log_file = target.folder / f"{target.folder.name}.log"
    with log_file.open("wb") as log:
        began = time.monotonic()
        env = dict(target.env) or None
        target.process = subprocess.Popen([*pin(0), *target.command], env=env, stdout=log, stderr=log, cwd=target.folder)
        try:
            if not until_open(target.port, target.patience, target.process):
                sys.exit(f"{target.name} does not listen:\n{log_file.read_text()[-2000:]}")
            yield time.monotonic() - began
        finally:
            _stop(target.process)
            target.process = None


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        for pid in tree_of(process.pid):
            os.kill(pid, signal.SIGKILL)
        process.wait(5)
