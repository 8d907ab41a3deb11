"""The pytest plugin, found by pytest itself once clew is installed.

`simulator` is a fresh simulator with a strict judge; `simulators(kind=…, seed=…, stance=…, scenario=…)` starts as many
as a test needs. They end with the test.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Protocol

import pytest

if TYPE_CHECKING:
    from clew.testing.simulator import Simulator


class StartSimulator(Protocol):
    """The factory: takes the arguments of `Simulator`, and gives one that runs."""

    def __call__(self, **settings: Any) -> Simulator: ...


@pytest.fixture
def simulators() -> Iterator[StartSimulator]:
    """Start as many simulators as the test needs."""
    from clew.testing.simulator import Simulator

    with ExitStack() as stack:

        def start(**settings: Any) -> Simulator:
            return stack.enter_context(Simulator(**settings))

        yield start


@pytest.fixture
def simulator(simulators: StartSimulator) -> Simulator:
    """A simulator with the default settings."""
    return simulators()
