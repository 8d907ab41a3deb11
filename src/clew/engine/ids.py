"""Ids of exchanges and threads: in the order of time, and not to be guessed."""

from __future__ import annotations

import os
import time

__all__ = ["new_id"]

_CHANCE = 11
"""Hexadecimal digits of an id that are chance."""


class _Chance:
    """The system's randomness, fetched for some hundred ids at a time."""

    def __init__(self) -> None:
        self._digits = ""
        if hasattr(os, "register_at_fork"):  # where a process can be forked
            os.register_at_fork(after_in_child=self.forget)

    def forget(self) -> None:
        """A child must not draw what its parent drew."""
        self._digits = ""

    def take(self) -> str:
        if len(self._digits) < _CHANCE:
            self._digits = os.urandom(2048).hex()
        taken, self._digits = self._digits[:_CHANCE], self._digits[_CHANCE:]
        return taken


_chance = _Chance()


def new_id() -> str:
    """Eleven digits of milliseconds, eleven of chance."""
    return f"{time.time_ns() // 1_000_000:011x}{_chance.take()}"
