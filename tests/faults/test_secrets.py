"""Canaries in every slot that takes a secret, a gateway that is put through much, and a look into all that it leaves behind."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from clew.admin.routes import ROUTES
from clew.testing import Simulator
from clew.web import routes
from tests.engine.gate import Answer, claude, post
from tests.faults.conftest import Gating
from tests.faults.scene import impatient, kept, question
from tests.gateway.served import Served
from tests.manifest import proves
from tests.waiting import until

pytestmark = pytest.mark.slow

CANARIES: Mapping[str, str] = {
    "FIRST_KEY": "sim-canary-first-key",
    "SECOND_KEY": "sim-canary-second-key",
    "BEARER_KEY": "sim-canary-bearer-key",
    "CLEW_KEY": "canary-of-the-gateway",
    "CLEW_SECRET": "canary-of-the-seals-which-must-be-long",
}
FILE_KEY = "sim-canary-file-key"
OWN = "sk-ant-canary-of-the-client"
CONFIG = """
active = "first"
[gateway]
admin_port = 0
drain_seconds = 1
closing_seconds = 30
[retry]
retries = 0
cool_seconds = 0.01
[store]
bodies = "all"
[log]
level = "trace"
debug = true
full_body = true
thinking_text = true
[backends.first]
url = "{first}"
realm = "anthropic"
auth = "key"
keys = ["${{FIRST_KEY}}", "${{SECOND_KEY}}"]
[backends.second]
url = "{second}"
auth = "bearer"
key = "${{BEARER_KEY}}"
[backends.third]
url = "{second}"
auth = "key"
key = "file:{file}"
[backends.own]
url = "{first}"
realm = "anthropic"
auth = "passthrough"
[backends.dead]
url = "http://127.0.0.1:9"
auth = "key"
key = "${{FIRST_KEY}}"
"""
FAULTS = (
    *("status 401", "status 403", "status 400", "status 429 retry-after=0", "status 529", "error overloaded_error"),
    *("cut content=3", "content-type text/html", "no-answer rst", "bad-json content=2"),
)


class Watched(Served):
    """With a canary in each variable."""

    @property
    def environment(self) -> dict[str, str]:
        return super().environment | dict(CANARIES)


@pytest.fixture
def vendors() -> Iterator[tuple[Simulator, Simulator]]:
    with ExitStack() as stack:
        yield stack.enter_context(Simulator(realm="a")), stack.enter_context(Simulator(realm="b"))


@pytest.fixture
def gateway(vendors: tuple[Simulator, Simulator], tmp_path: Path) -> Iterator[Watched]:
    file = tmp_path / "key"
    file.write_text(FILE_KEY)
    file.chmod(0o600)
    with Watched(CONFIG.format(first=vendors[0].url, second=vendors[1].url, file=file)) as served:
        yield served


class Leaks:
    """Collects texts, and finds canaries in them."""

    def __init__(self, *more: str) -> None:
        self._canaries = [*CANARIES.values(), FILE_KEY, OWN, *more]
        self.found: list[tuple[str, str]] = []
        self.looked = 0

    def look(self, where: str, what: bytes | str) -> None:
        raw = what.encode() if isinstance(what, str) else what
        self.looked += 1
        self.found += [(where, canary) for canary in self._canaries if canary.encode() in raw]


def put_through_much(gateway: Watched, vendors: tuple[Simulator, Simulator], keys: list[str]) -> Iterator[Answer]:
    """Every backend, every kind of key, every kind of failure."""
    for name in ("first", "second", "third", "own", "dead"):
        gateway.clew("use", name)
        wait_for(gateway, name)
        for key in keys:
            yield asked(gateway, {"x-clew-key": key, "x-api-key": OWN})
    gateway.clew("use", "first")
    wait_for(gateway, "first")
    for fault in FAULTS:
        for stream in (True, False):
            vendors[0].fault(fault, times=2)
            yield asked(gateway, {"x-api-key": keys[0]}, stream=stream)
            vendors[0].reset()
    yield asked(gateway, {"x-api-key": keys[0] + "x", "authorization": f"Bearer {OWN}"})
    yield post(gateway.url, b"{", path="/v1/messages", headers={"x-api-key": keys[0]})
    yield post(gateway.url, b"{}", path=f"/v1/nowhere?key={keys[0]}", headers={"x-api-key": keys[0]})


def asked(gateway: Watched, headers: Mapping[str, str], **fields: Any) -> Answer:
    return post(gateway.url, question(**fields), path="/v1/messages", headers=headers)


def wait_for(gateway: Watched, backend: str) -> None:
    """Until the switch is seen."""
    headers = {"x-clew-key": CANARIES["CLEW_KEY"], "x-api-key": OWN}
    until(lambda: asked(gateway, headers).headers["x-clew-backend"] == backend)


def admin_answers(gateway: Watched, ids: list[str]) -> Iterator[tuple[str, bytes]]:
    """Every route that tells something, over the socket of the owner."""
    for route in [*ROUTES, *routes()]:
        if route.method == "GET" and route.path != "/api/events":
            for id in ids if "{id}" in route.path else [""]:
                yield route.path, over_socket(Path(gateway.told["socket"]), route.path.replace("{id}", id))


def over_socket(path: Path, target: str) -> bytes:
    connection = http.client.HTTPConnection("clew", timeout=120)
    connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.sock.connect(str(path))
    connection.request("GET", target)
    raw = connection.getresponse().read()
    connection.close()
    return raw


COMMANDS = (
    *(("status",), ("status", "--json"), ("log",), ("log", "--json"), ("show",), ("backends",), ("models",)),
    *(("config", "show"), ("config", "show", "--origin"), ("config", "check"), ("keys", "list"), ("doctor",)),
    ("doctor", "--json"),
)


@proves("fault:X12")
def test_no_secret_is_found_anywhere(gateway: Watched, vendors: tuple[Simulator, Simulator]) -> None:
    """X12, 3.9: not in answers, headers, log, store, admin, metrics, registry, commands or command lines."""
    minted = gateway.clew("keys", "add", "anna", "--principal", "anna").stdout.split()
    named = next(word for word in minted if word.startswith("clew_"))
    leaks = Leaks(named)
    ids = []
    for n, answer in enumerate(put_through_much(gateway, vendors, [CANARIES["CLEW_KEY"], named])):
        leaks.look(f"answer {n} ({answer.status})", json.dumps(dict(answer.headers)).encode() + answer.raw)
        ids.append(answer.headers.get("x-clew-exchange", ""))
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        leaks.look(str(path), readable(path))
    threads = [thread["id"] for thread in json.loads(over_socket(Path(gateway.told["socket"]), "/api/threads"))["threads"]]
    for where, raw in admin_answers(gateway, [*filter(None, ids[:4]), *threads[:4]]):
        leaks.look(where, raw)
    for command in COMMANDS:
        ran = gateway.clew(*command)
        leaks.look(" ".join(command), ran.stdout + ran.stderr)
    files = [path for path in gateway.home.rglob("*") if path.is_file()]
    for path in files:
        leaks.look(path.name, path.read_bytes())
    gateway.signal()
    assert gateway.ended() == 0
    for path in [path for path in gateway.home.rglob("*") if path.is_file()]:
        leaks.look(f"{path.name}, after the end", path.read_bytes())
    assert leaks.found == []
    assert {"clew.db", "clew.db-wal", "log", "keys-known.json"} <= {path.name for path in files}
    assert leaks.looked > 100


def readable(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


@proves("fault:X12", "fault:U18")
@pytest.mark.parametrize(
    "fault",
    [
        "status 400 message='What is {key}?'",
        "status 500 content-type=text/html body='<h1>Request headers</h1>x-api-key: {key}'",
        "status 200 content-type=text/html body='You sent {key}'",
        "status 200 body='[\"{key}\"]'",
        "error overloaded_error message='Too much of {key}'",
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_a_backend_that_repeats_our_key_does_not_tell_it_to_the_client(
    gating: Gating, a: Simulator, fault: str, stream: bool
) -> None:
    """X12: neither to the client nor to the store; the key is the operator's, whatever it looks like."""
    gate = gating(claude(a), **impatient())
    a.fault(fault.format(key=a.key), times=None)
    answer = gate.ask(question(stream=stream))
    assert answer.status >= 400
    assert a.key.encode() not in answer.raw
    [exchange] = kept(gate)
    assert a.key not in repr(exchange)
