"""In one piece: an answer that is no stream, taken from inside the backend's reads.

Whoever hears it says what it is for (`express`, `by_rote`), and what becomes of it when it is unusual.
"""

from __future__ import annotations

from abc import abstractmethod

from clew.engine.reply_type import JSON, comes_as
from clew.http.client.connection import ClientConnection
from clew.http.client.message import ResponseHead

__all__ = ["InOnePiece"]


class InOnePiece:
    """One answer."""

    __slots__ = ()

    _on: ClientConnection
    """What the request went out on. Its `news` are ours as long as this is the short way."""

    @abstractmethod
    def _is_taken(self, head: ResponseHead, raw: bytes) -> bool:
        """All of it is here. False if it is no answer; then nothing was done about it."""

    @abstractmethod
    def _go_the_long_way(self) -> None:
        """Something is unusual: go on in a task, where everything can happen."""

    def _whole_comes(self) -> None:
        """There is news."""
        on = self._on
        head, raw = on.heard, on.whole()
        if head is None or raw is None:
            if on.has_failed or on.is_full or (head is not None and not comes_as(head, JSON)):
                self._go_the_long_way()
        elif not comes_as(head, JSON) or not self._is_taken(head, raw):
            on.put_back(raw)
            self._go_the_long_way()
