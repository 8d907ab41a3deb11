"""How a handler answers: `send` a whole response, or `start`, `write` and `end` a streamed one.

A handler owns nothing of the framing: that is the responder's, on a connection (`WireResponder`) or to a listener in the
same process. `write` waits while the client does not read, so memory stays bounded. `push` does not wait: it is for a
handler that is called from inside a read and can stop its source, which it must when `push` says that the client is behind,
until `drained`. `hang_up` and `abort` break off on purpose: the first like a process that died between two writes (FIN), the
second like one whose machine did (RST).

A handler that answers from callbacks, without a task, says so with `hold`, is told by `cancel` that it must end, and lets
go with `release`, or goes on in a task after all with `hand_over`.
"""

from __future__ import annotations

import asyncio
import time
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractContextManager
from email.utils import formatdate
from http import HTTPStatus
from typing import Protocol, TypeAlias

from msgspec import Struct

_NO_BODY = frozenset({204, 304})
_LONG = 16 * 1024
_PHRASES = {status.value: status.phrase for status in HTTPStatus}

HeaderList: TypeAlias = Iterable[tuple[str, str]]


class Holder(Protocol):
    """Answers a request from callbacks, without a task."""

    def cancel(self) -> None:
        """The client is gone, or the server ends (`Responder.draining`): end it now, or hand over to what does."""
        ...


class ChunkWriter(Protocol):
    """The client's side of a stream: takes chunks, framing and all."""

    eager: asyncio.Transport | None
    """What they are written to, as long as it takes them as they come."""

    def put(self, data: bytes) -> bool:
        """Write it; False if the client is behind or gone."""
        ...


class Responder:
    """Answers one request, once."""

    started = ended = False
    keep_alive = False
    """May another request follow?"""
    draining = False
    """The server ends and cannot wait any longer: the handler is cancelled, and may still say so and `end`."""
    holder: Holder | None = None
    after: Callable[[], None] | None = None
    """Called when this request has been dealt with, whatever came of it."""

    @property
    @abstractmethod
    def asked(self) -> str:
        """What is answered, for a log."""

    def hold(self, holder: Holder) -> None:
        """Answer later, from callbacks."""
        self.holder = holder

    @abstractmethod
    def release(self) -> None:
        """Called by the holder when the request is answered."""

    @abstractmethod
    def hand_over(self, work: Awaitable[None]) -> None:
        """Called by the holder: run this in a task, which answers the request instead."""

    @abstractmethod
    def send(self, status: int, headers: HeaderList, body: bytes = b"") -> None:
        """A whole response in one write."""

    @abstractmethod
    def start(self, status: int, headers: HeaderList) -> None:
        """The head of a streamed response; it goes out at once."""

    @abstractmethod
    async def write(self, data: bytes) -> None:
        """A part of the body; waits while the client is behind. Raises ConnectionError if it is gone."""

    @abstractmethod
    def push(self, data: bytes) -> bool:
        """A part of the body, at once. False if the client is behind or gone: await `drained` before the next."""

    @abstractmethod
    def flow(self) -> Callable[[bytes], bool]:
        """`push`, for a caller that uses it with every read, and never after the end."""

    def framed(self) -> ChunkWriter | None:
        """Takes the same as chunks of HTTP/1.1, framing and all; None where such are not what goes out."""
        return None

    @abstractmethod
    def in_one_piece(self) -> AbstractContextManager[None]:
        """What is written in this block goes out together at its end."""

    @abstractmethod
    async def drained(self) -> None:
        """Wait until the client took what was written. Raises ConnectionError if it is gone."""

    @abstractmethod
    def end(self) -> None:
        """The end of a streamed response."""

    @abstractmethod
    def hang_up(self) -> None:
        """Close without an end, after what was written."""

    @abstractmethod
    def abort(self) -> None:
        """Reset the connection; what was written and not yet sent is lost."""


class ClientWire(ChunkWriter, Protocol):
    """What a responder needs of its connection. In a `with` block, what is written goes out together at its end."""

    def writelines(self, parts: list[bytes]) -> bool: ...
    def push_chunk(self, data: bytes) -> bool: ...
    async def drained(self) -> None: ...
    def close(self) -> None: ...
    def reset(self) -> None: ...
    def hand_over(self, work: Awaitable[None]) -> None: ...
    def released(self) -> None: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *error: object) -> None: ...


class WireResponder(Struct, Responder, eq=False):
    """Answers one request on a connection: HTTP/1.1 as it goes out.

    The framing is decided here: Content-Length, chunks, or the end of the connection; no body where a response has none; and
    whether the connection may live on. Of the request it keeps no more than it needs, since a stream may last for long. (A
    struct, since there is one for each request: it is made without a step of Python.)
    """

    _wire: ClientWire
    _method: str
    _path: str
    _version: str
    keep_alive: bool
    started: bool = False
    ended: bool = False
    draining: bool = False
    holder: Holder | None = None
    after: Callable[[], None] | None = None
    chunked: bool = False
    _silent: bool = False

    @property
    def asked(self) -> str:
        return f"{self._method} {self._path}"

    def release(self) -> None:
        self._wire.released()
        self.holder = None  # it knows us, and the two should not wait for the garbage collector

    def hand_over(self, work: Awaitable[None]) -> None:
        self.holder = None
        self._wire.hand_over(work)

    def send(self, status: int, headers: HeaderList, body: bytes = b"") -> None:
        self._begin(status)
        head = self._opening(status, headers, "" if status in _NO_BODY else f"content-length: {len(body)}\r\n")
        if self._silent:
            self._wire.put(head)
        elif len(body) < _LONG:
            self._wire.put(head + body)
        else:
            self._wire.writelines([head, body])
        self._finish()

    def start(self, status: int, headers: HeaderList) -> None:
        self._begin(status)
        self.chunked = self._version != "1.0" and status not in _NO_BODY
        self.keep_alive = self.keep_alive and (self.chunked or self._silent)
        self._wire.put(self._opening(status, headers, "transfer-encoding: chunked\r\n" if self.chunked else ""))

    async def write(self, data: bytes) -> None:
        self.push(data)
        await self._wire.drained()

    def push(self, data: bytes) -> bool:
        """A long chunk is not copied; a short one is, because one piece is written with less ado than three."""
        assert self.started, "start comes first"
        assert not self.ended, "nothing comes after the end"
        if not data or self._silent:
            return True
        if not self.chunked:
            return self._wire.put(data)
        if len(data) < _LONG:
            return self._wire.push_chunk(data)
        return self._wire.writelines([b"%x\r\n" % len(data), data, b"\r\n"])

    def flow(self) -> Callable[[bytes], bool]:
        return self._wire.push_chunk if self.chunked and not self._silent else self.push

    def framed(self) -> ChunkWriter | None:
        return self._wire if self.chunked and not self._silent else None

    def in_one_piece(self) -> AbstractContextManager[None]:
        return self._wire

    async def drained(self) -> None:
        await self._wire.drained()

    def end(self) -> None:
        assert self.started, "start comes first"
        assert not self.ended, "one end is enough"
        if self.chunked and not self._silent:
            self._wire.put(b"0\r\n\r\n")
        self._finish()

    def hang_up(self) -> None:
        self._break()
        self._wire.close()

    def abort(self) -> None:
        self._break()
        self._wire.reset()

    def probe(self) -> bytes:
        """Bytes that change nothing for a client that is still there, and make one that is not answer with a reset.

        Before the head an interim response, which every client must skip; in a chunked body a leading zero of the next
        chunk's size, which RFC 9112 §7.1 allows. Nothing where neither fits.
        """
        if not self.started:
            return b"" if self._version == "1.0" else b"HTTP/1.1 100 Continue\r\n\r\n"
        return b"0" if self.chunked and not self.ended and not self._silent else b""

    def _begin(self, status: int) -> None:
        assert not self.started, "a request has one answer"
        self.started = True
        self._silent = status in _NO_BODY or self._method == "HEAD"

    def _opening(self, status: int, headers: HeaderList, framing: str) -> bytes:
        """The head as it goes out. Raises ValueError for a header that could be read as something else."""
        rows = [*map(": ".join, headers)]
        lines = "\r\n".join(["", *rows, ""])
        if lines.count("\n") != len(rows) + 1 or lines.count("\r") != len(rows) + 1:
            raise ValueError("a header may hold no line break")
        if not self.keep_alive:
            framing += "connection: close\r\n"
        elif self._version == "1.0":
            framing += "connection: keep-alive\r\n"
        return f"{_first_lines(status)}{lines}{framing}\r\n".encode("latin-1")

    def _finish(self) -> None:
        self.ended = True
        if not self.keep_alive:
            self._wire.close()

    def _break(self) -> None:
        self.started = self.ended = True
        self.keep_alive = False


_FIRST_LINES: dict[tuple[int, int], str] = {}


def _first_lines(status: int) -> str:
    """Status line and date, written once a second for each status, for all connections."""
    key = status, int(time.time())
    if key not in _FIRST_LINES:
        if len(_FIRST_LINES) >= len(_PHRASES):
            _FIRST_LINES.clear()
        date = formatdate(key[1], usegmt=True)
        _FIRST_LINES[key] = f"HTTP/1.1 {status} {_PHRASES.get(status, '')}\r\ndate: {date}"
    return _FIRST_LINES[key]
