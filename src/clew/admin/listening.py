"""Listening: uvicorn on one socket, kept on a short leash.

No signal is taken, since ending is the gateway's business; nothing about the client is believed from headers. Each socket
has a server of its own, with its own room: whoever fills the port leaves the owner's socket alone. A connection that says
nothing is closed after a while, as one that is done is; so is one whose request does not get whole, and at once one whose
head has no end. While nobody is there, nothing wakes.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

__all__ = ["Listening"]

MOST_CONNECTIONS: Final = 200
CLOSE_SECONDS: Final = 2
SILENT_SECONDS: Final = 10.0
MOST_HEAD: Final = 64 * 1024
"""Bytes of a head that is not whole yet: as many as clients of the gateway may send."""


class _Server(uvicorn.Server):
    """Leaves signals to the gateway, and sleeps until it is told to end."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._ending = asyncio.Event()

    def end(self) -> None:
        self.should_exit = True
        self._ending.set()

    async def main_loop(self) -> None:
        """In place of a look around ten times a second: none of the limits that it would look after is set."""
        await self._ending.wait()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


class _Impatient(HttpToolsProtocol):
    """Waits for a whole head as for the next request, and holds only so much of one. Who is answered has all the time."""

    _head = 0
    """Bytes that came since the last that had their place."""

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self.timeout_keep_alive_task = self.loop.call_later(SILENT_SECONDS, self.timeout_keep_alive_handler)

    def data_received(self, data: bytes) -> None:
        """Some bytes are no request yet: they do not end the wait."""
        waiting, self.timeout_keep_alive_task = self.timeout_keep_alive_task, None
        self._head += len(data)
        super().data_received(data)
        if self._is_answering:
            if waiting is not None:
                waiting.cancel()
        else:
            self.timeout_keep_alive_task = waiting
        if self._head > MOST_HEAD:
            self._refuse()

    def on_headers_complete(self) -> None:
        self._head = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._head = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._head = 0
        super().on_message_complete()

    @property
    def _is_answering(self) -> bool:
        return bool(self.cycle and not self.cycle.response_complete)

    def _refuse(self) -> None:
        """Nothing is said into an answer that is under way."""
        if not self._is_answering and not self.transport.is_closing():
            self.send_400_response("The head of the request is too large.")
        self.transport.close()


class Listening:
    """One socket, from now on. Wait until it has `begun`, and `close` it before the loop ends."""

    def __init__(self, app: ASGIApp, listener: socket.socket) -> None:
        self._server = _Server(_config(app))
        self._task = asyncio.create_task(self._server.serve(sockets=[listener]), name="clew admin")

    async def begun(self) -> None:
        """Raises OSError if it cannot."""
        while not self._server.started:
            await asyncio.wait((self._task,), timeout=0.01)
            if self._task.done():
                self._task.result()
                raise OSError("the admin could not start")

    def end(self) -> None:
        """Take nobody new, and let those who are there come to their end."""
        self._server.end()

    async def closed(self) -> None:
        await self._task


def _config(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=_Impatient,
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_graceful_shutdown=CLOSE_SECONDS,
    )
