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
        self._parts: list[str] = []
        if hasattr(os, "register_at_fork"):  # where a process can be forked
            os.register_at_fork(after_in_child=self.forget)

    def forget(self) -> None:
        """A child must not draw what its parent drew."""
        self._parts = []

    def take(self) -> str:
        if not self._parts:
            digits = os.urandom(_CHANCE * 128).hex()
            self._parts = [digits[at : at + _CHANCE] for at in range(0, len(digits), _CHANCE)]
        return self._parts.pop()


_chance = _Chance()


def new_id() -> str:
    """Eleven digits of milliseconds, eleven of chance."""
    return f"{time.time_ns() // 1_000_000:011x}{_chance.take()}"
