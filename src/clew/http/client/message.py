"""What the client side says and hears: a request, the head of a response, the bounds, and the three ways in which it fails.

Bytes in, bytes out: header names and values go as they were given and are kept as they came, in order, repeated ones too.
The client adds nothing but the framing of the body; the caller knows which headers a backend should see.

The failures are of the families that sockets raise themselves (`ConnectionError`, `TimeoutError`), so that one border can
turn them all into ours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from clew.model.http import Headers

Phase: TypeAlias = Literal["slot", "connect", "tls", "send", "first byte", "gap", "total"]
"""Where an exchange can be held up; `slot` is the wait for a free connection of the pool."""

_TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_TOKENS = re.compile(rb"(?:%b(?: %b)*+)?" % (_TOKEN.pattern, _TOKEN.pattern))
_TARGET = re.compile(rb"[!-~\x80-\xff]+")
_FORBIDDEN = re.compile(rb"[\r\n\0]")
_LONG = 16 * 1024
_FRAMING = frozenset({b"content-length", b"transfer-encoding"})
_BODILESS = frozenset({b"GET", b"HEAD", b"DELETE", b"OPTIONS"})


class ResponseBroken(ConnectionError):
    """What came is not HTTP, or more than we take."""


class PeerClosed(ConnectionError):
    """The connection ended before the response did. `began`: had any byte of it come?"""

    def __init__(self, message: str, *, began: bool) -> None:
        super().__init__(message)
        self.began = began


class PhaseTimedOut(TimeoutError):
    """A phase lasted longer than it may."""

    def __init__(self, phase: Phase, seconds: float) -> None:
        super().__init__(f"{phase} took longer than {seconds:g} s")
        self.phase: Phase = phase
        self.seconds = seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseLimits:
    """How much a backend may send."""

    head_bytes: int = 64 * 1024
    head_count: int = 200
    body_bytes: int | None = None
    buffer_bytes: int = 64 * 1024
    """What may wait here unread; then reading stops until somebody takes it."""


@lru_cache(maxsize=64)
def _head_of(method: bytes, target: bytes, headers: Headers) -> bytes:
    """The lines of a head but for the framing. A backend is asked with the same few again and again."""
    if not _TOKEN.fullmatch(method) or not _TARGET.fullmatch(target):
        raise ValueError("a method and a target are single words")
    if headers:  # all names in one match, and all values
        names, values = zip(*headers, strict=True)
        row = b" ".join(names)
        are_tokens = _TOKENS.fullmatch(row) and all(names) and row.count(b" ") == len(names) - 1
        if not are_tokens or _FORBIDDEN.search(b"".join(values)):
            raise ValueError("a header's name is one word, and its value holds no line break")
        if not _FRAMING.isdisjoint(map(bytes.lower, names)):
            raise ValueError("the framing is not the caller's to set")
    return b"\r\n".join([b"%b %b HTTP/1.1" % (method, target), *map(b": ".join, headers), b""])


class ClientRequest:
    """One request, complete. Raises ValueError where its bytes could be read as something else."""

    __slots__ = ("body", "headers", "method", "parts", "target")

    def __init__(self, *, method: bytes, target: bytes, headers: Headers = (), body: bytes = b"") -> None:
        """`target` as it goes out: `/v1/messages?beta=true`; `headers` with `host`, without `content-length` and
        `transfer-encoding`: the framing follows from the body."""
        head = _head_of(method, target, headers)
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
        if body or method not in _BODILESS:
            head += b"content-length: %d\r\n" % len(body)
        self.parts = [b"%b\r\n%b" % (head, body)] if len(body) < _LONG else [head + b"\r\n", body]
        """The bytes on the wire; a long body is not copied, a short one is, because one piece is written with less ado."""
