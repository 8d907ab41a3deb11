"""A vendor with endpoints in two dialects is one vendor: what it thought behind the one goes to the other, as far as it can."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest
from msgspec import structs

from clew.testing.plugin import StartSimulator
from tests.build import Json
from tests.counts import SOAK
from tests.engine.gate import Gate
from tests.engine.talk import Talk, refusals, thoughts
from tests.handoff.seats import ROWS, Seat, seated

pytestmark = pytest.mark.slow

PAIRS = [
    (preset, first.dialect, second.dialect)
    for preset in dict.fromkeys(seat.preset for seat in ROWS)
    for first, second in permutations([seat for seat in ROWS if seat.preset == preset], 2)
][:: 1 if SOAK else 2]
"""Each goes there and back, so the suite takes every other."""


def _seat(preset: str, dialect: str) -> Seat:
    return next(seat for seat in ROWS if (seat.preset, seat.dialect) == (preset, dialect))


@pytest.mark.parametrize(("preset", "first", "second"), PAIRS)
def test_a_conversation_moves_between_the_endpoints_of_one_vendor(
    simulators: StartSimulator, tmp_path: Path, preset: str, first: str, second: str
) -> None:
    """Nothing is refused on the way there and back, and no other dialect's words stand where a signature belongs."""
    seats = [_seat(preset, dialect) for dialect in (first, second)]
    vendors = [simulators(kind=seat.kind, realm=preset) for seat in seats]
    rows = [structs.replace(seated(*pair), realm=preset) for pair in zip(seats, vendors, strict=True)]
    with Gate(tmp_path, *rows) as gate:
        talk = Talk(gate)
        for seat in (*seats, *seats):
            gate.use(seat.name)
            talk.says("And now?")

    assert [refusals(vendor) for vendor in vendors] == [[], []]
    if "anthropic" not in (first, second):
        return
    spoken = vendors[seats.index(_seat(preset, "anthropic"))]
    assert all(not _signature(block).startswith("{") for block in thoughts(spoken.journal()[-1]["body"]["messages"]))


def _signature(block: Json) -> str:
    return block.get("signature", "")
