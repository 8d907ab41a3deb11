"""Answers on a connection: HTTP/1.1 as it goes out.

The framing is decided here: Content-Length, chunks, or the end of the connection; no body where a response has none; and
whether the connection may live on.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from email.utils import formatdate
from http import HTTPStatus
from typing import Protocol

from msgspec import Struct

from clew.http.message import RequestHead
from clew.http.responder import HeaderList, Holder, Responder, lines_of

_NO_BODY = frozenset({204, 304})
_LONG = 16 * 1024
_PHRASES = {status.value: status.phrase for status in HTTPStatus}


class Wire(Protocol):
    """What a responder needs of its connection."""

    eager: asyncio.Transport | None

    def write(self, parts: list[bytes]) -> None: ...
    def put(self, data: bytes) -> None: ...
    def push(self, parts: list[bytes]) -> bool: ...
    def push_chunk(self, data: bytes) -> bool: ...
    def push_framed(self, data: bytes) -> bool: ...
    def cork(self) -> None: ...
    def uncork(self) -> None: ...
    async def drained(self) -> None: ...
    def close(self) -> None: ...
    def reset(self) -> None: ...
    def hand_over(self, work: Awaitable[None]) -> None: ...
    def released(self) -> None: ...


class WireResponder(Struct, Responder, eq=False):
    """Answers one request, once. (A struct, since there is one for each request: it is made without a step of Python.)"""

    _wire: Wire
    _head: RequestHead
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
        return f"{self._head.method} {self._head.path}"

    @property
    def _old(self) -> bool:
        return self._head.version == "1.0"

    def release(self) -> None:
        self._wire.released()
        self.holder = None  # it knows us, and the two should not wait for the garbage collector

    def hand_over(self, work: Awaitable[None]) -> None:
        self.holder = None
        self._wire.hand_over(work)

    def send(self, status: int, headers: HeaderList, body: bytes = b"") -> None:
        self._begin(status)
        lines = lines_of(headers)
        if status not in _NO_BODY:
            lines = f"{lines}content-length: {len(body)}\r\n"
        head = self._opening(status, lines)
        if self._silent:
            self._wire.put(head)
        elif len(body) < _LONG:
            self._wire.put(head + body)
        else:
            self._wire.write([head, body])
        self._finish()

    def start(self, status: int, headers: HeaderList) -> None:
        self._begin(status)
        self.chunked = not self._old and status not in _NO_BODY
        self.keep_alive = self.keep_alive and (self.chunked or self._silent)
        coding = "transfer-encoding: chunked\r\n" if self.chunked else ""
        self._wire.put(self._opening(status, lines_of(headers) + coding))

    async def write(self, data: bytes) -> None:
        assert self.started, "start comes before write"
        assert not self.ended, "nothing comes after the end"
        if data and not self._silent:
            self._wire.write(_chunk(data) if self.chunked else [data])
        await self._wire.drained()

    def push(self, data: bytes) -> bool:
        assert self.started, "start comes before push"
        assert not self.ended, "nothing comes after the end"
        if not data or self._silent:
            return True
        return self._wire.push(_chunk(data) if self.chunked else [data])

    def flow(self) -> Callable[[bytes], bool]:
        return self._wire.push_chunk if self.chunked and not self._silent else self.push

    def framed(self) -> Wire | None:
        return self._wire if self.chunked and not self._silent else None

    @contextmanager
    def in_one_piece(self) -> Generator[None]:
        self._wire.cork()
        try:
            yield
        finally:
            self._wire.uncork()

    async def drained(self) -> None:
        await self._wire.drained()

    def end(self) -> None:
        assert self.started, "start comes before end"
        assert not self.ended, "one end is enough"
        if self.chunked and not self._silent:
            self._wire.write([b"0\r\n\r\n"])
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
            return b"" if self._old else b"HTTP/1.1 100 Continue\r\n\r\n"
        return b"0" if self.chunked and not self.ended and not self._silent else b""

    def _begin(self, status: int) -> None:
        assert not self.started, "a request has one answer"
        self.started = True
        self._silent = status in _NO_BODY or self._head.method == "HEAD"

    def _finish(self) -> None:
        self.ended = True
        if not self.keep_alive:
            self._wire.close()

    def _break(self) -> None:
        self.started = self.ended = True
        self.keep_alive = False

    def _opening(self, status: int, lines: str) -> bytes:
        if not self.keep_alive:
            lines += "connection: close\r\n"
        elif self._head.version == "1.0":
            lines += "connection: keep-alive\r\n"
        return f"{_CLOCK.opening(status)}{lines}\r\n".encode("latin-1")


def _chunk(data: bytes) -> list[bytes]:
    """In one piece where that is short, because one piece is written with less ado than three; a long one is not copied."""
    if len(data) < _LONG:
        return [b"%x\r\n%b\r\n" % (len(data), data)]
    return [b"%x\r\n" % len(data), data, b"\r\n"]


class _Clock:
    """How a response begins: status line and date, written once a second for each status, for all connections."""

    def __init__(self) -> None:
        self._second = 0
        self._openings: dict[int, str] = {}

    def opening(self, status: int) -> str:
        now = int(time.time())
        if now != self._second:
            self._second = now
            self._openings.clear()
        if status not in self._openings:
            date = formatdate(now, usegmt=True)
            self._openings[status] = f"HTTP/1.1 {status} {_PHRASES.get(status, '')}\r\ndate: {date}\r\n"
        return self._openings[status]


_CLOCK = _Clock()
