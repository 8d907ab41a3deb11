"""A backend whose status line says what HTTP does not have: an error at once, and no wait for a better one."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import pytest

from clew.backends.credential import Secret
from clew.backends.row import Backend
from clew.settings.values import Retry
from tests.engine.chatting import chat_row
from tests.engine.conftest import Gating
from tests.faults.scene import impatient, outcomes, question

pytestmark = pytest.mark.slow

ONCE = Retry(retries=0, cool_seconds=0.0)


@contextmanager
def saying(answer: bytes) -> Iterator[str]:
    """A server that says these bytes to everything, and keeps the connection open. Its address."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        held: list[socket.socket] = []

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                held.append(connection)
                connection.recv(65536)
                connection.sendall(answer)

        thread = Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}"
        finally:
            server.shutdown(socket.SHUT_RDWR)
            for each in held:
                each.close()


def messages_row(name: str, url: str) -> Backend:
    return Backend(url=url, name=name, realm=name, auth="key", keys=(Secret("sk-test"),))


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("row", [chat_row, messages_row])
@pytest.mark.parametrize("status", ["000", "099", "600", "999"])
def test_such_a_status_is_a_broken_answer_at_once(gating: Gating, row: object, status: str, stream: bool) -> None:
    """The connection stays open and `first_byte` is ten minutes: a gateway that waited would not answer in this test."""
    assert callable(row)
    answer = f"HTTP/1.1 {status} Odd\r\ncontent-type: application/json\r\n\r\n".encode()
    with saying(answer) as url:
        gate = gating(row("local", url), **impatient(retry=ONCE, first_byte=600.0, gap=600.0))
        got = gate.ask(question(stream=stream))
        assert (got.status, got.json["error"]["type"]) == (502, "api_error"), got.raw
        assert f"a status of {status}" in got.json["error"]["message"]
        assert outcomes(gate) == ["failed"]
