"""What one client connection may take: time, memory for its bodies, and reads of the event loop.

A fast client fills the kernel's buffers as soon as they are empty. An event loop that reads whatever is there reads
megabytes from one connection, then from the next; and uvloop accepts one new connection for each round of reads. With
sixty uploads of 32 MB at a time a round took 0.3 s, and a new client waited eight seconds to be accepted. So the reads
of all connections in one round share a budget (`ReadBudget`). A connection that exceeds it pauses, and goes on in a
later round, in the order in which they paused.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final, Protocol

from clew.http.loops import EachLoop
from clew.http.message import HttpRequest, ServerLimits
from clew.http.reader import RequestReader


class ClientDeadlines:
    """How long one connection may take: for a head, a body, its next request, and to read what is sent to it."""

    __slots__ = ("_body_number", "_body_since", "_body_size", "_limits", "_pending", "_pending_since")

    def __init__(self, limits: ServerLimits) -> None:
        self._limits = limits
        self._body_number, self._body_size, self._body_since = -1, 0, 0.0
        """Which body is coming, how much of it had come when it last had brought enough, and when that was."""
        self._pending, self._pending_since = 0, 0.0

    def is_over(self, reader: RequestReader, waited: float) -> bool:
        """With a client that is not being answered, `waited` seconds after its head began, or after its last answer."""
        if reader.in_body:
            return False  # that has its own measure
        return waited > (self._limits.head_seconds if reader.in_head else self._limits.idle_seconds)

    def is_over_with_refused(self, waited: float, refused: float) -> bool:
        """With a client that goes on sending: silent for `waited` seconds, and refused `refused` seconds ago."""
        return waited > self._limits.linger_seconds or refused > self._limits.linger_most_seconds

    def mark_body(self, reader: RequestReader, now: float) -> None:
        """What the client does from now on decides whether the body that is coming is late."""
        self._body_number, self._body_size, self._body_since = reader.body_number, reader.body_size, now

    def has_brought_enough(self, reader: RequestReader) -> bool:
        """Has the client sent its share of the body since the mark? The beginning of another body counts as that."""
        share = self._limits.body_rate * self._limits.body_seconds
        return reader.body_number != self._body_number or reader.body_size - self._body_size >= share

    def is_late(self, reader: RequestReader, now: float) -> bool:
        """Has the client sent too little of the body that is coming, for too long?"""
        is_coming = reader.in_body and not reader.finished and not reader.expects_continue
        return is_coming and now - self._body_since > self._limits.body_seconds

    def is_stalled(self, pending: int, now: float) -> bool:
        """Has the client taken nothing of the `pending` bytes that wait for it, for too long?"""
        if pending != self._pending:
            self._pending, self._pending_since = pending, now
        return pending > 0 and now - self._pending_since > self._limits.write_seconds


_UNCOUNTED = 64 * 1024
"""Bytes of a body up to which it is not counted: small requests are taken while large ones are too many."""


class HeldBodies:
    """Bytes held by the bodies of one connection: the one being answered, those that wait, and the one that is coming."""

    __slots__ = ("answered", "held")

    def __init__(self) -> None:
        self.answered = self.held = 0
        """By the one being answered; by all, as far as the server was told."""

    def answer(self, body: bytes) -> None:
        """From now on the request with this body is answered; with none, no request is."""
        self.answered = _counted(len(body))

    def change(self, reader: RequestReader) -> tuple[int, bool] | None:
        """How many bytes more are held than at the last call, and whether more are coming; None if it is the same."""
        coming = _counted(reader.body_size) if reader.in_body and not reader.finished else 0
        waiting = sum(_counted(len(item.body)) for item in reader.ready if isinstance(item, HttpRequest))
        before, self.held = self.held, self.answered + waiting + coming
        return (self.held - before, coming > 0) if self.held != before else None


def _counted(size: int) -> int:
    return size if size > _UNCOUNTED else 0


ROUND_BYTES: Final = 2 * 1024 * 1024
"""Read by all connections together in one round of the event loop: a few milliseconds."""
_RESUMED: Final = 2
"""Connections that go on in one round. Each of them reads once at least, whatever is left of the budget."""


class BodyConnection(Protocol):
    """A connection that reads long bodies."""

    def pause_body(self) -> None: ...
    def resume_body(self) -> None: ...


class ReadBudget:
    """The budget of one event loop."""

    __slots__ = ("_is_running", "_left", "_loop", "_paused")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._left = ROUND_BYTES
        self._paused: deque[BodyConnection] = deque()
        self._is_running = False
        """Whether the next round is scheduled."""

    def spend(self, connection: BodyConnection, size: int) -> None:
        """A connection has read so many bytes. It pauses if that was more than was left for this round."""
        self._left -= size
        if self._left < 0:
            connection.pause_body()
            self._paused.append(connection)
        if not self._is_running:
            self._is_running = True
            self._loop.call_soon(self._begin_round)

    def _begin_round(self) -> None:
        self._left = ROUND_BYTES
        for _ in range(min(_RESUMED, len(self._paused))):
            self._paused.popleft().resume_body()
        self._is_running = bool(self._paused)
        if self._is_running:
            self._loop.call_soon(self._begin_round)


read_budget_of = EachLoop(ReadBudget)
"""All connections of a loop share it."""
