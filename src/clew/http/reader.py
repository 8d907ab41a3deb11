"""Bytes in, requests out: the server's half of HTTP/1.1, without any I/O.

`feed` takes bytes cut anywhere and appends to `ready`: whole requests, in order, and at most one `Refusal`, which is the
last thing that ever comes (after bytes that may be read in two ways, nothing behind them can be trusted). llhttp, inside
httptools, is strict by itself about duplicate Content-Length, Content-Length beside Transfer-Encoding, bare line feeds,
folded headers and chunk framing; this file adds the bounds, and what llhttp leaves to its caller.

A body of a known length is not shown to the parser beyond the read in which it began: it would only copy it. The rest goes
where it will be (`LongBody`), and may be read straight into it (`pull`).

A body that does not come together with its head is not waited for before `Check` has seen that head: a request that is
refused anyway costs no memory, however long its body is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import httptools

from clew.http.long_body import LongBody
from clew.http.message import HttpRefusal, HttpRequest, ServerLimits, request_of

Check: TypeAlias = Callable[[HttpRequest], HttpRefusal | None]
"""Looks at a request whose body is still to come, and says why it is refused; None: its body is taken."""

_NO_MEMORY = HttpRefusal(503, "Overloaded: there is not enough memory for this request. Try again in a moment.")
_LINE_OVERHEAD = 4  # ": " and CRLF


class _RefusedError(Exception):
    """Stops the parser from inside a callback; the refusal itself is in the reader."""


class _Opened(NamedTuple):
    """A request of which the body is still coming."""

    like: HttpRequest
    body: LongBody


class RequestReader:
    """Reads the requests of one connection."""

    __slots__ = (
        *("_body", "_check", "_head_size", "_headers", "_like", "_limits", "_opened", "_parser", "_refusal"),
        *("_target", "_unframed"),
        *("body_number", "body_size", "expects_continue", "finished", "in_body", "in_head", "ready"),
    )

    def __init__(self, limits: ServerLimits, check: Check | None = None) -> None:
        self.ready: list[HttpRequest | HttpRefusal] = []
        self.finished = False
        """No more requests will come: a refusal, an upgrade, or the client's `Connection: close`."""
        self.in_head = False
        self.in_body = False
        self.body_number = 0
        """Tells two bodies apart that came one after the other."""
        self.body_size = 0
        self.expects_continue = False
        """The client waits for a 100 before it sends the body that is due now."""
        self._limits = limits
        self._check = check
        self._parser: httptools.HttpRequestParser | None = None
        """There only inside a request: a thousand idle streams should not keep a thousand."""
        self._refusal: HttpRefusal | None = None
        self._unframed = 0
        self._opened: _Opened | None = None
        """A request whose body is still to come, past the parser."""
        self._begin()

    def finish(self) -> None:
        """Read nothing more, and forget what waits."""
        self.finished = True
        self.ready.clear()

    def refuse(self, refusal: HttpRefusal) -> None:
        """The body that is coming is not wanted any more: forget what came of it, and read nothing behind it."""
        self.finished = True
        self.in_head = self.in_body = self.expects_continue = False
        self._opened, self._body, self.body_size = None, [], 0
        self.ready.append(refusal)

    def feed(self, data: bytes) -> None:
        """Take what came from the client. Never raises for it."""
        try:
            self._feed(data)
        except MemoryError:
            self.refuse(_NO_MEMORY)

    def _feed(self, data: bytes) -> None:
        if self.finished:
            return
        if self._opened is not None:
            self._take(data, self._opened)
            return
        self._parse(data)

    def _parse(self, data: bytes) -> None:
        self._unframed += len(data)
        self._parser = parser = self._parser or httptools.HttpRequestParser(self)
        try:
            parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self.finished = True  # we speak no other protocol: the request is answered, the rest ignored
        except httptools.HttpParserError as error:
            if isinstance(error.__context__, MemoryError):
                raise MemoryError from error
            self.refuse(self._refusal or HttpRefusal(400, str(error)))
        else:
            self._check_unframed()
            if self.in_body and self._like is None:
                self._leave_parser(parser)
        if not (self.in_head or self.in_body):
            self._parser = None

    # A body that comes in several reads.

    def _leave_parser(self, parser: httptools.HttpRequestParser) -> None:
        """The head is whole, and its body is not. What is due of a body of known length need not pass the parser."""
        self._like = like = self._request(parser, b"")
        if not self._may_come(like):
            return
        length = self._value("content-length")
        if length is not None and not parser.should_upgrade():
            self._await(like, int(length) - self.body_size, b"".join(self._body))
            self._parser = None

    def _may_come(self, like: HttpRequest) -> bool:
        """Whether the body of such a request is taken; if not, it is refused."""
        refusal = self._check(like) if self._check is not None else None
        if refusal is not None:
            self.refuse(refusal)
        return refusal is None

    def _await(self, like: HttpRequest, due: int, begun: bytes | memoryview) -> None:
        """So many bytes are due of a body that began with these."""
        body = LongBody(len(begun) + due)
        body.add(begun)
        self.in_body, self._opened = True, _Opened(like, body)
        self._body, self.body_size = [], body.size

    @property
    def due(self) -> int:
        """Bytes of a body that `pull` can take."""
        return self._opened.body.due if self._opened is not None and not self.finished else 0

    def pull(self, read: Callable[[memoryview], int]) -> int:
        """Some of what is due of a body, read to where it will be (`LongBody.fill`): how many bytes."""
        opened = self._opened
        came = 0
        try:
            if opened is not None and (came := opened.body.fill(read)):
                self._has_come(opened)
        except MemoryError:
            self.refuse(_NO_MEMORY)
        return came

    def _take(self, data: bytes, opened: _Opened) -> None:
        due = opened.body.due
        opened.body.add(data if len(data) <= due else data[:due])
        self._has_come(opened)
        if len(data) > due:
            self._feed(data[due:])

    def _has_come(self, opened: _Opened) -> None:
        """A piece of the body, or the last of it."""
        self.expects_continue = False
        self.body_size = opened.body.size
        if not opened.body.due:
            self._complete(opened)

    def _complete(self, opened: _Opened) -> None:
        self._opened = None
        self.ready.append(opened.like.with_body(opened.body.whole()))
        self._begin()
        self.finished = not opened.like.keep_alive

    @property
    def _parsing(self) -> httptools.HttpRequestParser:
        assert self._parser is not None, "called by it"
        return self._parser

    # What llhttp calls.

    def on_message_begin(self) -> None:
        self.in_head = True

    def on_url(self, url: bytes) -> None:
        self._target.append(url)
        self._count_head(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count_head(len(name) + len(value) + _LINE_OVERHEAD)
        if self.in_head:  # trailers are read, counted, and dropped
            self._headers.append((name.decode("latin-1").lower(), value.decode("latin-1")))
            if len(self._headers) > self._limits.head_count:
                self._stop(431, f"more than {self._limits.head_count} header fields")

    def on_headers_complete(self) -> None:
        self.in_head, self.in_body = False, True
        self._unframed = 0
        self._check_host()
        self._check_framing()
        self._check_expectation()

    def on_body(self, body: bytes) -> None:
        self._unframed = 0
        self.expects_continue = False
        self.body_size += len(body)
        if self.body_size > self._limits.body_bytes:
            self._stop(413, f"body of more than {self._limits.body_bytes} bytes")
        self._body.append(body)

    def on_message_complete(self) -> None:
        body = b"".join(self._body)
        request = self._like.with_body(body) if self._like is not None else self._request(self._parsing, body)
        self.ready.append(request)
        self._begin()
        self.finished = not request.keep_alive

    def _request(self, parser: httptools.HttpRequestParser, body: bytes) -> HttpRequest:
        return request_of(
            method=parser.get_method().decode("ascii"),
            target=b"".join(self._target).decode("latin-1"),
            headers=tuple(self._headers),
            body=body,
            version=parser.get_http_version(),
            keep_alive=parser.should_keep_alive() and not parser.should_upgrade(),
        )

    # What we check.

    def _begin(self) -> None:
        self.in_head = self.in_body = False
        self.expects_continue = False
        self.body_number += 1
        self.body_size = 0
        self._unframed = 0
        self._head_size = 0
        self._target: list[bytes] = []
        self._headers: list[tuple[str, str]] = []
        self._body: list[bytes] = []
        self._like: HttpRequest | None = None
        """The request, without a body, once its head is whole and its body is not."""

    def _count_head(self, size: int) -> None:
        self._head_size += size
        if self._head_size > self._limits.head_bytes:
            self._stop(431, f"head of more than {self._limits.head_bytes} bytes")

    def _check_host(self) -> None:
        hosts = sum(name == "host" for name, _ in self._headers)
        if hosts > 1 or (hosts == 0 and self._parsing.get_http_version() == "1.1"):
            self._stop(400, "exactly one Host header is needed")

    def _check_framing(self) -> None:
        length = self._value("content-length")
        if length is not None and int(length) > self._limits.body_bytes:
            self._stop(413, f"body of more than {self._limits.body_bytes} bytes")
        coding = self._value("transfer-encoding")
        if coding is None:
            return
        if self._parsing.get_http_version() != "1.1":
            self._stop(400, "Transfer-Encoding is not for HTTP/1.0")
        if coding.strip().lower() != "chunked":
            self._stop(400, "no transfer coding but chunked is understood")

    def _check_expectation(self) -> None:
        expectation = self._value("expect")
        if expectation is None:
            return
        if expectation.strip().lower() != "100-continue":
            self._stop(417, "no expectation but 100-continue is understood")
        self.expects_continue = self._parsing.get_http_version() == "1.1"

    def _check_unframed(self) -> None:
        """Bytes that belong to no head and no body yet: a line without end, chunk extensions, trailers."""
        if self._unframed > self._limits.head_bytes and (self.in_head or self.in_body):
            self.refuse(HttpRefusal(431 if self.in_head else 400, f"more than {self._limits.head_bytes} bytes of framing"))

    def _value(self, name: str) -> str | None:
        return next((value for given, value in self._headers if given == name), None)

    def _stop(self, status: int, reason: str) -> None:
        self._refusal = HttpRefusal(status, reason)
        raise _RefusedError(reason)
