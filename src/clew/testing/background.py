"""An event loop in a thread of its own, for tests that talk to a server with blocking clients."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

from clew.http.loops import LoopThread

T = TypeVar("T")


class Background(LoopThread):
    """`with Background() as loop: loop.call(coroutine())`. Leaving the block cancels what still runs there."""

    def __init__(self) -> None:
        super().__init__("clew-background")

    def call(self, work: Coroutine[Any, Any, T], timeout: float = 30.0) -> T:
        """Run the coroutine in that thread, and wait for it here, `timeout` seconds at most."""
        return self._begun(work).result(timeout)
