"""Ids of exchanges and threads: in the order of time, and not to be guessed."""

from __future__ import annotations

import secrets
import time

__all__ = ["new_id"]


def new_id() -> str:
    """Eleven digits of milliseconds, eleven of chance."""
    return f"{time.time_ns() // 1_000_000:011x}{secrets.randbits(44):011x}"
