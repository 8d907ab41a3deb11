"""Bytes in, one response out: the client's half of HTTP/1.1, without any I/O.

`feed` takes bytes cut anywhere; then `head`, `take` and `done` say how far it is. Interim responses (1xx) are skipped, but
there is a bound on their number, and they count against the bound on the head, so nobody can send them for ever. A status
that HTTP does not have breaks the response. A body ends by its length, by its last chunk, or, with neither, by the end of
the connection, which `finish` reports; any other end of the connection breaks it. llhttp, inside httptools, is strict about
ambiguous framing by itself. Between two chunks there is no parser (`parser`).
"""

from __future__ import annotations

from sys import intern

import httptools

from clew.http.client.message import PeerClosed, ResponseBroken, ResponseLimits
from clew.http.client.parser import ResponseParser, give_back_parser, take_parser
from clew.model.http import ResponseHead
from clew.wire.chunks import WHOLE

_LINE_OVERHEAD = 4  # ": " and CRLF
_NO_BODY = frozenset({204, 304})
_ENDLESS = 1 << 62
_PARAGRAPH = b"\n\n"
_MOST_INTERIM = 16


class _StopError(Exception):
    """Stops the parser from inside a callback; why is in the reader."""


class ResponseReader:
    """Reads the response to one request. `head_only`: the answer to a HEAD, or to a CONNECT."""

    __slots__ = (
        *("_fed", "_head_only", "_interim", "_limits", "_parser", "_to_the_end", "_unframed", "_why"),
        *("began", "done", "head", "is_level", "keep_alive", "room"),
    )

    def __init__(self, limits: ResponseLimits, *, head_only: bool = False) -> None:
        self._parser: ResponseParser | None = None
        self._fed: list[bytes] = []
        self.again(limits, head_only=head_only)

    def again(self, limits: ResponseLimits, *, head_only: bool = False) -> None:
        """Read another response, on a connection where the last one was read to its end."""
        self.head: ResponseHead | None = None
        self.began = False
        """Some byte of it came."""
        self.done = False
        self.keep_alive = False
        """May another request follow on this connection? Known when done."""
        self.is_level = False
        """The last read ended with a chunk that ends a paragraph: what comes next begins with a chunk's size."""
        self.room = _ENDLESS if limits.body_bytes is None else limits.body_bytes
        """How many bytes of the body may still come."""
        self._limits = limits
        self._head_only = head_only
        self._why = ""
        self._unframed = 0
        self._interim = 0
        self._to_the_end = False

    def feed(self, data: bytes) -> None:
        """Take what came. Raises ResponseBroken; what was whole before stays to be taken."""
        if new := self.passed(data):
            self._fed.append(new)

    def passed(self, data: bytes) -> bytes:
        """Take what came, and hand out what it brought of the body: for a caller that takes each read at once.

        Raises ResponseBroken; what was whole before stays to be taken. Written in one piece, because every read of every
        stream goes through it.
        """
        self.began = True
        self._unframed += len(data)
        parser = self._parser or self._new_parser()
        try:
            parser.feed(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._stopped(error)
        parts = parser.parts
        if not parts:
            self.is_level = False
            self._check_unframed()
            return b""
        new = parts[0] if len(parts) == 1 else b"".join(parts)
        parts.clear()
        self._unframed = 0
        self.is_level = is_level = data.endswith(WHOLE) and new.endswith(_PARAGRAPH)
        if is_level and give_back_parser(parser):
            self._parser = None
        self.room -= len(new)
        if self.room < 0:
            raise ResponseBroken(f"a body of more than {self._limits.body_bytes} bytes")
        return new

    def _new_parser(self) -> ResponseParser:
        """At the beginning, or where the last one was given away."""
        self._parser = parser = take_parser(self) if self.is_level else ResponseParser(self)
        return parser

    def _check_unframed(self) -> None:
        if self._unframed > self._limits.head_bytes and not self.done:
            raise ResponseBroken(f"more than {self._limits.head_bytes} bytes of framing")

    def finish(self) -> None:
        """The connection has ended in good order. Raises PeerClosed unless that is the end of the body too."""
        if self.done:
            return
        if not self._to_the_end:
            raise self.closed()
        self.done = True

    def closed(self) -> PeerClosed:
        """What it means that the connection is gone now."""
        if not self.began:
            where = "without an answer"
        else:
            where = "inside the head of the answer" if self.head is None else _inside(self.head)
        return PeerClosed(f"the connection was closed {where}", began=self.began)

    def take(self) -> list[bytes]:
        """The pieces of the body that came since."""
        parts, self._fed = self._fed, []
        if self._parser is not None:
            parts += self._parser.parts
            self._parser.parts.clear()
        return parts

    def taken(self) -> bytes:
        """The same in one piece."""
        return b"".join(self.take())

    # What the parser calls.

    def message_begins(self) -> None:
        if self.done:  # more than one answer to one request: what follows cannot be trusted
            self.keep_alive = False
            raise _StopError

    def head_is_here(self, parser: ResponseParser) -> bool:
        headers, status = parser.headers, parser.status
        if self._unframed > self._limits.head_bytes or len(headers) > self._limits.head_count:
            self._check_size(headers)
        if not 100 <= status <= 599:
            self._stop(f"a status of {status:03d}, which HTTP does not have")
        if status < 200:
            self._interim += 1
            if self._interim > _MOST_INTERIM:
                self._stop(f"more than {_MOST_INTERIM} interim answers")
            return False
        self._unframed = 0
        self.head = ResponseHead(status, tuple(headers), intern(parser.version))
        if self._head_only:
            # llhttp cannot be told that no body follows. So reading stops here, and the connection is not used again.
            self.done = True
            raise _StopError
        self._check_framing(self.head, self.head.first)
        return True

    def message_ends(self, keep_alive: bool) -> None:
        if self.head is not None:  # else it is an interim response
            self.done = True
            self.keep_alive = keep_alive

    # What we check.

    def _check_size(self, headers: list[tuple[bytes, bytes]]) -> None:
        """All of a head and of the interim ones before it was counted as unframed; a name more is a name too many."""
        if self._unframed > self._limits.head_bytes and _size_of(headers) > self._limits.head_bytes:
            self._stop(f"a head of more than {self._limits.head_bytes} bytes")
        if len(headers) > self._limits.head_count:
            self._stop(f"more than {self._limits.head_count} header fields")

    def _check_framing(self, head: ResponseHead, first: dict[bytes, bytes]) -> None:
        coding, length = first.get(b"transfer-encoding"), first.get(b"content-length")
        if coding is not None and coding.strip().lower() != b"chunked":
            self._stop("no transfer coding but chunked is understood")
        most = self._limits.body_bytes
        if length is not None and most is not None and int(length) > most:
            self._stop(f"a body of more than {most} bytes")
        self._to_the_end = coding is None and length is None and head.status not in _NO_BODY

    def _stop(self, why: str) -> None:
        self._why = why
        raise _StopError

    def _stopped(self, error: httptools.HttpParserError | httptools.HttpParserUpgrade) -> None:
        if isinstance(error, httptools.HttpParserUpgrade):
            raise ResponseBroken("it switches to a protocol that nobody asked for") from error
        if self._why:
            raise ResponseBroken(self._why) from None
        if self.done:
            self.keep_alive = False
            return
        raise ResponseBroken(f"this is no HTTP: {error}") from error


def _size_of(headers: list[tuple[bytes, bytes]]) -> int:
    """A read may hold much of the body too, so only a large head is looked at closely."""
    return sum(len(name) + len(value) + _LINE_OVERHEAD for name, value in headers)


def _inside(head: ResponseHead) -> str:
    """Of a body without a length, only an orderly end of the connection says that it is whole; TLS has a word for that."""
    if head.header(b"content-length") is not None or head.header(b"transfer-encoding") is not None:
        return "inside the body of the answer"
    return (
        "inside the body of the answer, as far as anybody can tell: it came without a length, and the connection was cut "
        "(let the server, or the proxy before it, send content-length or chunks, or end TLS with close_notify)"
    )
