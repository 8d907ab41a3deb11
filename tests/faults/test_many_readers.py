"""Very many streams at the same time, all to clients that read slowly."""

from __future__ import annotations

import json
import selectors
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.http.message import HttpRequest
from clew.http.responder import Responder
from clew.http.server import Server, listen
from clew.testing.simulator import Background
from tests.counts import examples
from tests.gateway.served import Served, backend
from tests.numbers import note

pytestmark = pytest.mark.slow

CROWD = examples(100, soak=2000)
PIECES, PIECE = 64, "x" * 2000
MEGABYTE = 1024 * 1024
HANGS = 600.0


def event(kind: str, **fields: object) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-5-5",
    "content": [],
    "stop_reason": None,
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 1},
}
ANSWER = b"".join(
    [
        event("message_start", message=MESSAGE),
        event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
        *[event("content_block_delta", index=0, delta={"type": "text_delta", "text": PIECE})] * PIECES,
        event("content_block_stop", index=0),
        event("message_delta", delta={"stop_reason": "end_turn", "stop_sequence": None}, usage={"output_tokens": 9}),
        event("message_stop"),
    ]
)


@pytest.fixture
def vendor() -> Iterator[Server]:
    async def stream(request: HttpRequest, respond: Responder) -> None:
        respond.start(200, [("content-type", "text/event-stream")])
        for at in range(0, len(ANSWER), 8192):
            await respond.write(ANSWER[at : at + 8192])
        respond.end()

    with Background() as loop:
        server = loop.call(listen(stream))
        yield server
        loop.call(server.close(grace=0))


def test_many_slow_readers_all_get_everything_and_memory_is_bounded(vendor: Server) -> None:
    gateway = f'active = "a"\n[gateway]\nadmin_port = 0\nmax_streams = {CROWD}\n' + backend("a", vendor.url)
    with Served(gateway) as served, selectors.DefaultSelector() as waiting:
        before = _peak(served.process.pid)
        got: dict[socket.socket, bytearray] = {}
        for number in range(CROWD):
            client = _slow_client(served)
            client.sendall(served.request(f"Number {number}"))
            got[client] = bytearray()
            waiting.register(client, selectors.EVENT_READ)
        while waiting.get_map():
            ready = waiting.select(HANGS)
            assert ready, f"{len(waiting.get_map())} streams hang"
            for key, _ in ready:
                client = key.fileobj
                assert isinstance(client, socket.socket)
                got[client] += client.recv(4096)
                if got[client].endswith(b"0\r\n\r\n"):
                    waiting.unregister(client)
                    client.close()
        assert all(b"event: message_stop" in each and each.count(b"text_delta") == PIECES for each in got.values())
        grown = _peak(served.process.pid) - before
        note("streams to slow readers at the same time", CROWD)
        note("kilobytes of the gateway's memory for each of them", grown // CROWD // 1024)
        assert grown < CROWD * MEGABYTE + 64 * MEGABYTE
        served.signal()
        assert served.ended(HANGS) == 0
        assert len(served.exchanges()) == min(CROWD, 1000)


def _slow_client(served: Served) -> socket.socket:
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.settimeout(HANGS)
    client.connect(("127.0.0.1", served.port))
    return client


def _peak(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
