"""Simulators for tests: one whose requests are all legal (`standin`), and one of each kind for a whole session."""

from collections.abc import Callable, Iterator

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


@pytest.fixture(scope="session")
def running() -> Iterator[dict[str, Simulator]]:
    started: dict[str, Simulator] = {}
    yield started
    for simulator in started.values():
        simulator.__exit__(None, None, None)


@pytest.fixture
def sim_of(running: dict[str, Simulator]) -> Callable[[str], Simulator]:
    """The simulator of a kind."""
    fresh: set[str] = set()

    def get(kind: str) -> Simulator:
        if kind not in running:
            running[kind] = Simulator(kind=kind).__enter__()
        if kind not in fresh:
            fresh.add(kind)
            running[kind].reset()
        return running[kind]

    return get
