"""Bytes in, one response out: the client's half of HTTP/1.1, without any I/O.

`feed` takes bytes cut anywhere; then `head`, `take` and `done` say how far it is. Interim responses (1xx) are skipped, but
there is a bound on their number, and they count against the bound on the head, so nobody can send them for ever. A status
that HTTP does not have breaks the response. A body ends by its length, by its last chunk, or, with neither, by the end of
the connection, which `finish` reports; any other end of the connection breaks it. llhttp, inside httptools, is strict about
ambiguous framing by itself.

Between two chunks of a body every parser is in the same state, whatever came before. A stream is in that state nearly all
the time, and takes a kilobyte less without a parser. So a reader gives its parser back there (`give_back_parser`), and takes
any other parser in that state when data comes (`take_parser`).
"""

from __future__ import annotations

from sys import intern
from typing import Final, Protocol

import httptools

from clew.http.client.message import PeerClosed, ResponseBroken, ResponseLimits
from clew.model.http import ResponseHead
from clew.wire.sse_runs import WHOLE

_LINE_OVERHEAD: Final = 4  # ": " and CRLF
_NO_BODY: Final = frozenset({204, 304})
_ENDLESS: Final = 1 << 62
_PARAGRAPH: Final = b"\n\n"
_MOST_INTERIM: Final = 16
_CHUNKED: Final = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
_MOST_PARSERS: Final = 16
"""Kept for the next connection that needs one."""
_MOST_FIELDS: Final = 256
_LONGEST_VALUE: Final = 128
_RESTING: Final[list[ResponseParser]] = []


class _Fields(dict[tuple[bytes, bytes], tuple[bytes, bytes]]):
    """Fields of heads, with their names in lower case. Most are the same in every head, and then they are one object."""

    def __missing__(self, field: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
        if len(self) >= _MOST_FIELDS:
            self.clear()
        name, value = field
        known = name.lower(), value
        if len(value) <= _LONGEST_VALUE:
            self[field] = known
        return known


_FIELDS: Final = _Fields()


class ParserOwner(Protocol):
    """Whose response it is."""

    def message_begins(self) -> None: ...
    def head_is_here(self, parser: ResponseParser) -> bool:
        """False if it is the head of an interim response."""
        ...

    def message_ends(self, keep_alive: bool) -> None: ...


class _Nobody:
    """Owns the parsers that rest."""

    def message_begins(self) -> None: ...
    def head_is_here(self, parser: ResponseParser) -> bool:
        return True

    def message_ends(self, keep_alive: bool) -> None: ...


_NOBODY: Final = _Nobody()


class ResponseParser:
    """Parses one response after another."""

    __slots__ = ("_in_head", "feed", "headers", "keeps_alive", "on_body", "parts", "reader", "status", "version")

    def __init__(self, reader: ParserOwner) -> None:
        self.reader = reader
        self.headers: list[tuple[bytes, bytes]] = []
        self.parts: list[bytes] = []
        """What came of the body."""
        self.on_body = self.parts.append
        """What llhttp calls with each piece of it. A list's own method, because a read may hold hundreds."""
        self._in_head = True
        llhttp = httptools.HttpResponseParser(self)
        self.feed = llhttp.feed_data
        self.keeps_alive = llhttp.should_keep_alive
        self.status = llhttp.get_status_code
        self.version = llhttp.get_http_version

    # What llhttp calls.

    def on_message_begin(self) -> None:
        self._in_head = True
        self.reader.message_begins()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:  # trailers are read, bounded as framing is, and dropped
            self.headers.append(_FIELDS[name, value])

    def on_headers_complete(self) -> None:
        if self.reader.head_is_here(self):
            self._in_head = False
        self.headers.clear()

    def on_message_complete(self) -> None:
        self.reader.message_ends(self.keeps_alive())


def give_back_parser(parser: ResponseParser) -> bool:
    """Whether another may have it: it stands between two chunks, and all that is left to say about it is how they end."""
    if not parser.keeps_alive():
        return False
    parser.reader = _NOBODY
    if len(_RESTING) < _MOST_PARSERS:
        _RESTING.append(parser)
    return True


def take_parser(reader: ParserOwner) -> ResponseParser:
    """A parser in the state between two chunks, one that was given back if there is one."""
    try:
        parser = _RESTING.pop()
    except IndexError:
        parser = ResponseParser(_NOBODY)
        parser.feed(_CHUNKED)
    parser.reader = reader
    return parser


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
        parser = self._parser
        if parser is None:  # at the beginning, or where the last one was given away
            self._parser = parser = take_parser(self) if self.is_level else ResponseParser(self)
        try:
            parser.feed(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._stopped(error)
        parts = parser.parts
        if not parts:
            self.is_level = False
            if self._unframed > self._limits.head_bytes and not self.done:
                raise ResponseBroken(f"more than {self._limits.head_bytes} bytes of framing")
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

    def finish(self) -> None:
        """The connection has ended in good order. Raises PeerClosed unless that is the end of the body too."""
        if self.done:
            return
        if not self._to_the_end:
            raise self.closed()
        self.done = True

    def closed(self) -> PeerClosed:
        """What it means that the connection is gone now."""
        head = self.head
        if not self.began:
            where = "without an answer"
        elif head is None:
            where = "inside the head of the answer"
        else:
            where = "inside the body of the answer"
            if head.header(b"content-length") is None and head.header(b"transfer-encoding") is None:
                # Only an orderly end of the connection says that such a body is whole; TLS has a word for that.
                where += (
                    ", as far as anybody can tell: it came without a length, and the connection was cut (let the server, or "
                    "the proxy before it, send content-length or chunks, or end TLS with close_notify)"
                )
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
        headers, status, limits = parser.headers, parser.status(), self._limits
        if self._unframed > limits.head_bytes or len(headers) > limits.head_count:
            self._check_size(headers)
        if not 200 <= status <= 599:
            if not 100 <= status <= 199:
                self._stop(f"a status of {status:03d}, which HTTP does not have")
            self._interim += 1
            if self._interim > _MOST_INTERIM:
                self._stop(f"more than {_MOST_INTERIM} interim answers")
            return False
        self._unframed = 0
        self.head = head = ResponseHead(status, tuple(headers), intern(parser.version()))
        if self._head_only:
            # llhttp cannot be told that no body follows. So reading stops here, and the connection is not used again.
            self.done = True
            raise _StopError
        coding, length = head.first.get(b"transfer-encoding"), head.first.get(b"content-length")
        if coding is not None and coding.strip().lower() != b"chunked":
            self._stop("the only transfer coding that is supported is chunked")
        if length is not None and limits.body_bytes is not None and int(length) > limits.body_bytes:
            self._stop(f"a body of more than {limits.body_bytes} bytes")
        self._to_the_end = coding is None and length is None and status not in _NO_BODY
        return True

    def message_ends(self, keep_alive: bool) -> None:
        if self.head is not None:  # else it is an interim response
            self.done = True
            self.keep_alive = keep_alive

    def _check_size(self, headers: list[tuple[bytes, bytes]]) -> None:
        """What was counted as unframed holds interim heads too, and what the read had behind the head."""
        limits = self._limits
        if sum(len(name) + len(value) + _LINE_OVERHEAD for name, value in headers) > limits.head_bytes:
            self._stop(f"a head of more than {limits.head_bytes} bytes")
        if len(headers) > limits.head_count:
            self._stop(f"more than {limits.head_count} header fields")

    def _stop(self, why: str) -> None:
        self._why = why
        raise _StopError

    def _stopped(self, error: httptools.HttpParserError | httptools.HttpParserUpgrade) -> None:
        if isinstance(error, httptools.HttpParserUpgrade):
            raise ResponseBroken("it switches to a protocol that was not requested") from error
        if self._why:
            raise ResponseBroken(self._why) from None
        if self.done:
            self.keep_alive = False
            return
        raise ResponseBroken(f"this is not HTTP: {error}") from error
