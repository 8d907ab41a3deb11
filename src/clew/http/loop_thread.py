"""An event loop in a thread of its own, for whoever waits for it: a program that has no loop, or a test."""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import Coroutine
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Self, TypeVar

from clew.http.loops import new_event_loop

__all__ = ["LoopThread"]

T = TypeVar("T")
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
