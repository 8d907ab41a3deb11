"""A pytest plugin: a test that sleeps in real time fails, unless it has the mark `real_time`.

How long a machine takes is no business of a test. It waits for an event (`tests.waiting`), or moves a clock (`tests.clock`), on whose
loops `asyncio.sleep` takes no time. Only sleeps of the tests themselves count: what clew does is its own affair.
"""

import asyncio
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import BuiltinMethodType
from typing import Any

import pytest

TESTS = str(Path(__file__).parent)
WAITING = {str(Path(__file__).with_name(name)) for name in ("waiting.py", "clock.py")}

_sleep, _sleep_in_loop = time.sleep, asyncio.sleep
_slept: list[str] = []


@contextmanager
def noticing() -> Iterator[list[str]]:
    """The places that sleep meanwhile, in any thread."""
    global _slept  # noqa: PLW0603 - the functions of modules are what is replaced, so there is one list for all
    before, _slept = _slept, []
    try:
        yield _slept
    finally:
        _slept = before


def _note(seconds: float) -> None:
    """Who called, if it is a test's code and means real time."""
    frame = sys._getframe(2)
    file = frame.f_code.co_filename
    if seconds > 0 and file.startswith(TESTS) and file not in WAITING:
        _slept.append(f"{Path(file).relative_to(TESTS)}:{frame.f_lineno} sleeps for {seconds} s")


def _noted_sleep(seconds: float) -> None:
    _note(seconds)
    _sleep(seconds)


def _noted_sleep_in_loop(delay: float, result: Any = None) -> Any:
    if delay > 0 and _is_real(asyncio.get_running_loop()):
        _note(delay)
    return _sleep_in_loop(delay, result)


def _is_real(loop: asyncio.AbstractEventLoop) -> bool:
    """Whether nobody gave it a clock of its own."""
    return isinstance(loop.time, BuiltinMethodType) or getattr(loop.time, "__func__", None) is asyncio.BaseEventLoop.time


def pytest_configure(config: pytest.Config) -> None:
    time.sleep, asyncio.sleep = _noted_sleep, _noted_sleep_in_loop


def pytest_unconfigure(config: pytest.Config) -> None:
    time.sleep, asyncio.sleep = _sleep, _sleep_in_loop


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    with noticing() as slept:
        result = yield
    if slept and item.get_closest_marker("real_time") is None:
        told = "\n".join(dict.fromkeys(slept))
        pytest.fail(f"it sleeps in real time: wait for an event, or move a clock\n{told}", pytrace=False)
    return result
