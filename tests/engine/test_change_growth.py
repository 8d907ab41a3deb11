"""What the store keeps of Changes grows with a conversation, and not with its square, though each request has more of them."""

from __future__ import annotations

from contextlib import closing

import pytest

from clew.model.change import Change
from clew.settings.values import ThinkingSettings
from clew.testing.plugin import StartSimulator
from tests.counts import examples
from tests.database import connected
from tests.engine.conftest import Gating
from tests.engine.gate import Answer, Gate
from tests.engine.kept import store_of
from tests.engine.talk import Talk
from tests.engine.test_strand_growth import converse, row_for

pytestmark = pytest.mark.slow

TURNS = examples(70, soak=200)
OF_A_TURN = 640
"""Bytes. Measured: 400 where the client drops its thinking, 540 where it is hidden from it; as JSON 10,400 and 12,800."""


def kept(gate: Gate) -> int:
    """The bytes of all Changes."""
    with closing(connected(gate.home / "clew.db")) as file:
        [(size,)] = file.execute("SELECT sum(length(changes)) FROM exchanges")
    assert isinstance(size, int)
    return size


class Forgetful(Talk):
    """A client that drops all thinking."""

    def step(self) -> Answer:
        answer = super().step()
        self.forgets_thinking()
        return answer


@pytest.mark.parametrize(
    ("kind", "show", "client", "why"),
    [
        ("anthropic", "seal", Forgetful, "the client had left it out"),
        ("deepseek-chat", "hide", Talk, "the client never got this block"),
    ],
)
def test_many_turns_whose_thinking_is_restored_keep_little(
    gating: Gating, simulators: StartSimulator, kind: str, show: str, client: type[Talk], why: str
) -> None:
    gate = gating(row_for(kind, simulators(kind=kind, realm=kind)), thinking=ThinkingSettings(show_reasoning=show))
    converse(client(gate, stream=False), TURNS)
    assert kept(gate) < TURNS * OF_A_TURN
    newest_first = store_of(gate).exchanges("local", limit=TURNS)
    restored = [tuple(change for change in each.changes if change.step == "thinking") for each in newest_first]
    assert restored == [_restored(turn, why) for turn in reversed(range(TURNS))]


def _restored(turn: int, why: str) -> tuple[Change, ...]:
    """All thinking before this turn, of which each answer has some."""
    return tuple(Change("thinking", f"messages.{2 * each + 1}.content.0", "restored", why) for each in range(turn))
