"""Wanted: whether anybody still waits for the result of work on a request.

A long history takes seconds, and its client may leave meanwhile. The shell that knows calls `drop`; loops over the messages
of a long history call `check` now and then, and stop there. It is a flag and nothing else: it never changes a result.
"""

from __future__ import annotations

from typing import Final


class NotWanted(Exception):
    """Nobody waits for this work. The exception ends it in its thread, and is not reported."""


class Wanted:
    """The flag of one request. `drop` is called in another thread than `check`."""

    __slots__ = ("_is_dropped",)

    def __init__(self) -> None:
        self._is_dropped = False

    def drop(self) -> None:
        self._is_dropped = True

    def check(self) -> None:
        """Raises NotWanted."""
        if self._is_dropped:
            raise NotWanted


ALWAYS: Final = Wanted()
"""For work that is too short to be worth stopping."""
