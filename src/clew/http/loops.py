"""Event loops: which kind to use, values that each loop has of its own, and a loop in a thread of its own.

uvloop is used where it is installed, and asyncio's own loop where it is not (Windows).
"""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

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


_JOIN_SECONDS = 10.0


class LoopThread(ABC):
    """Runs inside a `with`; leaving that cancels what still runs there. How long a caller waits is for `call` to say."""

    def __init__(self, name: str) -> None:
        self._loop = new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.call(_end_all())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_JOIN_SECONDS)
        self._loop.close()

    @abstractmethod
    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run it there, wait for it here."""

    def _begun(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)


async def _end_all() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_default_executor()
