"""An event loop in a thread of its own, for programs that have none: whoever calls waits here for what is done there."""

from __future__ import annotations

import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from clew.errors import RequestInvalid
from clew.http.loop_thread import LoopThread

__all__ = ["Loop"]

T = TypeVar("T")


class Loop(LoopThread):
    """`with Loop() as loop: loop.call(coroutine())`. Leaving it ends what still runs there.

    >>> async def answer() -> int:
    ...     return 42
    >>> with Loop() as loop:
    ...     loop.call(answer())
    42
    """

    def __init__(self) -> None:
        super().__init__("clew-conversation")

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run it there, wait for it here. Whoever is interrupted while waiting cancels it.

        Raises RequestInvalid where waiting would have no end, or nothing runs any more.
        """
        if why := self._why_not():
            work.close()
            raise RequestInvalid(why)
        done = self._begun(work)
        try:
            return done.result()
        except BaseException:
            done.cancel()  # means nothing if it is its own failure
            raise

    def _why_not(self) -> str:
        if self._loop.is_closed():
            return "this was closed: open it again"
        if threading.current_thread() is self._thread:
            return "a coroutine cannot wait for the loop that it runs on: take a plain function"
        return ""
