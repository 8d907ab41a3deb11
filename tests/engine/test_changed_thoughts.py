"""A client that changes the text of a thought and keeps its signature loses nothing: the recorded thought goes."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Literal

import pytest

from clew.model.change import Change
from clew.pipeline.thinking.opened import CHANGED
from clew.settings.values import ThinkingSettings
from clew.testing import Simulator
from tests.build import Json
from tests.engine.conftest import Gating
from tests.engine.gate import Answer, Gate, claude, other
from tests.engine.kept import exchange_of
from tests.engine.talk import Direct, Talk, asked_of, last_asked, refusals, thoughts, thoughts_in
from tests.properties.talks import spaced

pytestmark = pytest.mark.slow


class Changing(Talk):
    """A client that adds a space to the text of each thought that it sends back, as long as `changes` is set."""

    changes = True

    def _shown(self, place: int) -> Json:
        message = super()._shown(place)
        return spaced(message) if self.changes else message


def grows(simulator: Simulator) -> bool:
    """Whether each request that a backend got is the beginning of the next."""
    bodies = [body["messages"] for body in asked_of(simulator)]
    return all(longer[: len(shorter)] == shorter for shorter, longer in pairwise(bodies))


@pytest.mark.parametrize("stream", [True, False])
def test_a_space_behind_each_thought_costs_nothing_turn_after_turn(gate: Gate, a: Simulator, stream: bool) -> None:
    talk = Changing(gate, stream=stream)
    talk.says("One.")
    for words in ("Two.", "Three.", "Four."):
        held = thoughts(talk.messages)
        answer = talk.asks(words)
        assert thoughts_in(last_asked(a)) == held
        assert answer.headers["x-clew-thinking"] == (f"kept=0, restored={len(held)}, left-out=0, handed-over=0, healed=0")
        while talk.calls:
            talk.runs()
            talk.step()
    assert refusals(a) == []
    assert grows(a)


def test_a_change_in_one_request_alone_is_put_right_there(gate: Gate, a: Simulator) -> None:
    talk = Changing(gate, tools=[])
    for words, changes in (("One.", False), ("Two.", True), ("Three.", False), ("Four.", True), ("Five.", False)):
        talk.changes = changes
        talk.says(words)
    assert thoughts_in(last_asked(a)) == thoughts(talk.messages)[:-1]
    assert refusals(a) == []
    assert grows(a)


def test_the_exchange_tells_which_thoughts_were_put_back_and_why(gate: Gate) -> None:
    talk = Changing(gate, tools=[])
    talk.says("One.")
    exchange = exchange_of(gate, talk.says("Two."))
    assert (exchange.heals, exchange.changes) == (0, (Change("thinking", "messages.1.content.0", "restored", CHANGED),))


@pytest.mark.parametrize("seal", ["inline", "reference"])
def test_it_holds_over_switches_and_a_restart(
    gating: Gating, tmp_path: Path, a: Simulator, b: Simulator, seal: Literal["inline", "reference"]
) -> None:
    """Also for thoughts under a seal: the seal no longer fits the text, the recording is found by it all the same."""
    rows, thinking = (claude(a), other(b)), ThinkingSettings(seal=seal)
    (tmp_path / "home").mkdir()
    with Gate(tmp_path / "home", *rows, thinking=thinking) as gate:
        talk = Changing(gate, tools=[])
        answers = [told(talk, name) for name in ("claude", "claude", "glm", "glm")]
    talk.gate = gating(*rows, thinking=thinking)
    answers += [told(talk, name) for name in ("claude", "claude", "glm", "glm")]
    assert all(answer.headers["x-clew-thinking"].endswith("healed=0") for answer in answers)
    assert refusals(a) == refusals(b) == []
    for simulator in (a, b):
        assert [fate["fate"] for fate in simulator.journal()[-1]["thinking"]] == ["kept"] * 3
        assert grows(simulator)


def told(talk: Talk, name: str) -> Answer:
    """The answer of this backend."""
    assert isinstance(talk.gate, Gate)
    talk.gate.use(name)
    return talk.says(f"To {name}.")


def test_what_nobody_recorded_is_not_put_back(gate: Gate, a: Simulator) -> None:
    """There is no original: it is refused, and the request is repaired as before."""
    talk = Talk(Direct(a), tools=[])
    talk.says("Before clew.")
    talk.messages[1] = spaced(talk.messages[1])
    talk.gate = gate
    answer = talk.says("With clew.")
    assert answer.headers["x-clew-thinking"] == "kept=0, restored=0, left-out=0, handed-over=0, healed=1"


def test_another_principals_recording_is_never_put_back(gating: Gating, a: Simulator) -> None:
    gate = gating(claude(a), others={"her-key": "her"})
    talk = Talk(gate, tools=[])
    talk.says("Mine.")
    talk.messages[1] = spaced(talk.messages[1])
    talk.headers = {"x-api-key": "her-key"}
    assert "restored=0" in talk.says("Hers.").headers["x-clew-thinking"]
