"""What a backend says to one request, while it says it; and the one place where foreign exceptions become ours.

A `BackendReply` lives inside `async with pool.ask(…)`: leaving the block with the body read to its end gives the connection
back, leaving it in any other way closes it at once.

What sockets, TLS and the HTTP client raise becomes a BackendError (`backend_error_of`). Messages name the endpoint and what
happened; none of them can hold a header, so none can hold a key.
"""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from typing import Final

from clew.errors import BackendBroken, BackendError, BackendTimedOut, BackendUnreachable
from clew.http.client.connection import ClientConnection
from clew.http.client.message import PeerClosed, PhaseTimedOut, ResponseBroken
from clew.model.http import Headers, ResponseHead
from clew.upstream.endpoint import Endpoint

FOREIGN_ERRORS: Final = (OSError, UnicodeError)
"""What comes from the other side of the border; a host name that cannot be encoded is a UnicodeError to Python."""


def backend_error_of(error: Exception, where: Endpoint) -> BackendError:
    """Our error for one of FOREIGN_ERRORS. The most specific come first: most of these are OSErrors to Python."""
    if isinstance(error, PhaseTimedOut):
        return BackendTimedOut(f"{where}: {error}", phase=error.phase)
    if isinstance(error, ResponseBroken | PeerClosed):
        return BackendBroken(f"{where}: {error}")
    if isinstance(error, ssl.SSLCertVerificationError):
        why = f"its certificate is not valid: {error.verify_message}"
    elif isinstance(error, ssl.SSLError):
        why = f"TLS failed: {error.reason or error}"
    elif isinstance(error, socket.gaierror):
        why = f"its name cannot be resolved: {error.strerror or error}"
    else:  # in the system's words: the event loops put their own in `strerror`, with an address in them
        number = error.errno if isinstance(error, OSError) else None
        why = os.strerror(number) if number else str(error)
    return BackendUnreachable(f"{where}: {why}")


@contextmanager
def as_backend_errors(where: Endpoint) -> Generator[None]:
    """Foreign exceptions become ours at the end of this block."""
    try:
        yield
    except FOREIGN_ERRORS as error:
        raise backend_error_of(error, where) from error


class BackendReply:
    """A response whose head is here. The body is taken once, by `chunk`, `chunks` or `read`."""

    __slots__ = ("_connection", "endpoint", "head")

    def __init__(self, endpoint: Endpoint, connection: ClientConnection, head: ResponseHead) -> None:
        self.endpoint = endpoint
        self.head = head
        self._connection = connection

    @property
    def status(self) -> int:
        return self.head.status

    @property
    def headers(self) -> Headers:
        return self.head.headers

    async def chunk(self) -> bytes:
        """What came of the body, as it came; b"" at its end. Raises BackendError if it breaks off or stalls."""
        try:
            return await self._connection.chunk()
        except FOREIGN_ERRORS as error:
            raise backend_error_of(error, self.endpoint) from error

    async def chunks(self) -> AsyncGenerator[bytes]:
        """The body, piece by piece."""
        while data := await self.chunk():
            yield data

    async def read(self, most: int | None = None) -> bytes:
        """The whole body. Raises BackendBroken when it is longer than `most` bytes."""
        parts: list[bytes] = []
        size = 0
        while (data := self._connection.whole()) is None and (data := await self.chunk()):
            parts.append(data)
            size += len(data)
            self._check_size(size, most)
        self._check_size(size + len(data), most)
        return b"".join([*parts, data]) if parts else data

    def _check_size(self, size: int, most: int | None) -> None:
        if most is not None and size > most:
            raise BackendBroken(f"{self.endpoint}: a body of more than {most} bytes")
