"""One key holder cannot take all the room: a bound for each principal, which says when to come back."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request

from clew.admin import requests, serving
from clew.admin.access import MOST_REQUESTS, Caller, RequestLimit
from clew.admin.problems import AdminProblem
from clew.engine.aside import LARGE
from clew.settings.home import Home
from clew.settings.named_keys import NamedKeys
from clew.testing import Simulator
from tests.admin.booth import Booth
from tests.admin.chat.served import ChatServer, configured, read_until
from tests.waiting import until

ANN, BOB = Caller("key", None, "ann"), Caller("key", None, "bob")
OWNERS = (None, Caller("socket"), Caller("token"), Caller("browser"))


def keyed(root: Path, principal: str) -> str:
    return NamedKeys(Home(root)).add(principal, principal=principal)[1]


def test_each_principal_has_room_of_its_own() -> None:
    crowd = RequestLimit(2)
    scopes: list[dict[str, Any]] = [{}, {}, {}]
    for scope in scopes[:2]:
        crowd.admit(scope, ANN)
    with pytest.raises(AdminProblem) as refused:
        crowd.admit(scopes[2], ANN)
    assert (refused.value.status, refused.value.headers) == (429, {"retry-after": "1"})
    crowd.admit(scopes[2], BOB)


def test_anyone_who_goes_makes_room_also_where_it_failed() -> None:
    crowd = RequestLimit(1)
    for _ in range(3):
        scope: dict[str, Any] = {}
        with suppress(ValueError), crowd.visit(scope):
            crowd.admit(scope, ANN)
            raise ValueError("broken")
    assert not crowd._running


def test_anyone_who_was_refused_takes_no_room_from_the_others() -> None:
    crowd = RequestLimit(1)
    first: dict[str, Any] = {}
    second: dict[str, Any] = {}
    with crowd.visit(first):
        crowd.admit(first, ANN)
        with pytest.raises(AdminProblem), crowd.visit(second):
            crowd.admit(second, ANN)
        with pytest.raises(AdminProblem):
            crowd.admit({}, ANN)
    crowd.admit({}, ANN)


@pytest.mark.parametrize("owner", OWNERS, ids=str)
def test_the_owner_is_not_counted(owner: Caller | None) -> None:
    crowd = RequestLimit(0)
    crowd.admit({}, owner)


@pytest.mark.slow
def test_a_key_that_takes_all_its_answers_leaves_the_others_theirs(tmp_path: Path) -> None:
    """429 with a time to come back, in words; another key is answered, and the first again when one of its own has ended."""
    with Simulator() as claude:
        root = configured(tmp_path / "h", {"claude": claude}, "[chat]\nmax_answers = 1\n")
        ann, bob = keyed(root, "ann"), keyed(root, "bob")
        with ChatServer(root) as server:
            claude.fault("stall 30 content=2")
            with server.posted("One.", chat="one", key=ann) as reply:
                read_until(reply, "start-step")
                with server.posted("Two.", chat="two", key=ann) as refused:
                    assert (refused.status, refused.headers["retry-after"]) == (429, "2")
                    assert b"1 of yours are under way" in refused.read()
                assert server.post("Two.", chat="two", key=bob)[-1]["type"] == "finish"
                server.call_api("/api/chat/one/stream", method="DELETE", key=ann)
            assert server.post("Two.", chat="two", key=ann)[-1]["type"] == "finish"


@pytest.mark.slow
def test_a_key_that_takes_all_its_requests_leaves_the_owner_and_others_theirs(tmp_path: Path) -> None:
    """Streams count until they end: they hold connections, of which there are only so many."""
    with Simulator() as claude:
        root = configured(tmp_path / "h", {"claude": claude})
        ann, bob = keyed(root, "ann"), keyed(root, "bob")
        with ChatServer(root) as server:
            crowd = server.services.limit = RequestLimit(2)
            claude.fault("stall 30 content=2")
            with server.posted("One.", chat="one", key=ann) as reply:
                read_until(reply, "start-step")
                with server.resumed("one", ann) as again:
                    read_until(again, "start-step")
                    refused = server.call_api("/api/chat", key=ann)
                    assert (refused.status, refused.headers["retry-after"]) == (429, "1")
                    assert server.call_api("/api/chat", key=bob).status == 200
                    assert server.ask("/api/status").status == 200
            until(lambda: not crowd._running)
            assert server.call_api("/api/chat", key=ann).status == 200
    assert MOST_REQUESTS < 200


@pytest.mark.parametrize("size", [10, LARGE + 10])
def test_a_large_body_is_read_in_a_thread(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Streams of others go on meanwhile."""
    threads: list[bool] = []
    decode = requests.msgspec.json.decode

    def noted(*args: Any, **given: Any) -> Any:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            threads.append(True)
        return decode(*args, **given)

    monkeypatch.setattr(requests.msgspec.json, "decode", noted)

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b'"%b"' % (b"x" * size), "more_body": False}

    async def read() -> str:
        return await requests.read_body(Request({"type": "http", "headers": []}, receive), str, 10 * LARGE)

    assert (len(asyncio.run(read())), threads) == (size, [True] if size > LARGE else [])


@contextmanager
def silent(booth: Booth, count: int) -> Iterator[None]:
    """Connections that say nothing."""
    with ExitStack() as stack:
        for _ in range(count):
            stack.enter_context(socket.create_connection(("127.0.0.1", booth.port), timeout=120))
        yield


def test_anyone_who_fills_the_port_leaves_the_owner_the_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "MOST_CONNECTIONS", 3)
    with Booth(tmp_path / "h") as booth, silent(booth, 3):
        until(lambda: booth.ask("/healthz", port=True).status == 503)
        assert booth.ask("/healthz").status == 200


def test_a_connection_that_says_nothing_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one by one they cannot keep others out for good."""
    monkeypatch.setattr(serving, "MOST_CONNECTIONS", 3)
    monkeypatch.setattr(serving, "SILENT_SECONDS", 0.2)
    with Booth(tmp_path / "h") as booth, silent(booth, 3):
        until(lambda: booth.ask("/healthz", port=True).status == 200)


def trickling(booth: Booth, said: bytes) -> bytes:
    """What comes back to somebody who says one more byte now and then, to the end."""
    with socket.create_connection(("127.0.0.1", booth.port), timeout=120) as connection:
        connection.sendall(said)
        came, end = b"", time.monotonic() + 120
        connection.settimeout(0.05)
        with suppress(OSError):
            while time.monotonic() < end:
                with suppress(TimeoutError):
                    if not (more := connection.recv(65536)):
                        return came
                    came += more
                connection.sendall(b"a")
            raise AssertionError("it was never closed")
        return came


def test_a_connection_whose_head_does_not_get_whole_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "SILENT_SECONDS", 0.2)
    with Booth(tmp_path / "h") as booth:
        assert trickling(booth, b"GET / HTTP/1.1\r\nx: ") == b""


def test_a_connection_whose_body_goes_on_after_its_answer_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "KEEP_ALIVE_SECONDS", 1)
    with Booth(tmp_path / "h") as booth:
        head = f"POST /api/use HTTP/1.1\r\nhost: 127.0.0.1:{booth.port}\r\ncontent-length: 9000\r\n\r\n"
        assert trickling(booth, head.encode()).startswith(b"HTTP/1.1 401 ")


@pytest.mark.parametrize("piece", [b"x: y\r\n", b"y", b"\r\n"])
def test_a_head_without_end_is_refused(kept_booth: Booth, piece: bytes) -> None:
    """It takes no more memory than a large one."""
    head = b"" if piece == b"\r\n" else b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1:%d\r\nx: " % kept_booth.port
    with socket.create_connection(("127.0.0.1", kept_booth.port), timeout=120) as connection:
        connection.sendall(head)
        assert taken(connection, piece * (65536 // len(piece)), 500) < 500


def taken(connection: socket.socket, piece: bytes, most: int) -> int:
    """How often it can be said until nobody listens."""
    for times in range(most):
        try:
            connection.sendall(piece)
        except ConnectionError:
            return times
    return most


def test_a_large_body_that_nobody_takes_is_refused_in_words(kept_booth: Booth) -> None:
    body = {"title": "x" * 1_000_000}
    assert kept_booth.ask("/api/threads/none/title", method="POST", body=body).status == 413
