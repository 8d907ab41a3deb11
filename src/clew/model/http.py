"""Values of an HTTP call to a backend: its timeouts, the head of its response, and how long that asks clients to wait."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from msgspec import Struct

Headers: TypeAlias = tuple[tuple[bytes, bytes], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Seconds that each phase may last; one without a number has no end. The promises are made with these numbers."""

    slot: float | None = 5.0
    """For room among the connections to a backend, where all that there may be are in use."""
    connect: float | None = 5.0
    """To look up the name and to open a connection."""
    tls: float | None = 5.0
    """For the handshake."""
    send: float | None = 30.0
    """Without the backend taking a single byte of the request."""
    first_byte: float | None = 60.0
    """From the request's last byte to the end of the response's head; interim responses do not count."""
    gap: float | None = 120.0
    """Between two pieces of the body, while we read: a reader of ours that is slow is not the backend's fault."""
    total: float | None = None
    """From the first step to the last byte."""


class ResponseHead:
    """The status line and the header fields. Names are lower case, values as they came."""

    __slots__ = ("first", "headers", "status", "version")

    def __init__(self, status: int, headers: Headers, version: str = "1.1") -> None:
        self.status = status
        self.headers = headers
        self.version = version
        self.first = dict(reversed(headers))
        """The first value of each name."""

    def header(self, name: bytes) -> bytes | None:
        """The first value of that name (lower case), or None."""
        return self.first.get(name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ResponseHead) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        return f"ResponseHead({self.status}, {self.headers}, {self.version!r})"

    def _values(self) -> tuple[object, ...]:
        return self.status, self.headers, self.version


class Wait(Struct, frozen=True):
    """For so many seconds, or until a moment in seconds since 1970; neither if the backend did not say."""

    seconds: float | None = None
    until: float | None = None


NO_WAIT: Final = Wait()
