"""The hand-over matrix by clients of other fronts: whatever they keep of an answer, each vendor gets its own back.

A `fates` file for each kind of client pins what became of each thought when the second vendor took over, as `fates.txt` does
for a client of the Messages API.
"""

from __future__ import annotations

import pytest

from tests.counts import SOAK
from tests.engine.gate import Answer
from tests.engine.kept import exchange_of
from tests.handoff.conftest import Table
from tests.handoff.front_talk import FrontTalk
from tests.handoff.judging import check_own, fate_of, fates, pairs
from tests.handoff.seats import KINDS

pytestmark = pytest.mark.slow

CLIENTS = {
    "chat, returns nothing": "fates.chat-nothing",
    "chat, returns details": "fates.chat-details",
    "responses, Codex": "fates.codex",
    "responses, AI SDK with references": "fates.ai-sdk",
}
FATES = {client: fates(name) for client, name in CLIENTS.items()}


def _cases() -> list[tuple[str, str, str]]:
    """In the suite one client after the other takes a pair; in the soak each takes all of them."""
    cases = [(client, *pair) for pair in pairs(near=0) for client in CLIENTS]
    return cases if SOAK else cases[:: len(CLIENTS) + 1]


CASES = _cases()


def _turn(talk: FrontTalk, table: Table, calls: str, answers: str) -> list[Answer]:
    talk.asks("And now?")
    first = _step(talk, table, calls)
    talk.runs()
    return [first, _step(talk, table, answers)]


def _step(talk: FrontTalk, table: Table, kind: str) -> Answer:
    table.gate.use(KINDS[kind].name)
    return talk.step()


@pytest.mark.parametrize(("client", "origin", "target"), CASES, ids=[f"{a}: {b} to {c}" for a, b, c in CASES])
def test_a_conversation_on_another_front_goes_on_elsewhere_and_comes_back(
    table: Table, client: str, origin: str, target: str
) -> None:
    """Between turns, and inside a tool loop: nobody refuses anything, and each gets all of its own back and nothing else."""
    table.begin(origin, target)
    talk = FrontTalk(table.gate, client)
    _turn(talk, table, origin, origin)
    handed_over, _ = _turn(talk, table, target, target)
    _turn(talk, table, origin, target)
    talk.asks("And in the end?")
    _step(talk, table, origin)

    assert (table.refused(origin), table.refused(target)) == ([], [])
    shown = [talk.client.thinks(answer) for answer in talk.answers[:-1]]
    check_own(table, origin, shown if origin == target else [*shown[:2], shown[4]])
    assert fate_of(handed_over, exchange_of(table.gate, handed_over)) == FATES[client].get(f"{origin} to {target}")
