"""What the bodies of one connection hold: the one that is answered, those that wait, and the one that is coming."""

from __future__ import annotations

from clew.http.message import HttpRequest
from clew.http.reader import RequestReader

__all__ = ["BodyAccount"]

_UNCOUNTED = 64 * 1024
"""Bytes of a body up to which it is not counted: small requests are taken while large ones are too many."""


class BodyAccount:
    """Keeps what was said of them last."""

    __slots__ = ("_answered", "_held")

    def __init__(self) -> None:
        self._answered = self._held = 0

    def answer(self, body: bytes) -> None:
        """From now on the request with this body is answered; with none, no request is."""
        self._answered = _counted(len(body))

    @property
    def is_empty(self) -> bool:
        return not self._held

    def change(self, reader: RequestReader) -> tuple[int, bool] | None:
        """How many bytes more are held than at the last call, and whether more are coming; None if it is the same."""
        coming = _counted(reader.body_size) if reader.in_body and not reader.finished else 0
        waiting = sum(_counted(len(item.body)) for item in reader.ready if isinstance(item, HttpRequest))
        before, self._held = self._held, self._answered + waiting + coming
        return (self._held - before, coming > 0) if self._held != before else None


def _counted(size: int) -> int:
    return size if size > _UNCOUNTED else 0
