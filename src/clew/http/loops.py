"""Which event loop: uvloop where it is installed, asyncio's own where it is not (Windows)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

__all__ = ["new_event_loop", "run"]

T = TypeVar("T")


def new_event_loop() -> asyncio.AbstractEventLoop:
    """A fresh loop of the best kind there is."""
    return _factory()()


def run(main: Coroutine[Any, Any, T]) -> T:
    """Like `asyncio.run`, on the best loop there is."""
    with asyncio.Runner(loop_factory=_factory()) as runner:
        return runner.run(main)


def _factory() -> Callable[[], asyncio.AbstractEventLoop]:
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop
    return uvloop.new_event_loop
