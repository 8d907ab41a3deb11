"""What holds for the whole suite: Python's garbage collector leaves the suite itself alone.

A collected suite is millions of objects that live to the end. To go through them again and again costs a part of every test,
and a second at a time in which nothing answers: the gateways and simulators that tests run in this process stand still, too.
"""

import gc

import pytest


def pytest_collection(session: pytest.Session) -> None:
    """What comes now will stay."""
    gc.disable()


def pytest_collection_finish(session: pytest.Session) -> None:
    """From here on it looks only at what tests make."""
    gc.freeze()
    gc.enable()
