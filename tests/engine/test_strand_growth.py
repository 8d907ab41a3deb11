"""What the store holds of strands grows with a conversation, and not with its square, anyone who answers."""

from __future__ import annotations

from contextlib import closing

import pytest

from clew.backends.row import Backend
from clew.settings.values import ThinkingSettings
from clew.testing import Simulator
from clew.testing.plugin import StartSimulator
from clew.thinking.strands import strand_keys
from tests.build import user
from tests.database import connected
from tests.engine.chatting import chat
from tests.engine.conftest import Gating
from tests.engine.gate import Gate, claude
from tests.engine.kept import store_of
from tests.engine.talk import Talk
from tests.handoff.seats import KINDS, seated

pytestmark = pytest.mark.slow

KEY = 32
TURNS = 24
WHOSE = {
    "Claude": ("anthropic", "seal"),
    "Anthropic's dialect, signed": ("minimax", "seal"),
    "Anthropic's dialect, unsigned": ("zai", "seal"),
    "reasoning_content": ("deepseek-chat", "seal"),
    "reasoning_details": ("openrouter", "seal"),
    "signatures of calls": ("gemini-chat", "seal"),
    "tags": ("deepseek-r1", "seal"),
    "hidden": ("deepseek-chat", "hide"),
}


def converse(talk: Talk, turns: int) -> None:
    """Tool loops, one after another."""
    for _ in range(turns):
        if talk.messages and talk.calls:
            talk.runs()
        else:
            talk.messages.append(user("[[scenario:loop]] Three steps."))
        talk.step()


def listed(gate: Gate) -> int:
    """The bytes of all rows that are written out."""
    with closing(connected(gate.home / "clew.db")) as file:
        [(size,)] = file.execute("SELECT sum(length(coalesce(listed, x''))) FROM recordings")
    assert isinstance(size, int)
    return size


def row_for(kind: str, simulator: Simulator) -> Backend:
    return claude(simulator) if kind == "anthropic" else seated(KINDS[kind], simulator)


@pytest.mark.parametrize("whose", WHOSE)
def test_in_an_ordinary_conversation_no_strand_is_written_out(
    gating: Gating, simulators: StartSimulator, whose: str
) -> None:
    """It was for everybody but Claude: 32 bytes for each thought before, with each turn."""
    kind, show = WHOSE[whose]
    gate = gating(row_for(kind, simulators(kind=kind, realm=kind)), thinking=ThinkingSettings(show_reasoning=show))
    talk = Talk(gate, stream=False)
    converse(talk, TURNS)
    assert listed(gate) == 0


def test_the_strand_that_is_read_back_is_of_all_thoughts_that_went(gating: Gating, simulators: StartSimulator) -> None:
    gate = gating(row_for("openrouter", simulators(kind="openrouter", realm="openrouter")))
    talk = Talk(gate, stream=False)
    converse(talk, 4)
    talk.messages.append(user("And now?"))
    answer = talk.send()
    shelf = store_of(gate).recordings("local")
    recording = shelf.by_id(answer.headers["x-clew-exchange"])
    assert recording is not None
    assert len(strand_keys(recording, shelf)) == len([1 for each in talk.messages if each["role"] == "assistant"]) == 4


def test_after_a_repair_only_what_tells_of_it_is_written_again(gating: Gating, simulators: StartSimulator) -> None:
    """It is looked for with every request, and must not be lost with another recording."""
    vendor = simulators(kind="openrouter", realm="openrouter")
    gate = gating(chat(vendor, "openrouter", 'model = "anthropic/claude-sonnet-5"'))
    talk = Talk(gate, tools=[], stream=False)
    talk.says("[[scenario:thinking]] One.")
    vendor.fault("status 400 message='Invalid `signature` in `thinking` block'")
    sizes = [listed(gate) for turn in range(8) if talk.says(f"[[scenario:thinking]] {turn}.")]
    assert sizes == [KEY * turn for turn in range(1, 9)]
    assert len(vendor.journal()) == 1 + 8 + 1, "one request more, and that once"
