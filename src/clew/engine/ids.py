"""Ids of exchanges and threads: in the order of time, and not to be guessed."""

from __future__ import annotations

import os
import time

_CHANCE = 11
"""Hexadecimal digits of an id that are chance."""


_drawn: list[str] = []
"""The system's randomness, fetched for some hundred ids at a time."""

if hasattr(os, "register_at_fork"):  # where a process can be forked: a child must not draw what its parent drew
    os.register_at_fork(after_in_child=_drawn.clear)


def new_id() -> str:
    """Eleven digits of milliseconds, eleven of chance. From any thread: conversations may have loops of their own."""
    try:
        chance = _drawn.pop()
    except IndexError:
        # One, and more for others.
        digits = os.urandom(_CHANCE * 128).hex()
        one, *more = (digits[at : at + _CHANCE] for at in range(0, len(digits), _CHANCE))
        _drawn.extend(more)
        chance = one
    return f"{time.time_ns() // 1_000_000:011x}{chance}"
