"""What is measured: nginx as a plain proxy, and clew as a user starts it, both in front of the same mock.

Each target is a process on a core of its own (where there are two); the mock and the load share the other. A target that is
not there says so and is left out.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from string import Template

from machine import pin, tree_of

__all__ = ["KEY", "Load", "Target", "build", "clew", "free_port", "load", "mock", "plain_proxy", "running"]

HERE = Path(__file__).parent / "wire"
KEY = "bench-0123456789abcdef"
START_SECONDS = 20.0


@dataclass(kw_only=True)
class Target:
    """Something that listens on `port` and relays to the mock. Without a command it is the mock itself."""

    name: str
    port: int
    command: list[str] = field(default_factory=list[str])
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    folder: Path = Path()
    headers: tuple[str, ...] = ()
    process: subprocess.Popen[bytes] | None = None

    @property
    def pids(self) -> list[int]:
        return tree_of(self.process.pid) if self.process else []


@dataclass(frozen=True)
class Load:
    """What one load found; times in microseconds."""

    done: int
    failed: int
    refused: int
    unfinished: int
    streaming: int
    seconds: float
    events: int
    bytes: int
    time_p50: int
    time_p99: int
    content_p50: int
    content_p99: int

    @property
    def bad(self) -> int:
        return self.failed + self.refused + self.unfinished


def build(folder: Path) -> None:
    """Compile the mock and the load. Exits with what is missing."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None or sys.platform != "linux":
        sys.exit("the gateway's bench needs Linux and a C compiler (cc): its mock and its load must cost next to nothing")
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("mock", "load"):
        subprocess.run([compiler, "-O2", "-o", str(folder / name), str(HERE / f"{name}.c")], check=True)


def plain_proxy(executable: Path, folder: Path, upstream: int) -> Target:
    """A plain proxy without buffering."""
    port, home = free_port(), folder / "nginx"
    home.mkdir(parents=True, exist_ok=True)
    config = Template((HERE / "nginx.conf").read_text()).substitute(port=port, upstream=upstream)
    (home / "nginx.conf").write_text(config)
    return Target(
        name="nginx", port=port, command=[str(executable), "-p", str(home), "-c", str(home / "nginx.conf")], folder=home
    )


def clew(name: str, folder: Path, upstream: int, *, store: str) -> Target:
    """`clew serve` with a config file and a gateway key. `store` is what the config's `[store]` says."""
    port, home = free_port(), folder / name
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    config = Template((HERE / "clew.toml").read_text()).substitute(
        port=port, admin=free_port(), upstream=upstream, store=store
    )
    (home / "clew.toml").write_text(config)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANTHROPIC_", "CLEW_"))}
    return Target(
        name=name,
        port=port,
        command=[str(Path(sys.executable).with_name("clew")), "serve", "--config", str(home / "clew.toml")],
        env={**kept, "CLEW_HOME": str(home), "CLEW_KEY": KEY},
        folder=home,
        headers=(f"x-api-key: {KEY}",),
    )


@contextmanager
def running(target: Target) -> Iterator[float]:
    """The target, listening; gives the seconds that it took to get there."""
    if not target.command:
        yield 0.0
        return
    with (target.folder / f"{target.name}.log").open("wb") as log:
        began = time.monotonic()
        env = dict(target.env) or None
        target.process = subprocess.Popen([*pin(0), *target.command], env=env, stdout=log, stderr=log, cwd=target.folder)
        try:
            yield _listening(target, began)
        finally:
            _stop(target.process)
            target.process = None


def _listening(target: Target, began: float) -> float:
    assert target.process
    while time.monotonic() - began < START_SECONDS:
        if target.process.poll() is not None:
            break
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", target.port)) == 0:
                return time.monotonic() - began
        time.sleep(0.002)
    sys.exit(f"{target.name} does not listen:\n{(target.folder / f'{target.name}.log').read_text()[-2000:]}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        for pid in tree_of(process.pid):
            os.kill(pid, signal.SIGKILL)
        process.wait(5)


@contextmanager
def mock(folder: Path, port: int, *, pace: int) -> Iterator[None]:
    """The backend, with so many milliseconds between the events of a paced answer."""
    files = [str(folder / name) for name in ("stream.sse", "short.sse", "chat.sse", "answer.json")]
    command = [*pin(1), str(folder / "mock"), str(port), *files, str(pace)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout
        try:
            if process.stdout.readline() != b"listening\n":
                sys.exit("the mock does not listen")
            yield
        finally:
            process.kill()


def load(folder: Path, target: Target, body: str, *, connections: int, requests: int, seconds: float) -> Load:
    """Send so many requests, and wait for the answers at most so long."""
    numbers = [str(folder / f"{body}.json"), str(connections), str(requests), str(seconds)]
    command = [*pin(1), str(folder / "load"), str(target.port), *numbers, *target.headers]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 20)
    if ran.returncode:
        sys.exit(f"the load on {target.name} failed: {ran.stderr}")
    return Load(**json.loads(ran.stdout))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
