"""An event loop in a thread of its own, for tests that talk to a server with blocking clients."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Self, TypeVar

from clew.http.loops import new_event_loop

__all__ = ["Background"]

T = TypeVar("T")
_JOIN_SECONDS = 10.0


class Background:
    """`with Background() as loop: loop.call(coroutine())`. Leaving it cancels what still runs there."""

    def __init__(self) -> None:
        self._loop = new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="clew-background", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.call(_cancel_all())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_JOIN_SECONDS)
        self._loop.close()

    def call(self, coroutine: Coroutine[Any, Any, T], timeout: float = 30.0) -> T:
        """Run it there, wait for it here."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(timeout)


async def _cancel_all() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
