"""One running simulator of each kind for a whole session; each test gets it as if it were new."""

from collections.abc import Callable, Iterator

import pytest

from clew.testing import Simulator


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
