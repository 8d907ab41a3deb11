"""Bytes in, requests out: the server's half of HTTP/1.1, without any I/O.

`feed` takes bytes cut anywhere and appends to `ready`: whole requests, in order, and at most one `Refusal`, which is the
last thing that ever comes (after bytes that may be read in two ways, nothing behind them can be trusted). llhttp, inside
httptools, is strict by itself about duplicate Content-Length, Content-Length beside Transfer-Encoding, bare line feeds,
folded headers and chunk framing; this file adds the bounds, and what llhttp leaves to its caller.
"""

from __future__ import annotations

import httptools

from clew.http.known import Known, Seen
from clew.http.message import HttpRequest, Limits, Refusal

__all__ = ["RequestReader"]

_LINE_OVERHEAD = 4  # ": " and CRLF


class _RefusedError(Exception):
    """Stops the parser from inside a callback; the refusal itself is in the reader."""


class RequestReader:
    """Reads the requests of one connection."""

    __slots__ = (
        *("_body", "_head_size", "_headers", "_known", "_limits", "_parser", "_refusal", "_seen", "_target", "_unframed"),
        *("body_size", "expects_continue", "finished", "in_body", "in_head", "ready"),
    )

    def __init__(self, limits: Limits, known: Known | None = None) -> None:
        """`known` are heads that were read before, by any connection of this server."""
        self.ready: list[HttpRequest | Refusal] = []
        self.finished = False
        """No more requests will come: a refusal, an upgrade, or the client's `Connection: close`."""
        self.in_head = False
        self.in_body = False
        self.body_size = 0
        self.expects_continue = False
        """The client waits for a 100 before it sends the body that is due now."""
        self._limits = limits
        self._known = known if known is not None else Known()
        self._parser: httptools.HttpRequestParser | None = None
        """There only inside a request: most need none (`known`), and a thousand idle streams should not keep a thousand."""
        self._refusal: Refusal | None = None
        self._seen: Seen | None = None
        """The head of the last request here, if that is known: the next one's is nearly always the same."""
        self._unframed = 0
        self._begin()

    def again(self, data: bytes) -> HttpRequest | None:
        """The request, if these bytes are one like others before, and neither a part of another nor a whole one waits."""
        seen = self._seen
        if seen is None or self.finished or self.in_head or self.in_body or self.ready:
            return None
        return seen.again(data, self._limits.body_bytes)

    def feed(self, data: bytes) -> None:
        """Take what came from the client. Never raises for it."""
        if self.finished:
            return
        alone = None if self.in_head or self.in_body else self._known.split(data)
        if alone is None or len(alone[1]) > self._limits.body_bytes:
            self._parse(data)
            return
        key, body = alone
        seen = self._known.heads.get(key)
        if seen is not None:
            self._seen = seen if seen.after else None
            self.ready.append(HttpRequest.again(seen.like, body))
            return
        before = len(self.ready)
        self._parse(data)
        if len(self.ready) == before + 1 and not self.finished:
            self._known.remember(key, data, self.ready[-1])

    def _parse(self, data: bytes) -> None:
        self._unframed += len(data)
        self._parser = parser = self._parser or httptools.HttpRequestParser(self)
        try:
            parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self.finished = True  # we speak no other protocol: the request is answered, the rest ignored
        except httptools.HttpParserError as error:
            self._refuse(self._refusal or Refusal(400, str(error)))
        else:
            self._check_unframed()
        if not (self.in_head or self.in_body):
            self._parser = None

    @property
    def _parsing(self) -> httptools.HttpRequestParser:
        assert self._parser is not None, "called by it"
        return self._parser

    # What llhttp calls.

    def on_message_begin(self) -> None:
        self.in_head = True

    def on_url(self, url: bytes) -> None:
        self._target += url
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
        keep_alive = self._parsing.should_keep_alive() and not self._parsing.should_upgrade()
        self.ready.append(
            HttpRequest(
                method=self._parsing.get_method().decode("ascii"),
                target=self._target.decode("latin-1"),
                headers=tuple(self._headers),
                body=b"".join(self._body),
                version=self._parsing.get_http_version(),
                keep_alive=keep_alive,
            )
        )
        self._begin()
        self.finished = not keep_alive

    # What we check.

    def _begin(self) -> None:
        self.in_head = self.in_body = False
        self.expects_continue = False
        self.body_size = 0
        self._unframed = 0
        self._head_size = 0
        self._target = b""
        self._headers: list[tuple[str, str]] = []
        self._body: list[bytes] = []

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
            self._refuse(Refusal(431 if self.in_head else 400, f"more than {self._limits.head_bytes} bytes of framing"))

    def _value(self, name: str) -> str | None:
        return next((value for given, value in self._headers if given == name), None)

    def _stop(self, status: int, reason: str) -> None:
        self._refusal = Refusal(status, reason)
        raise _RefusedError(reason)

    def _refuse(self, refusal: Refusal) -> None:
        self.finished = True
        self.in_head = self.in_body = self.expects_continue = False
        self.ready.append(refusal)
