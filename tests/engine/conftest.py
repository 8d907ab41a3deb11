"""Two vendors and a gateway between them and anyone who asks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from clew.backends.row import Backend
from clew.testing import Simulator
from clew.testing.plugin import StartSimulator
from tests.engine.gate import Gate, claude, other

Gating = Callable[..., Gate]

STRICT = {"prefix_enforcement": "on"}


@pytest.fixture
def a(simulators: StartSimulator) -> Simulator:
    """A first-party Claude host that checks what came before each block."""
    return simulators(stance=STRICT)


@pytest.fixture
def b(simulators: StartSimulator) -> Simulator:
    """Another vendor, as strict as the first, that signs with a key of its own."""
    return simulators(realm="glm", stance=STRICT)


@pytest.fixture
def gating(tmp_path: Path) -> Iterator[Gating]:
    """Starts gateways at will; they end with the test. `home` is the store's directory."""
    with ExitStack() as stack:

        def start(*backends: Backend, home: str = "home", **settings: Any) -> Gate:
            place = tmp_path / home
            place.mkdir(exist_ok=True)
            return stack.enter_context(Gate(place, *backends, **settings))

        yield start


@pytest.fixture
def gate(gating: Gating, a: Simulator, b: Simulator) -> Gate:
    """One gateway in front of both; Claude is active."""
    return gating(claude(a), other(b))
