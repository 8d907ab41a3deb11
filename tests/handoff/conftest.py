"""One gateway with every kind of vendor behind it, for all hand-overs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from clew.testing import Simulator
from tests.build import Json
from tests.engine.gate import Gate
from tests.handoff.seats import KINDS, seated

STRICT = {"prefix_enforcement": "on"}


class Table:
    """The gateway, and the simulators by kind. Journals are read from where the present test began."""

    def __init__(self, home: Path, stack: ExitStack) -> None:
        self.vendors = {kind: stack.enter_context(_vendor(kind)) for kind in KINDS}
        rows = [seated(seat, self.vendors[kind]) for kind, seat in KINDS.items()]
        self.gate = stack.enter_context(Gate(home, *rows))
        self._began = dict.fromkeys(KINDS, 0)

    def begin(self, *kinds: str) -> None:
        """What came before to these is not looked at any more."""
        for kind in kinds:
            self._began[kind] = max((entry["n"] for entry in self.asked(kind)), default=self._began[kind])

    def asked(self, kind: str) -> list[Json]:
        """The journal of what came to a vendor."""
        return self.vendors[kind].journal(self._began[kind])

    def refused(self, kind: str) -> list[str]:
        """What a vendor refused, in its own words."""
        verdicts = (entry["verdict"] for entry in self.asked(kind))
        return [verdict["message"] for verdict in verdicts if verdict and not verdict["ok"]]


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Table]:
    with ExitStack() as stack:
        yield Table(tmp_path_factory.mktemp("handoff"), stack)


def _vendor(kind: str) -> Simulator:
    return Simulator(kind=kind, realm=kind, stance=STRICT if kind == "anthropic" else None)
