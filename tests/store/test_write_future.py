"""The future of a write answers like one of the library."""

import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import TypeAlias

import pytest

from clew.store.write_future import WriteFuture

Make: TypeAlias = Callable[[], Future[int]]
FAILURE = ValueError("no")

kinds = pytest.mark.parametrize("make", [Future, WriteFuture], ids=["the library's", "a write's"])


def begin(future: Future[int]) -> None:
    assert future.set_running_or_notify_cancel()


def succeed(future: Future[int]) -> None:
    begin(future)
    future.set_result(7)


def fail(future: Future[int]) -> None:
    begin(future)
    future.set_exception(FAILURE)


def cancel(future: Future[int]) -> None:
    assert future.cancel()
    assert not future.set_running_or_notify_cancel()


def told(future: Future[int], timeout: float | None) -> tuple[object, object]:
    """What it says to those who ask."""
    said: list[object] = []
    for ask in (future.result, future.exception):
        try:
            said.append(ask(timeout))
        except (ValueError, CancelledError, TimeoutError) as error:
            said.append(type(error))
    return said[0], said[1]


@kinds
@pytest.mark.parametrize(
    ("act", "states", "says"),
    [
        (lambda future: None, (False, False, False), (TimeoutError, TimeoutError)),
        (begin, (False, True, False), (TimeoutError, TimeoutError)),
        (succeed, (True, False, False), (7, None)),
        (fail, (True, False, False), (ValueError, FAILURE)),
        (cancel, (True, False, True), (CancelledError, CancelledError)),
    ],
    ids=["waiting", "begun", "succeeded", "failed", "cancelled"],
)
def test_it_says_what_became_of_it(
    make: Make, act: Callable[[Future[int]], None], states: tuple[bool, bool, bool], says: tuple[object, object]
) -> None:
    future = make()
    act(future)
    assert (future.done(), future.running(), future.cancelled()) == states
    assert told(future, 0.0) == says


@kinds
@pytest.mark.parametrize(("act", "is_cancelled"), [(begin, False), (succeed, False), (cancel, True)])
def test_what_has_begun_cannot_be_cancelled(make: Make, act: Callable[[Future[int]], None], is_cancelled: bool) -> None:
    future = make()
    act(future)
    assert (future.cancel(), future.cancelled()) == (is_cancelled, is_cancelled)


@kinds
@pytest.mark.parametrize("end", [succeed, fail, cancel])
def test_it_calls_back_once_in_order_and_at_once_when_it_is_over(make: Make, end: Callable[[Future[int]], None]) -> None:
    """One that fails keeps no other from being called."""
    future, called = make(), list[tuple[str, bool]]()

    def note(name: str) -> Callable[[Future[int]], None]:
        return lambda done: called.append((name, done.done()))

    def raise_error(done: Future[int]) -> None:
        raise RuntimeError("mine")

    for callback in (note("first"), raise_error, note("second")):
        future.add_done_callback(callback)
    assert called == []
    end(future)
    future.add_done_callback(raise_error)
    future.add_done_callback(note("late"))
    assert called == [("first", True), ("second", True), ("late", True)]


@kinds
@pytest.mark.parametrize(("end", "says"), [(succeed, (7, None)), (fail, (ValueError, FAILURE))])
def test_a_thread_waits_for_it(make: Make, end: Callable[[Future[int]], None], says: tuple[object, object]) -> None:
    future, heard = make(), list[tuple[object, object]]()
    threads = [threading.Thread(target=lambda: heard.append(told(future, 30))) for _ in range(3)]
    for thread in threads:
        thread.start()
    end(future)
    for thread in threads:
        thread.join(30)
    assert heard == [says] * 3


def test_of_two_threads_that_add_and_end_none_loses_a_callback() -> None:
    """The lock is held between the question whether it is over and the answer."""
    for _ in range(200):
        future, called = WriteFuture[int](), list[int]()
        adding = threading.Thread(
            target=lambda f=future, c=called: [f.add_done_callback(lambda _: c.append(1)) for _ in range(20)]
        )
        adding.start()
        future.set_result(7)
        adding.join()
        assert len(called) == 20
