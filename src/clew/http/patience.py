"""How long a connection may take: for a head, for a body, to ask again, to take what waits for it.

It looks at the times that the connection notes, whenever it is asked, and keeps what it needs to compare them.
"""

from __future__ import annotations

from clew.http.message import Limits
from clew.http.reader import RequestReader

__all__ = ["Patience"]


class Patience:
    """With one connection."""

    __slots__ = ("_body_number", "_body_since", "_body_size", "_limits", "_pending", "_pending_since")

    def __init__(self, limits: Limits) -> None:
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
