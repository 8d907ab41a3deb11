"""Which event loop: uvloop where it is installed, asyncio's own where it is not (Windows); and what each has of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

__all__ = ["EachLoop", "new_event_loop", "run"]

T = TypeVar("T")


class EachLoop(Generic[T]):
    """One of a kind for each loop, made when first asked for; those of loops that are over are forgotten then.

    Weak references would not do: what belongs to a loop knows it.
    """

    def __init__(self, make: Callable[[asyncio.AbstractEventLoop], T]) -> None:
        self._make = make
        self._made: dict[asyncio.AbstractEventLoop, T] = {}

    def __call__(self, loop: asyncio.AbstractEventLoop) -> T:
        made = self._made.get(loop)
        if made is None:
            for over in [each for each in list(self._made) if each.is_closed()]:
                self._made.pop(over, None)
            made = self._made[loop] = self._make(loop)
        return made


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
