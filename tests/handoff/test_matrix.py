"""The hand-over matrix: what any vendor began, any other goes on with, and the first one ends it.

`fates.txt` pins what became of each thought when the second vendor took over, and why: one line for each pair. It is read, not
written; a line that is wrong or missing fails with the line that would be right.
"""

from __future__ import annotations

import pytest

from tests.build import user
from tests.engine.gate import Answer
from tests.engine.kept import exchange_of
from tests.engine.talk import Talk
from tests.handoff.conftest import Table
from tests.handoff.judging import check_own, fate_of, fates, pairs
from tests.handoff.seats import KINDS
from tests.manifest import proves

pytestmark = pytest.mark.slow

PAIRS = pairs()
IDS = [f"{origin} to {target}" for origin, target in PAIRS]
FATES = fates("fates")


def _turn(talk: Talk, table: Table, calls: str, answers: str) -> list[Answer]:
    """A question: one vendor thinks and calls a tool, the same or another thinks and answers."""
    talk.messages.append(user("And now?"))
    first = _step(talk, table, calls)
    talk.runs()
    return [first, _step(talk, table, answers)]


def _step(talk: Talk, table: Table, kind: str) -> Answer:
    table.gate.use(KINDS[kind].name)
    return talk.step()


@proves("req:S3-40", "case:57", "case:57b")
@pytest.mark.parametrize(("origin", "target"), PAIRS, ids=IDS)
def test_a_conversation_goes_on_elsewhere_and_comes_back(table: Table, origin: str, target: str) -> None:
    """Between turns, and inside a tool loop: nobody refuses anything, and each gets all of its own back and nothing else.

    What became of each thought, and why, is as `fates.txt` has it for the first request after the hand-over.
    """
    table.begin(origin, target)
    talk = Talk(table.gate)
    first, second = _turn(talk, table, origin, origin), _turn(talk, table, target, target)
    mixed = _turn(talk, table, origin, target)
    talk.messages.append(user("And in the end?"))
    _step(talk, table, origin)

    assert (table.refused(origin), table.refused(target)) == ([], [])
    own = [*first, mixed[0]] if origin != target else [*first, *second, *mixed]
    check_own(table, origin, [_has(answer, "thinking") for answer in own])
    assert fate_of(second[0], exchange_of(table.gate, second[0])) == FATES.get(f"{origin} to {target}")


def _has(answer: Answer, type: str) -> bool:
    return any(event["content_block"]["type"] == type for event in answer.events if event["type"] == "content_block_start")
