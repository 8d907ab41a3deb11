"""What one streamed request of an agent passes through: functions of clew, calls, and statements of the store.

`clew serve` runs in a process of its own with default settings, with a hook on every call of a Python function
(`sys.setprofile`) and on every statement (`apsw`). A simulator in this process answers. A conversation like Claude Code's is
held, and what runs between a request and the end of its answer is counted. What also runs while the gateway is idle is not
counted. The numbers vary by a few per cent with the pieces in which a stream arrives, so the median and the range are given.
A coroutine or generator that goes on counts as a call.

A *hop* is a function that a reader has to go through to follow the request: on the event loop, between the read of a socket
and the end of the answer, with at least ten other functions of clew below it. What has fewer is a detail of one hop.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPResponse
from pathlib import Path
from socket import create_connection
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

ROOT = Path(__file__).parent.parent
KEY = "a-key-for-counting"
WARM, COUNTED = 4, 9
"""Turns before anything is counted, and turns that are."""

STARTING = ("clew/cli/", "clew/http/loops.py")
"""The program itself: every read runs below it."""

COUNTING = """
import asyncio, json, sys, threading
import apsw

ON = False
CALLS, SQL, BELOW = {}, [], {}
LOOP = asyncio._get_running_loop

def where():
    return "loop" if LOOP() is not None else threading.current_thread().name

def name_of(code):
    if "/src/clew/" in code.co_filename and not code.co_name.startswith("<"):
        return code.co_filename.partition("/src/")[2], code.co_qualname

def called(frame, event, argument):
    if ON and event == "call":
        name = name_of(frame.f_code)
        if name is not None:
            on_loop = LOOP() is not None
            key = (*name, "loop" if on_loop else "other")
            CALLS[key] = CALLS.get(key, 0) + 1
            while on_loop and (frame := frame.f_back) is not None:
                above = name_of(frame.f_code)
                if above is not None and above != name:
                    BELOW.setdefault(" ".join(above), set()).add(name)

def executed(cursor, sql, bindings):
    if ON:
        SQL.append((" ".join(sql.split())[:160], where()))
    return True

def opened(connection):
    connection.exec_trace = executed

def follow_orders():
    global ON
    for order in sys.stdin:
        if order == "on\\n":
            CALLS.clear(); SQL.clear(); BELOW.clear(); ON = True
            print("@ok", flush=True)
        else:
            ON = False
            below = {name: len(under) for name, under in BELOW.items()}
            print("@" + json.dumps([[[*key, n] for key, n in CALLS.items()], SQL, below]), flush=True)

apsw.connection_hooks.append(opened)
threading.Thread(target=follow_orders, daemon=True).start()
threading.setprofile(called)
sys.setprofile(called)
from clew.cli import main
main(prog_name="clew")
"""


@dataclass(frozen=True)
class Counted:
    """What ran while something was counted."""

    calls: dict[tuple[str, str, str], int]
    statements: list[tuple[str, str]]
    below: dict[str, int]
    """How many other functions ran below a function, on the event loop."""

    @property
    def hops(self) -> list[str]:
        return sorted(name for name, count in self.below.items() if count >= 10 and not name.startswith(STARTING))


class Gateway:
    """A gateway that counts. `source` is the checkout whose code it runs."""

    def __init__(self, source: Path, home: Path, backend: str) -> None:
        self._home = home
        config = f'active = "claude"\n[backends.claude]\npreset = "anthropic"\nurl = "{backend}"\nkey = "${{SIM_KEY}}"\n'
        (home / "clew.toml").write_text(config)
        environ = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(source / "src"),
            "CLEW_HOME": str(home),
            "CLEW_KEY": KEY,
            "SIM_KEY": "sim-test-key",
        }
        self._process = subprocess.Popen(
            [sys.executable, "-c", COUNTING, "serve", "--port", "0", "--no-admin"],
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.url = self._wait()

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()

    def start_counting(self) -> None:
        self._order("on")

    def counted(self) -> Counted:
        calls, statements, below = json.loads(self._order("off"))
        return Counted(
            {(file, name, where): n for file, name, where, n in calls}, [(sql, where) for sql, where in statements], below
        )

    def _order(self, order: str) -> str:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(order + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith("@"):
                return line[1:]
        raise RuntimeError("the gateway ended")

    def _wait(self) -> str:
        """Until it answers; the address stands in its home."""
        for _ in range(600):
            for file in (self._home / "run").glob("*.json"):
                url = json.loads(file.read_text())["url"]
                try:
                    with urlopen(f"{url}/readyz", timeout=5):
                        return url
                except (URLError, ConnectionError, TimeoutError):
                    pass
            time.sleep(0.1)
        raise RuntimeError("the gateway did not start")


class Agent:
    """A client like Claude Code: a session, a system prompt, tools, thinking, its whole history with each request; and one
    connection for all of them."""

    def __init__(self, url: str) -> None:
        self._host = url.removeprefix("http://")
        name, _, port = self._host.partition(":")
        self._socket = create_connection((name, int(port)), timeout=120)
        self._messages: list[Any] = []

    def ask(self) -> None:
        """One more turn."""
        self._messages.append({"role": "user", "content": [{"type": "text", "text": f"Question {len(self._messages)}."}]})
        body = {
            "model": "claude-opus-5-5",
            "max_tokens": 32000,
            "stream": True,
            "system": [{"type": "text", "text": "You help with code."}],
            "thinking": {"type": "adaptive", "display": "summarized"},
            "tools": [{"name": "Bash", "description": "Run a command.", "input_schema": {"type": "object"}}],
            "messages": self._messages,
        }
        data = json.dumps(body).encode()
        headers = {
            "host": self._host,
            "content-length": str(len(data)),
            "content-type": "application/json",
            "authorization": f"Bearer {KEY}",
            "anthropic-version": "2023-06-01",
            "x-claude-code-session-id": "0a1b2c3d-0000-4000-8000-000000000000",
            "user-agent": "claude-cli/2.1.325 (external, sdk-cli)",
        }
        lines = ["POST /v1/messages?beta=true HTTP/1.1", *[f"{name}: {value}" for name, value in headers.items()], "", ""]
        self._socket.sendall("\r\n".join(lines).encode() + data)
        answer = HTTPResponse(self._socket, method="POST")
        answer.begin()
        self._messages.append({"role": "assistant", "content": content_of(answer.read().decode())})


def content_of(stream: str) -> list[dict[str, Any]]:
    """The blocks of a streamed answer."""
    blocks: list[dict[str, Any]] = []
    for line in stream.splitlines():
        event = json.loads(line[6:]) if line.startswith("data: ") else {}
        if event.get("type") == "content_block_start":
            blocks.append(event["content_block"])
        for name, value in event.get("delta", {}).items():
            if name in ("text", "thinking", "signature"):
                blocks[-1][name] = blocks[-1].get(name, "") + value
    return blocks


@contextmanager
def _gateway(source: Path) -> Iterator[Gateway]:
    from clew.testing import Simulator

    with tempfile.TemporaryDirectory(prefix="clew-hops-") as scratch, Simulator(scenario="thinking") as simulator:
        home = Path(scratch) / "home"
        home.mkdir(mode=0o700)
        gateway = Gateway(source, home, simulator.url)
        try:
            yield gateway
        finally:
            gateway.close()


def measured(source: Path, *, names_hops: bool = False) -> str:
    """The figures of one turn, as medians over some; and the hops of the last one by name."""
    with _gateway(source) as gateway:
        agent = Agent(gateway.url)
        for _ in range(WARM):
            agent.ask()
        gateway.start_counting()
        time.sleep(2.0)  # what an idle gateway does in this time is no part of a request
        idle = gateway.counted()
        turns = [_turn(gateway, agent, idle) for _ in range(COUNTED)]
    hops = [f"        {name}" for name in turns[-1].hops] if names_hops else []
    return "\n".join([*_lines(turns), *hops])


def _turn(gateway: Gateway, agent: Agent, idle: Counted) -> Counted:
    gateway.start_counting()
    agent.ask()
    time.sleep(0.5)  # the gateway still writes its log and lets go of the connections
    found = gateway.counted()
    calls = {key: n for key, n in found.calls.items() if key not in idle.calls}
    known = {sql for sql, _ in idle.statements}
    return Counted(calls, [each for each in found.statements if each[0] not in known], found.below)


def _lines(turns: list[Counted]) -> Iterator[str]:
    def middle(values: list[int]) -> str:
        low, high = min(values), max(values)
        return f"{statistics.median(values):g}" + (f" ({low} to {high})" if low < high else "")

    def distinct(turn: Counted, where: str = "") -> int:
        return len({key[:2] for key in turn.calls if not where or key[2] == where})

    reads = [[each for each in turn.statements if each[0].upper().startswith(("SELECT", "WITH"))] for turn in turns]
    on_loop = [[each for each in found if each[1] == "loop"] for found in reads]
    files = [len({key[0] for key in turn.calls}) for turn in turns]
    yield f"one streamed request: functions         {middle([distinct(turn) for turn in turns])}, in {middle(files)} files"
    yield f"    hops                                {middle([len(turn.hops) for turn in turns])}"
    yield f"    of them on the event loop           {middle([distinct(turn, 'loop') for turn in turns])}"
    yield f"    calls                               {middle([sum(turn.calls.values()) for turn in turns])}"
    yield f"    statements of the store             {middle([len(turn.statements) for turn in turns])}"
    yield f"    look-ups (SELECT)                   {middle(list(map(len, reads)))}"
    yield f"    look-ups on the event loop          {middle(list(map(len, on_loop)))}"
    yield from (f"        {sql[:110]} [{where}]" for sql, where in reads[-1])
