"""Bodies that are sent to the admin: who may send one, how long it may take, how much all of them may hold."""

import socket

import pytest

from clew.admin import requests
from tests.admin.booth import Booth
from tests.waiting import until

HEAD = (
    b"POST /api/use HTTP/1.1\r\nhost: 127.0.0.1:%d\r\ncontent-type: application/json\r\n%bcontent-length: %d\r\n"
    b"connection: close\r\n\r\n"
)


def sent(booth: Booth, length: int, body: bytes = b"", *, token: bool = True) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", booth.port), timeout=60)
    bearer = f"authorization: Bearer {booth.admin.token}\r\n".encode() if token else b""
    connection.sendall(HEAD % (booth.port, bearer, length) + body)
    return connection


def status(connection: socket.socket) -> bytes:
    return connection.recv(65536)[:12]


def test_who_may_not_ask_is_refused_before_the_body_comes(booth: Booth) -> None:
    with sent(booth, 60_000, token=False) as stranger:
        assert status(stranger) == b"HTTP/1.1 401"


def test_silence_inside_a_body_has_a_limit(booth: Booth, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "SILENT_SECONDS", 0.05)
    with sent(booth, 60_000, b"{") as silent:
        assert status(silent) == b"HTTP/1.1 408"


def test_all_bodies_that_are_read_share_a_bound(booth: Booth, monkeypatch: pytest.MonkeyPatch) -> None:
    """Anyone who exceeds it is refused; what the others hold is given back when they are done."""
    monkeypatch.setattr(requests, "MOST_TOGETHER", 50_000)
    with sent(booth, 60_000, b"x" * 40_000) as first:
        until(lambda: requests.BodyBytes.together == 40_000)
        with sent(booth, 60_000, b"x" * 20_000) as second:
            assert status(second) == b"HTTP/1.1 503"
        until(lambda: requests.BodyBytes.together == 40_000)
        first.sendall(b"x" * 10_001)
        assert status(first) == b"HTTP/1.1 503"
    until(lambda: requests.BodyBytes.together == 0)
