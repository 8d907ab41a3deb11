"""Gateways in front of simulators that fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from clew.backends.row import Backend
from clew.testing import Simulator
from clew.testing.plugin import StartSimulator
from tests.engine.gate import Gate
from tests.faults.scene import Client

Gating = Callable[..., Gate]
Calling = Callable[..., Client]


@pytest.fixture
def gating(tmp_path: Path) -> Iterator[Gating]:
    """Starts gateways at will; they end with the test."""
    with ExitStack() as stack:

        def start(*backends: Backend, **settings: Any) -> Gate:
            place = tmp_path / "home"
            place.mkdir(exist_ok=True)
            return stack.enter_context(Gate(place, *backends, **settings))

        yield start


@pytest.fixture
def calling() -> Iterator[Calling]:
    """Opens raw connections to a gateway; they end with the test."""
    with ExitStack() as stack:

        def call(gate: Gate, **more: Any) -> Client:
            client = Client(gate, **more)
            stack.callback(client.socket.close)
            return client

        yield call


@pytest.fixture
def a(simulators: StartSimulator) -> Simulator:
    return simulators(realm="a")


@pytest.fixture
def b(simulators: StartSimulator) -> Simulator:
    return simulators(realm="b", seed=1)
