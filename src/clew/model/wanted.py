"""Wanted: whether anybody still waits for what is made of a request.

A long history takes seconds, and its client may leave meanwhile. The shell that knows says so (`drop`); what goes over the
messages of a long history asks now and then (`check`), and stops there. It is a flag and nothing else: as long as somebody
waits, it changes nothing about what is made.
"""

from __future__ import annotations

from typing import Final

__all__ = ["ALWAYS", "NotWanted", "Wanted"]


class NotWanted(Exception):
    """Nobody waits for this work. It ends the work in its thread, and nobody hears of it."""


class Wanted:
    """One request's. `drop` is called in another thread than `check`."""

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
"""Of what takes no time worth stopping."""
