"""A server on a free port, and a raw socket to talk to it byte by byte."""

import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from clew.http.connection import Handle
from clew.http.message import HttpRequest, ServerLimits
from clew.http.responder import Responder
from clew.http.server import Server, listen
from clew.testing.simulator import Background


def busy(server: Server) -> int:
    """How many of its connections have a request that is answered, or comes in."""
    return sum(connection.busy for connection in list(server._connections))


class Peer:
    """A client that sends and reads raw bytes; every wait is bounded."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=120)

    def send(self, data: bytes) -> "Peer":
        self.socket.sendall(data)
        return self

    def read_until(self, mark: bytes) -> bytes:
        got = b""
        while not got.endswith(mark):
            byte = self.socket.recv(1)
            if not byte:
                return got
            got += byte
        return got

    def read_to_end(self) -> bytes:
        got = bytearray()
        while part := self.socket.recv(65536):
            got += part
        return bytes(got)

    def response(self) -> tuple[int, dict[str, str], bytes]:
        """The next response, framed by its own headers."""
        head = self.read_until(b"\r\n\r\n").decode("latin-1")
        status_line, *lines = head.strip().split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines)
        status = int(status_line.split(" ")[1])
        return status, headers, self._body(status, headers)

    def _body(self, status: int, headers: dict[str, str]) -> bytes:
        if status < 200 or status in (204, 304):
            return b""
        if headers.get("transfer-encoding") == "chunked":
            return self._chunks()
        if "content-length" in headers:
            return self._exactly(int(headers["content-length"]))
        return self.read_to_end()

    def _chunks(self) -> bytes:
        body = bytearray()
        while size := int(self.read_until(b"\r\n"), 16):
            body += self._exactly(size)
            assert self._exactly(2) == b"\r\n"
        assert self._exactly(2) == b"\r\n"
        return bytes(body)

    def _exactly(self, size: int) -> bytes:
        got = b""
        while len(got) < size:
            part = self.socket.recv(size - len(got))
            assert part, f"the connection ended after {len(got)} of {size} bytes"
            got += part
        return got


class Site:
    """One server under test."""

    def __init__(self, loop: Background, server: Server) -> None:
        self.loop = loop
        self.server = server
        self.peers: list[Peer] = []

    def peer(self) -> Peer:
        peer = Peer(self.server.port)
        self.peers.append(peer)
        return peer

    def ask(self, data: bytes) -> tuple[int, dict[str, str], bytes]:
        return self.peer().send(data).response()


async def echo(request: HttpRequest, respond: Responder) -> None:
    """Says what it got."""
    text = f"{request.method} {request.path} {request.query} ".encode() + request.body
    respond.send(200, [("content-type", "text/plain")], text)


@pytest.fixture(params=["uvloop", "asyncio"])
def serving(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Site]]:
    if request.param == "asyncio":
        monkeypatch.setitem(sys.modules, "uvloop", None)
    with ExitStack() as stack:
        loop = stack.enter_context(Background())

        def start(handle: Handle = echo, limits: ServerLimits | None = None) -> Site:
            site = Site(loop, loop.call(listen(handle, limits=limits)))
            stack.callback(lambda: loop.call(site.server.close(grace=0)))
            stack.callback(lambda: [peer.socket.close() for peer in site.peers])
            return site

        yield start
