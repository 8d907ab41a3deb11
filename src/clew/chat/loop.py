"""An event loop in a thread of its own, for programs that have none: whoever calls waits here for what is done there."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Self, TypeVar

from clew.errors import RequestInvalid
from clew.http.loops import new_event_loop

__all__ = ["Loop"]

T = TypeVar("T")
_JOIN_SECONDS = 10.0


class Loop:
    """`with Loop() as loop: loop.call(coroutine())`. Leaving it ends what still runs there.

    >>> async def answer() -> int:
    ...     return 42
    >>> with Loop() as loop:
    ...     loop.call(answer())
    42
    """

    def __init__(self) -> None:
        self._loop = new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="clew-conversation", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.call(_end_all())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_JOIN_SECONDS)
        self._loop.close()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run it there, wait for it here. Whoever is interrupted while waiting cancels it.

        Raises RequestInvalid where waiting would have no end, or nothing runs any more.
        """
        if why := self._why_not():
            work.close()
            raise RequestInvalid(why)
        done = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return done.result()
        except BaseException:
            done.cancel()  # means nothing if it is its own failure
            raise

    def _why_not(self) -> str:
        if self._loop.is_closed():
            return "this was closed with the `with` that it was opened in"
        if threading.current_thread() is self._thread:
            return "a coroutine cannot wait for the loop that it runs on: take a plain function"
        return ""


async def _end_all() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_default_executor()
