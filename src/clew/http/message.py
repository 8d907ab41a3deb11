"""A request as the server hands it on, what it refuses by itself, and the bounds that it keeps.

A request is whole: its body was read and counted before anyone sees it, for every consumer here needs all of it anyway.
Header names are lower case; values are kept as they came, in order, repeated ones too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from msgspec import Struct

LENGTH = "content-length"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLimits:
    """How much, and for how long, a client may ask of one connection; and how many of these there may be."""

    connections: int = 10_000
    """Open at the same time. One more takes the place of the longest idle one; if none is idle, it is closed."""
    head_bytes: int = 64 * 1024
    head_count: int = 100
    body_bytes: int = 32 * 1024 * 1024
    """What the vendor documents, and what real clients rely on: a session of some hours has bodies of several MB."""
    pipelined: int = 16
    """Requests that may wait behind the one being answered; then reading stops until it is done."""
    head_seconds: float = 10.0
    """From the first byte of a request to the end of its head."""
    idle_seconds: float = 75.0
    """Between two requests."""
    body_seconds: float = 30.0
    """Silence inside a body after which it is given up."""
    body_rate: int = 1024
    """Bytes per second that a body must bring on the average, over every `body_seconds`."""
    bodies_bytes: int = 512 * 1024 * 1024
    """Held by all bodies of more than 64 KB together, each from its first byte to the end of its answer. Over it, the one
    that has been coming for the longest time is refused."""
    write_seconds: float = 60.0
    """A reader that took nothing for so long is gone."""
    linger_seconds: float = 2.0
    """After a refusal the rest of the client's bytes is thrown away, so that it can read the answer: until it was silent for
    so long,"""
    linger_most_seconds: float = 60.0
    """or for so long altogether."""
    tick_seconds: float = 1.0
    """How often the times above are looked at."""


class RequestHead:
    """What a request says before its body."""

    __slots__ = ("headers", "joined", "keep_alive", "method", "path", "query", "repeated", "target", "version")

    def __init__(
        self, method: str, target: str, headers: tuple[tuple[str, str], ...], version: str, keep_alive: bool
    ) -> None:
        self.method = method
        self.target = target
        self.headers = headers
        self.version = version
        self.keep_alive = keep_alive
        if not target.startswith("/") and "://" in target:  # absolute form, for proxies
            target = "/" + target.partition("://")[2].partition("/")[2]
        self.path, _, self.query = target.partition("?")
        self.joined: Mapping[str, str] = dict(headers)
        """Headers by name; repeated ones joined with a comma and a space, as RFC 9110 §5.3 allows."""
        self.repeated: frozenset[str] = frozenset()
        """The names that came more than once."""
        if len(self.joined) < len(headers):
            found: dict[str, list[str]] = {}
            for name, value in headers:
                found.setdefault(name, []).append(value)
            self.joined = {name: ", ".join(values) for name, values in found.items()}
            self.repeated = frozenset(name for name, values in found.items() if len(values) > 1)


class HttpRequest(Struct, frozen=True, eq=False, gc=False):
    """One request, complete: its head, and its body."""

    head: RequestHead
    body: bytes
    checked: object = None
    """What the server's check made of the head, if that was checked before the body came."""

    def with_body(self, body: bytes) -> HttpRequest:
        """A request with the same head and another body."""
        return HttpRequest(self.head, body)

    @property
    def method(self) -> str:
        return self.head.method

    @property
    def target(self) -> str:
        """As it came: `/v1/messages?beta=true`."""
        return self.head.target

    @property
    def version(self) -> str:
        return self.head.version

    @property
    def keep_alive(self) -> bool:
        return self.head.keep_alive

    @property
    def path(self) -> str:
        return self.head.path

    @property
    def query(self) -> str:
        return self.head.query

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """As they came, repeated ones too."""
        return self.head.headers

    @property
    def joined(self) -> Mapping[str, str]:
        """Headers by name; repeated ones joined."""
        return self.head.joined

    def header(self, name: str) -> str | None:
        """A header's value, or None. `name` is lower case."""
        return self.head.joined.get(name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HttpRequest) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        return f"HttpRequest({self.method} {self.target}, {len(self.body)} bytes)"

    def _values(self) -> tuple[object, ...]:
        return self.method, self.target, self.headers, self.body, self.version, self.keep_alive


def request_of(
    *,
    method: str,
    target: str,
    headers: tuple[tuple[str, str], ...],
    body: bytes,
    version: str = "1.1",
    keep_alive: bool = True,
) -> HttpRequest:
    """A request as it was read, with a head of its own."""
    return HttpRequest(RequestHead(method, target, headers, version, keep_alive), body)


@dataclass(frozen=True, slots=True)
class HttpRefusal:
    """What the server does not even hand on. The connection is closed after the answer."""

    status: int
    reason: str
    headers: tuple[tuple[str, str], ...] = ()
    """Which say more than the words do."""
    path: str = ""
    """What was asked for, if that is known. The shape of the answer may depend on it."""
