"""Asks the kernel whether a connection has something to say that the event loop has not seen yet."""

from __future__ import annotations

import asyncio
import select

__all__ = ["is_readable"]


def is_readable(transport: asyncio.Transport) -> bool:
    """Bytes, or the other side's end. Also true of one that is closed."""
    descriptor = transport.get_extra_info("socket").fileno()
    if descriptor < 0:
        return True
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))
