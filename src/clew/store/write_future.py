"""The future of a command that a store's writer runs.

Every turn has one, and nearly always it is only called back. A future of the library makes a lock, a condition and a list of
waiters for that, and takes the lock whenever it is asked something: a tenth of what it took to hand a turn over. This one
has the same methods and no lock of its own. All of them share one, which is held for some instructions.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Any, TypeVar, cast

T = TypeVar("T")

_log = logging.getLogger("clew.store")
_changing = threading.Lock()


class WriteFuture(Future[T]):
    """Ended by the writer's thread; asked, waited for and cancelled by any. It can be cancelled until the command begins."""

    def __init__(self) -> None:
        """Not as the library's begins: nothing of that is used."""
        self._value: T | None = None
        self._failure: BaseException | None = None
        self._has_begun = self._is_over = False
        self._told: list[Callable[[Future[T]], object]] = []

    def __repr__(self) -> str:
        return f"<WriteFuture, {'over' if self._is_over else 'begun' if self._has_begun else 'waiting'}>"

    def done(self) -> bool:
        return self._is_over

    def running(self) -> bool:
        return self._has_begun and not self._is_over

    def cancelled(self) -> bool:
        return self._is_over and not self._has_begun

    def cancel(self) -> bool:
        with _changing:
            if self._has_begun or self._is_over:
                return self.cancelled()
            self._failure, self._is_over = CancelledError(), True
        self._tell()
        return True

    def set_running_or_notify_cancel(self) -> bool:
        with _changing:
            self._has_begun = not self._is_over
        return self._has_begun

    def set_result(self, result: T) -> None:
        with _changing:
            self._value, self._has_begun, self._is_over = result, True, True
        self._tell()

    def set_exception(self, exception: BaseException | None) -> None:
        with _changing:
            self._failure, self._has_begun, self._is_over = exception, True, True
        self._tell()

    def add_done_callback(self, fn: Callable[[Future[T]], object]) -> None:
        with _changing:
            if not self._is_over:
                self._told.append(fn)
                return
        self._call(fn)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        if not self._is_over:
            self._wait(timeout)
        if self.cancelled():
            raise CancelledError
        return self._failure

    def result(self, timeout: float | None = None) -> T:
        if not self._is_over:
            self._wait(timeout)
        if self._failure is not None:
            raise self._failure
        return cast(T, self._value)

    def _wait(self, timeout: float | None) -> None:
        over = threading.Event()
        self.add_done_callback(lambda _: over.set())
        if not over.wait(timeout):
            raise TimeoutError

    def _tell(self) -> None:
        """Nothing is added any more."""
        told, self._told = self._told, []
        for fn in told:
            self._call(fn)

    def _call(self, fn: Callable[[Future[T]], Any]) -> None:
        try:
            fn(self)
        except Exception:  # the writer has to go on
            _log.exception("a callback after a write to the store failed")
