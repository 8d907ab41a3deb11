"""Values of an HTTP call to a backend: its timeouts, the head of its response, and how long that asks clients to wait."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from msgspec import Struct

Headers: TypeAlias = tuple[tuple[bytes, bytes], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """The longest time for each phase of a call, in seconds. A phase without a number has no limit."""

    slot: float | None = 5.0
    """Waiting for a free connection to the backend, if all are in use."""
    connect: float | None = 5.0
    """Looking up the name and opening a connection."""
    tls: float | None = 5.0
    """The TLS handshake."""
    send: float | None = 30.0
    """Sending the request, without the backend taking a single byte."""
    first_byte: float | None = 60.0
    """From the last byte of the request to the end of the answer's head. Interim responses do not count."""
    gap: float | None = 120.0
    """Between two pieces of the answer. Time in which clew itself does not read does not count."""
    total: float | None = None
    """The whole call."""


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
