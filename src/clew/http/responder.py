"""How a handler answers: `send` a whole response, or `start`, `write` and `end` a streamed one.

The responder owns the framing: it picks Content-Length, chunks, or the end of the connection, leaves out the body where a
response has none, and knows whether the connection may live on. `write` waits while the client does not read, so memory
stays bounded. `push` does not wait: it is for whoever is called from inside a read and can stop its source, which it must
when `push` says that the client is behind, until `drained`. `hang_up` and `abort` break off on purpose: the first like a
process that died between two writes (FIN), the second like one whose machine did (RST).

Whoever answers from callbacks, without a task, says so with `hold`, is told by `cancel` that it must end, and lets go with
`release`, or goes on in a task after all with `hand_over`.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Generator, Iterable
from contextlib import contextmanager
from email.utils import formatdate
from http import HTTPStatus
from typing import Protocol, TypeAlias

from clew.http.message import HttpRequest

__all__ = ["HeaderList", "Holder", "Responder", "Wire"]

HeaderList: TypeAlias = Iterable[tuple[str, str]]

_NO_BODY = frozenset({204, 304})
_LONG = 16 * 1024
_PHRASES = {status.value: status.phrase for status in HTTPStatus}


class Wire(Protocol):
    """What a responder needs of its connection."""

    def write(self, parts: list[bytes]) -> None: ...
    def push(self, parts: list[bytes]) -> bool: ...
    def flow(self) -> Callable[[bytes], bool]: ...
    def cork(self) -> None: ...
    def uncork(self) -> None: ...
    async def drained(self) -> None: ...
    def close(self) -> None: ...
    def reset(self) -> None: ...
    def hand_over(self, work: Awaitable[None]) -> None: ...
    def released(self) -> None: ...


class Holder(Protocol):
    """Whoever answers from callbacks."""

    def cancel(self) -> None:
        """The client is gone, or the server ends (`Responder.draining`): end it now, or hand over to what does."""
        ...


class Responder:
    """Answers one request, once."""

    started = ended = chunked = _silent = False
    draining = False
    """The server ends and cannot wait any longer: the handler is cancelled, and may still say so and `end`."""
    holder: Holder | None = None
    after: Callable[[], None] | None = None
    """Called when this request has been dealt with, whatever came of it."""

    def __init__(self, wire: Wire, request: HttpRequest, *, keep_alive: bool) -> None:
        self.keep_alive = keep_alive
        """May another request follow on this connection?"""
        self._wire = wire
        self._head = request.head

    @property
    def asked(self) -> str:
        """What is answered, for a log."""
        return f"{self._head.method} {self._head.path}"

    @property
    def _old(self) -> bool:
        return self._head.version == "1.0"

    def hold(self, holder: Holder) -> None:
        """Answer later, from callbacks."""
        self.holder = holder

    def release(self) -> None:
        """It is answered; whoever held it is done."""
        self._wire.released()

    def hand_over(self, work: Awaitable[None]) -> None:
        """Whoever held it goes on in a task."""
        self.holder = None
        self._wire.hand_over(work)

    def send(self, status: int, headers: HeaderList, body: bytes = b"") -> None:
        """A whole response in one write."""
        self._begin(status)
        length = () if status in _NO_BODY else (("content-length", str(len(body))),)
        head = self._opening(status, [*headers, *length])
        self._wire.write([head] if self._silent else [head + body] if len(body) < _LONG else [head, body])
        self._finish()

    def start(self, status: int, headers: HeaderList) -> None:
        """The head of a streamed response; it goes out at once."""
        self._begin(status)
        self.chunked = not self._old and status not in _NO_BODY
        self.keep_alive = self.keep_alive and (self.chunked or self._silent)
        coding = (("transfer-encoding", "chunked"),) if self.chunked else ()
        self._wire.write([self._opening(status, [*headers, *coding])])

    async def write(self, data: bytes) -> None:
        """A part of the body; waits while the client is behind. Raises ConnectionError if it is gone."""
        assert self.started, "start comes before write"
        assert not self.ended, "nothing comes after the end"
        if data and not self._silent:
            self._wire.write(_chunk(data) if self.chunked else [data])
        await self._wire.drained()

    def push(self, data: bytes) -> bool:
        """A part of the body, at once. False if the client is behind or gone: await `drained` before the next."""
        assert self.started, "start comes before push"
        assert not self.ended, "nothing comes after the end"
        if not data or self._silent:
            return True
        return self._wire.push(_chunk(data) if self.chunked else [data])

    def flow(self) -> Callable[[bytes], bool]:
        """`push`, for whoever calls it with every read, and never after the end."""
        return self._wire.flow() if self.chunked and not self._silent else self.push

    @contextmanager
    def in_one_piece(self) -> Generator[None]:
        """What is written in this block goes out together at its end."""
        self._wire.cork()
        try:
            yield
        finally:
            self._wire.uncork()

    async def drained(self) -> None:
        """Wait until the client took what was written. Raises ConnectionError if it is gone."""
        await self._wire.drained()

    def end(self) -> None:
        """The end of a streamed response."""
        assert self.started, "start comes before end"
        assert not self.ended, "one end is enough"
        if self.chunked and not self._silent:
            self._wire.write([b"0\r\n\r\n"])
        self._finish()

    def hang_up(self) -> None:
        """Close without an end, after what was written."""
        self._break()
        self._wire.close()

    def abort(self) -> None:
        """Reset the connection; what was written and not yet sent is lost."""
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

    def _opening(self, status: int, headers: list[tuple[str, str]]) -> bytes:
        if not self.keep_alive:
            headers.append(("connection", "close"))
        elif self._old:
            headers.append(("connection", "keep-alive"))
        lines = "".join([f"{name}: {value}\r\n" for name, value in headers])
        if lines.count("\n") != len(headers) or lines.count("\r") != len(headers):
            raise ValueError("a header may hold no line break")
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
