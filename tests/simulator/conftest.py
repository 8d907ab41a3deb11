"""A simulator of the shell alone, for tests of what it does with a request that is legal by fiat (`standin`)."""

from collections.abc import Iterator

import pytest

from clew.testing import Simulator
from tests.simulator.standin import judge


@pytest.fixture(scope="module")
def shared() -> Iterator[Simulator]:
    with Simulator(judge=judge) as simulator:
        yield simulator


@pytest.fixture
def sim(shared: Simulator) -> Simulator:
    shared.reset()
    return shared
