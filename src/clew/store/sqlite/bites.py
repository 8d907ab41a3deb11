"""Bites: work that is too much for one transaction, because turns wait while it lasts, done in several."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

__all__ = ["in_bites"]

T = TypeVar("T")


def in_bites(bite: Callable[[], Future[int]], last: Callable[[], Future[T]]) -> Future[T]:
    """Bite after bite until one finds nothing to do, then what comes last, whose result it is.

    Each is handed to the writer when the one before is committed, so that whatever came meanwhile is done between two.
    """
    ended: Future[T] = Future()

    def go_on(done: Future[int]) -> None:
        if error := done.exception():
            ended.set_exception(error)
        elif done.result():
            bite().add_done_callback(go_on)
        else:
            last().add_done_callback(finish)

    def finish(done: Future[T]) -> None:
        if error := done.exception():
            ended.set_exception(error)
        else:
            ended.set_result(done.result())

    bite().add_done_callback(go_on)
    return ended
