"""How a handler answers: `send` a whole response, or `start`, `write` and `end` a streamed one.

A handler owns nothing of the framing: that is the responder's, on a connection (`clew.http.wire_responder`) or to a
listener in the same process. `write` waits while the client does not read, so memory stays bounded. `push` does not wait: it
is for a handler that is called from inside a read and can stop its source, which it must when `push` says that the client is
behind, until `drained`. `hang_up` and `abort` break off on purpose: the first like a process that died between two writes
(FIN), the second like one whose machine did (RST).

A handler that answers from callbacks, without a task, says so with `hold`, is told by `cancel` that it must end, and lets
go with `release`, or goes on in a task after all with `hand_over`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractContextManager
from typing import Protocol, TypeAlias

from clew.http.chunks import ChunkWriter

HeaderList: TypeAlias = Iterable[tuple[str, str]]


class Holder(Protocol):
    """Answers a request from callbacks, without a task."""

    def cancel(self) -> None:
        """The client is gone, or the server ends (`Responder.draining`): end it now, or hand over to what does."""
        ...


class Responder:
    """Answers one request, once."""

    started = ended = False
    keep_alive = False
    """May another request follow?"""
    draining = False
    """The server ends and cannot wait any longer: the handler is cancelled, and may still say so and `end`."""
    holder: Holder | None = None
    after: Callable[[], None] | None = None
    """Called when this request has been dealt with, whatever came of it."""

    @property
    @abstractmethod
    def asked(self) -> str:
        """What is answered, for a log."""

    def hold(self, holder: Holder) -> None:
        """Answer later, from callbacks."""
        self.holder = holder

    @abstractmethod
    def release(self) -> None:
        """Called by the holder when the request is answered."""

    @abstractmethod
    def hand_over(self, work: Awaitable[None]) -> None:
        """Called by the holder: run this in a task, which answers the request instead."""

    @abstractmethod
    def send(self, status: int, headers: HeaderList, body: bytes = b"") -> None:
        """A whole response in one write."""

    @abstractmethod
    def start(self, status: int, headers: HeaderList) -> None:
        """The head of a streamed response; it goes out at once."""

    @abstractmethod
    async def write(self, data: bytes) -> None:
        """A part of the body; waits while the client is behind. Raises ConnectionError if it is gone."""

    @abstractmethod
    def push(self, data: bytes) -> bool:
        """A part of the body, at once. False if the client is behind or gone: await `drained` before the next."""

    @abstractmethod
    def flow(self) -> Callable[[bytes], bool]:
        """`push`, for a caller that uses it with every read, and never after the end."""

    def framed(self) -> ChunkWriter | None:
        """Who takes the same as chunks of HTTP/1.1, framing and all; None where such are not what goes out."""
        return None

    @abstractmethod
    def in_one_piece(self) -> AbstractContextManager[None]:
        """What is written in this block goes out together at its end."""

    @abstractmethod
    async def drained(self) -> None:
        """Wait until the client took what was written. Raises ConnectionError if it is gone."""

    @abstractmethod
    def end(self) -> None:
        """The end of a streamed response."""

    @abstractmethod
    def hang_up(self) -> None:
        """Close without an end, after what was written."""

    @abstractmethod
    def abort(self) -> None:
        """Reset the connection; what was written and not yet sent is lost."""


def lines_of(headers: HeaderList) -> str:
    """Headers as they are written. Raises ValueError for what could be read as something else."""
    rows = [f"{name}: {value}\r\n" for name, value in headers]
    lines = "".join(rows)
    if lines.count("\n") != len(rows) or lines.count("\r") != len(rows):
        raise ValueError("a header may hold no line break")
    return lines
