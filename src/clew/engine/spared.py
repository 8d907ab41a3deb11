"""Recordings of a store that may fail at any look-up: what cannot be read is as if it had never been recorded.

A damaged row, or a disk that fails in the middle of an exchange, takes memory along and no answer. Each look-up stands for
itself, so one bad recording costs its own thinking, and not that of the conversation around it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TypeVar

from clew.errors import StoreError
from clew.model.recording import Recording, Recordings

__all__ = ["Spared"]

K = TypeVar("K")
V = TypeVar("V")

_log = logging.getLogger("clew.engine")


class Spared:
    """For one exchange."""

    def __init__(self, recordings: Recordings) -> None:
        self._recordings = recordings
        self.failure: StoreError | None = None
        """Why a recording could not be read, the first time."""

    def by_id(self, id: str) -> Recording | None:
        return self._looked_up(self._recordings.by_id, id, None)

    def by_key(self, key: bytes) -> Recording | None:
        return self._looked_up(self._recordings.by_key, key, None)

    def by_tool(self, id: str) -> Sequence[Recording]:
        return self._looked_up(self._recordings.by_tool, id, ())

    def by_place(self, place: bytes) -> Sequence[Recording]:
        return self._looked_up(self._recordings.by_place, place, ())

    def _looked_up(self, look_up: Callable[[K], V], name: K, nothing: V) -> V:
        try:
            return look_up(name)
        except StoreError as error:
            if self.failure is None:
                self.failure = error
                _log.warning("a recording cannot be read, the client's own copy goes: %s", error)
            return nothing
