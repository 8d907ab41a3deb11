"""A request as the server hands it on, what it refuses by itself, and the bounds that it keeps.

A request is whole: its body was read and counted before anyone sees it, for every consumer here needs all of it anyway.
Header names are lower case; values are kept as they came, in order, repeated ones too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

__all__ = ["HttpRequest", "Limits", "Refusal"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
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
    body_rate: int = 1024
    """Bytes per second that a body must bring on the average, after `head_seconds` of grace."""
    write_seconds: float = 60.0
    """A reader that took nothing for so long is gone."""
    linger_seconds: float = 2.0
    """After a refusal: how long the rest of the client's bytes are thrown away, so that it can read the answer."""
    tick_seconds: float = 1.0
    """How often the times above are looked at."""


@dataclass(frozen=True)
class HttpRequest:
    """One request, complete."""

    method: str
    target: str
    """As it came: `/v1/messages?beta=true`."""
    headers: tuple[tuple[str, str], ...]
    body: bytes
    version: str = "1.1"
    keep_alive: bool = True

    @cached_property
    def path(self) -> str:
        return self._split[0]

    @cached_property
    def query(self) -> str:
        return self._split[1]

    @cached_property
    def _split(self) -> tuple[str, str]:
        target = self.target
        if not target.startswith("/") and "://" in target:  # absolute form, for proxies
            _, _, rest = target.partition("://")
            slash = rest.find("/")
            target = rest[slash:] if slash >= 0 else "/"
        path, _, query = target.partition("?")
        return path, query

    @cached_property
    def joined(self) -> Mapping[str, str]:
        """Headers by name; repeated ones joined with a comma and a space, as RFC 9110 §5.3 allows."""
        found: dict[str, str] = {}
        for name, value in self.headers:
            found[name] = f"{found[name]}, {value}" if name in found else value
        return found

    def header(self, name: str) -> str | None:
        """A header's value, or None. `name` is lower case."""
        return self.joined.get(name)


@dataclass(frozen=True, slots=True)
class Refusal:
    """What the server does not even hand on. The connection is closed after the answer."""

    status: int
    reason: str
