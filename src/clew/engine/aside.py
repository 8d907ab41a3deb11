"""What takes a while is done in a thread, so that nobody else's stream waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

__all__ = ["LARGE", "aside"]

T = TypeVar("T")

LARGE = 128 * 1024
"""Bytes of a request or an answer above which it is worked on in a thread: below, the way there costs more than the work."""


async def aside(size: int, work: Callable[[], T]) -> T:
    """What takes a while is done in a thread, so that nobody else's stream waits for it."""
    return await asyncio.to_thread(work) if size > LARGE else work()
