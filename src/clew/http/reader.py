"""Bytes in, requests out: the server's half of HTTP/1.1, without any I/O.

`feed` takes bytes cut anywhere and appends to `ready`: whole requests, in order, and at most one `HttpRefusal`, which is the
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
from dataclasses import replace
from itertools import chain
from typing import TypeAlias

import httptools

from clew.http.long_body import LongBody
from clew.http.message import HttpRefusal, HttpRequest, RequestHead, ServerLimits

Check: TypeAlias = Callable[[HttpRequest], object]
"""Looks at a request whose body is still to come. Gives the `HttpRefusal` for one that is refused; else anything, which the
whole request has as `checked`."""

_NO_MEMORY = HttpRefusal(503, "Overloaded: there is not enough memory for this request. Try again in a moment.")
_LINE_OVERHEAD = 4  # ": " and CRLF
_MOST_NAMES = 256


class _Names(dict[bytes, str]):
    """Names of headers, in lower case. Clients use the same few, and each is one object for all requests."""

    def __missing__(self, name: bytes) -> str:
        if len(self) >= _MOST_NAMES:
            self.clear()
        self[name] = known = name.decode("latin-1").lower()
        return known


_NAMES = _Names()


class _RefusedError(Exception):
    """Stops the parser from inside a callback; the refusal itself is in the reader."""


class RequestReader:
    """Reads the requests of one connection."""

    __slots__ = (
        *("_body", "_check", "_checked", "_head", "_headers", "_limits", "_long_body", "_parser", "_refusal", "_target"),
        *("_unframed", "body_number", "body_size", "expects_continue", "finished", "in_body", "in_head", "ready"),
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
        self._begin()

    def _begin(self) -> None:
        self.in_head = self.in_body = self.expects_continue = False
        self.body_number += 1
        self.body_size = self._unframed = 0
        self._target = bytearray()
        self._headers: list[tuple[str, str]] = []
        self._head: RequestHead | None = None
        """Known once it is whole."""
        self._checked: object = None
        """What `Check` made of the head of this request, once it has seen it."""
        self._body: list[bytes] = []
        self._long_body: LongBody | None = None
        """A body that is still to come, past the parser."""

    def finish(self) -> None:
        """Read nothing more, and forget what waits."""
        self.finished = True
        self.ready.clear()

    def refuse(self, refusal: HttpRefusal) -> None:
        """The body that is coming is not wanted any more: forget what came of it, and read nothing behind it."""
        known = replace(refusal, path=self._head.path) if self._head is not None else refusal
        self._begin()
        self.finished = True
        self.ready.append(known)

    def feed(self, data: bytes) -> None:
        """Take what came from the client. Never raises for it."""
        try:
            if self._long_body is not None and not self.finished:
                data = self._fill(self._long_body, data)
            if self.finished or not data:
                return
            self._unframed += len(data)
            self._parser = parser = self._parser or httptools.HttpRequestParser(self)
            parser.feed_data(data)
            if self.in_head or self.in_body:
                # The request is not whole: what came of it must be within the limits, and its head is looked at.
                if self._unframed > self._limits.head_bytes:
                    status, reason = 431 if self.in_head else 400, f"more than {self._limits.head_bytes} bytes of framing"
                    self.refuse((self._size_fault() if self.in_head else None) or HttpRefusal(status, reason))
                elif self._head is not None and self._checked is None:
                    self._wait_for_body(parser, self._head)
        except httptools.HttpParserUpgrade:
            self.finished = True  # we speak no other protocol: the request is answered, the rest ignored
        except httptools.HttpParserError as error:
            is_full = isinstance(error.__context__, MemoryError)
            self.refuse(_NO_MEMORY if is_full else self._refusal or HttpRefusal(400, str(error)))
        except MemoryError:
            self.refuse(_NO_MEMORY)
        if not (self.in_head or self.in_body):
            self._parser = None

    # A body that comes in several reads.

    def _wait_for_body(self, parser: httptools.HttpRequestParser, head: RequestHead) -> None:
        """The head is whole, and its body is not. What is due of a body of known length need not pass the parser."""
        self._checked = checked = self._check(HttpRequest(head, b"")) if self._check is not None else True
        if isinstance(checked, HttpRefusal):
            self.refuse(checked)
            return
        length = head.joined.get("content-length")
        if length is not None and not parser.should_upgrade():
            self._long_body = body = LongBody(int(length))
            body.add(b"".join(self._body))
            self._body, self._parser = [], None

    def _fill(self, body: LongBody, data: bytes) -> bytes:
        """Put into the body what is due of it. Returns what came behind it."""
        due = body.due
        body.add(data if len(data) <= due else data[:due])
        self._body_grew(body)
        return data[due:]

    @property
    def due(self) -> int:
        """Bytes of a body that `pull` can take."""
        return self._long_body.due if self._long_body is not None and not self.finished else 0

    def pull(self, read: Callable[[memoryview], int]) -> int:
        """Some of what is due of a body, read to where it will be (`LongBody.fill`): how many bytes."""
        body = self._long_body
        came = 0
        try:
            if body is not None and (came := body.fill(read)):
                self._body_grew(body)
        except MemoryError:
            self.refuse(_NO_MEMORY)
        return came

    def _body_grew(self, body: LongBody) -> None:
        self.expects_continue = False
        self.body_size = body.size
        if not body.due:
            self._body = [body.whole()]
            self.on_message_complete()

    # What llhttp calls.

    def on_message_begin(self) -> None:
        self.in_head = True

    def on_url(self, url: bytes) -> None:
        self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Trailers come here too. They are bounded as framing is, and nobody reads them."""
        self._headers.append((_NAMES[name], value.decode("latin-1")))

    def on_headers_complete(self) -> None:
        parser, limits = self._parser, self._limits
        assert parser is not None, "called by it"
        self._head = head = RequestHead(
            parser.get_method().decode("ascii"),
            self._target.decode("latin-1"),
            tuple(self._headers),
            parser.get_http_version(),
            parser.should_keep_alive() and not parser.should_upgrade(),
        )
        is_large = self._unframed > limits.head_bytes or len(self._headers) > limits.head_count
        self._refusal = (self._size_fault() if is_large else None) or _head_fault(head, limits)
        if self._refusal is not None:
            raise _RefusedError
        self.in_head, self.in_body = False, True
        self._unframed = 0
        self.expects_continue = "expect" in head.joined and head.version == "1.1"

    def on_body(self, body: bytes) -> None:
        self._unframed = 0
        self.expects_continue = False
        self.body_size += len(body)
        if self.body_size > self._limits.body_bytes:
            self._refusal = _too_long(self._limits)
            raise _RefusedError
        self._body.append(body)

    def on_message_complete(self) -> None:
        """A body that came in one piece is not copied."""
        assert self._head is not None, "a body has a head before it"
        self.ready.append(HttpRequest(self._head, b"".join(self._body), self._checked))
        self.finished = not self._head.keep_alive
        self._begin()

    def _size_fault(self) -> HttpRefusal | None:
        """What is wrong with the size of the head, as far as it has come. A read may hold more than the head."""
        limits = self._limits
        words = sum(map(len, chain.from_iterable(self._headers)))
        size = len(self._target) + words + len(self._headers) * _LINE_OVERHEAD
        if size > limits.head_bytes:
            return HttpRefusal(431, f"head of more than {limits.head_bytes} bytes")
        if len(self._headers) > limits.head_count:
            return HttpRefusal(431, f"more than {limits.head_count} header fields")
        return None


def _head_fault(head: RequestHead, limits: ServerLimits) -> HttpRefusal | None:
    """What llhttp lets pass and we do not."""
    joined, is_new = head.joined, head.version == "1.1"
    length, coding, expectation = joined.get("content-length"), joined.get("transfer-encoding"), joined.get("expect")
    if "host" in head.repeated or (is_new and "host" not in joined):
        return HttpRefusal(400, "exactly one Host header is needed")
    if length is not None and int(length) > limits.body_bytes:
        return _too_long(limits)
    if coding is not None and not is_new:
        return HttpRefusal(400, "Transfer-Encoding is not for HTTP/1.0")
    if coding is not None and coding.strip().lower() != "chunked":
        return HttpRefusal(400, "the only transfer coding that is supported is chunked")
    if expectation is not None and expectation.strip().lower() != "100-continue":
        return HttpRefusal(417, "the only expectation that is supported is 100-continue")
    return None


def _too_long(limits: ServerLimits) -> HttpRefusal:
    return HttpRefusal(413, f"body of more than {limits.body_bytes} bytes")
