"""What holds for the whole suite: what is not run is not read, what is drawn is drawn alike, nobody sleeps in real time
(`tests.real_time`), and Python's garbage collector leaves the suite alone.

Each process of a run reads the files of all tests, so those that have nothing for it are left out by a look at their text.
A collected suite is millions of objects that live to the end. To go through them again and again costs a part of every test,
and a second at a time in which nothing answers: the gateways and simulators that tests run in this process stand still, too.
Examples are drawn anew by each soak, and by chance; a suite draws the same each time, for a change is not to blame for what
another draw would have shown before it. How long one takes is the machine's affair.
"""

import gc
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.clock import Clock
from tests.counts import SOAK, examples
from tests.real_time import pytest_configure, pytest_runtest_call, pytest_unconfigure

__all__ = ["clock", "pytest_configure", "pytest_runtest_call", "pytest_unconfigure"]

settings.register_profile(
    "clew",
    deadline=None,
    derandomize=not SOAK,
    max_examples=examples(25, soak=100),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("clew")

ALL_SLOW = re.compile(r"^pytestmark = \[?pytest\.mark\.slow\b", re.MULTILINE)


def has_nothing(text: str, marks: str) -> bool:
    """Whether a file of tests with this text has none for `-m MARKS`. `tests.test_manifest` holds the suite to it."""
    return (marks == "slow" and "slow" not in text) or (marks == "not slow" and ALL_SLOW.search(text) is not None)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    marks = config.getoption("markexpr")
    if not marks or not collection_path.match("test_*.py"):
        return None
    return has_nothing(collection_path.read_text(), marks) or None


def pytest_collection(session: pytest.Session) -> None:
    """What comes now will stay."""
    gc.disable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What is marked for the soak alone is for the soak alone."""
    if not SOAK and (left_out := [item for item in items if item.get_closest_marker("soak")]):
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item.get_closest_marker("soak") is None]


def pytest_collection_finish(session: pytest.Session) -> None:
    """From here on it looks only at what tests make."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """What runs under a test's clock is closed in real time, and that is before the clock's own fixture ends."""
    clock = item.funcargs.get("clock") if isinstance(item, pytest.Function) else None
    if isinstance(clock, Clock):
        clock.release()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Time for all loops in threads that start after it: it stands still until the test moves it. Name it first."""
    clock = Clock()
    monkeypatch.setattr("clew.http.loops.new_event_loop", clock.new_event_loop)
    return clock
