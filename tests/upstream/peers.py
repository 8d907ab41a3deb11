"""A server that does exactly what a script says, byte by byte, and knows whether its client is still there."""

import asyncio
import contextlib
import socket
import ssl
import struct
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any, TypeVar

import pytest

from clew.http.client.connection import ClientConnection
from clew.http.client.message import ClientRequest
from clew.http.loops import new_event_loop
from clew.upstream.endpoint import Endpoint
from tests.waiting import turns

T = TypeVar("T")
SOON = 1.0
"""Within what a peer must see that we are gone."""
_TURN = 0.01


class Call:
    """One connection, as the server has it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def request(self) -> bytes:
        """The next request, head and body."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        for line in head.lower().split(b"\r\n"):
            if line.startswith(b"content-length:"):
                return head + await self.reader.readexactly(int(line.split(b":")[1]))
        return head

    async def say(self, *parts: bytes) -> None:
        for part in parts:
            if self.writer.is_closing():  # uvloop raises something else for one that is closed
                raise ConnectionResetError("the client is gone")
            self.writer.write(part)
            await self.writer.drain()

    async def gone(self) -> None:
        """Until the client has closed."""
        with contextlib.suppress(ConnectionError):
            while await self.reader.read(65536):
                pass

    def reset(self) -> None:
        plug = self.writer.get_extra_info("socket")
        plug.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


Script = Callable[[Call], Awaitable[None]]


class Site:
    """A listener with a script. `calls` counts connections, `ended` those whose script has run to its end."""

    def __init__(self) -> None:
        self.port = 0
        self.tls = False
        self.calls = 0
        self.ended = 0
        self.failures: list[BaseException] = []
        self._changed = asyncio.Event()

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint("127.0.0.1", self.port, self.tls)

    async def until(self, *, calls: int = 0, ended: int = 0) -> None:
        """Counted in the loop's own turns: what a busy machine takes from this process is not ours to answer for."""
        for _ in range(int(SOON / _TURN)):
            if self.calls >= calls and self.ended >= ended:
                return
            self._changed.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), _TURN)
        raise AssertionError(f"{self.calls} calls and {self.ended} ended, and not {calls} and {ended}")

    def count(self, *, calls: int = 0, ended: int = 0) -> None:
        self.calls += calls
        self.ended += ended
        self._changed.set()


@contextlib.asynccontextmanager
async def site(script: Script, *, context: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> AsyncIterator[Site]:
    """Serve the script on a free port."""
    place = Site()
    place.tls = context is not None
    tasks: set[asyncio.Task[None]] = set()

    async def run(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        place.count(calls=1)
        try:
            await script(Call(reader, writer))
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        except asyncio.CancelledError:
            return
        except Exception as error:
            place.failures.append(error)
        finally:
            place.count(ended=1)
            writer.close()
            tasks.discard(task)

    server = await asyncio.start_server(run, host, 0, ssl=context)
    place.port = server.sockets[0].getsockname()[1]
    try:
        yield place
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await turns()  # the transports close in the loop's next rounds
    assert place.failures == []


def saying(*parts: bytes, close: bool = False) -> Script:
    """Answers each request with the same bytes; then closes, or waits for the client to."""

    async def script(call: Call) -> None:
        while True:
            await call.request()
            await call.say(*parts)
            if close:
                return

    return script


async def called_off(task: asyncio.Task[Any]) -> None:
    """Cancelled, and over."""
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def connected(place: Site) -> ClientConnection:
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(ClientConnection, "127.0.0.1", place.port)
    return connection


def post(body: bytes = b"{}", *headers: tuple[bytes, bytes]) -> ClientRequest:
    return ClientRequest(method=b"POST", target=b"/v1/messages", headers=((b"host", b"x"), *headers), body=body)


def get(method: bytes = b"GET") -> ClientRequest:
    return ClientRequest(method=method, target=b"/", headers=((b"host", b"x"),))


Play = Callable[[Coroutine[Any, Any, T]], T]


@pytest.fixture(params=["uvloop", "asyncio"])
def play(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Play[Any]:
    """Runs a coroutine, bounded, on either loop; what the loop itself complains about fails the test."""
    if request.param == "asyncio":
        monkeypatch.setitem(sys.modules, "uvloop", None)

    def run(scene: Coroutine[Any, Any, T]) -> T:
        complaints: list[object] = []
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            runner.get_loop().set_exception_handler(lambda _, context: complaints.append(context))
            result = runner.run(asyncio.wait_for(scene, 120))
        assert complaints == []
        return result

    return run
