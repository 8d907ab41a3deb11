"""`policy = "session"` at a real gateway: what its registry knows after answers that broke off, and whose blocks it takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.settings.values import ThinkingSettings
from clew.testing import Simulator
from clew.testing.plugin import StartSimulator
from tests.build import Json, assistant, user
from tests.engine.chatting import chat
from tests.engine.conftest import Gating
from tests.engine.gate import claude
from tests.engine.kept import once_over, recording_of
from tests.engine.talk import Talk, content_of, last_asked, refusals, thoughts, thoughts_in
from tests.engine.test_recording import blocks, leave_after
from tests.manifest import proves, public

pytestmark = pytest.mark.slow

SESSION = ThinkingSettings(policy="session")


def goes_on(talk: Talk, a: Simulator, held: list[Json]) -> list[Json]:
    """The next request with what the client holds of an answer that broke off: the thinking that reaches the backend."""
    talk.messages += [assistant(*held)]
    talk.says("[[scenario:text]] Go on.")
    assert refusals(a) == []
    return thoughts_in(last_asked(a))


@public("gateway")
@proves("req:S1-39", "req:S1-8")
def test_the_finished_thought_of_an_answer_that_the_client_left_is_registered(gating: Gating, a: Simulator) -> None:
    gate = gating(claude(a), thinking=SESSION)
    talk = Talk(gate, tools=[])
    talk.messages = [user("[[scenario:thinking]] One.")]
    a.fault("stall 30 before=message_delta")
    exchange = leave_after(gate, talk.body, b'"type":"content_block_stop","index":1')
    once_over(gate, exchange)
    held = blocks(recording_of(gate, exchange))
    assert goes_on(talk, a, held) == held[:1]


@public("gateway")
@proves("req:S1-39")
def test_the_finished_thought_of_an_answer_that_the_backend_broke_off_is_registered(gating: Gating, a: Simulator) -> None:
    gate = gating(claude(a), thinking=SESSION)
    talk = Talk(gate, tools=[])
    talk.messages = [user("[[scenario:thinking]] One.")]
    a.fault("cut before=message_delta how=rst")
    broken = talk.send()
    assert broken.kinds[-1] == "error"
    held = [block for block in content_of(broken) if block["type"] == "thinking"]
    assert goes_on(talk, a, [*held, {"type": "text", "text": "So far."}]) == held


@public("gateway")
@proves("req:S1-8")
def test_a_thought_that_was_cut_is_never_sent_on(gating: Gating, a: Simulator) -> None:
    gate = gating(claude(a), thinking=SESSION)
    talk = Talk(gate, tools=[])
    talk.messages = [user("[[scenario:thinking]] One.")]
    a.fault("cut content=2 how=rst")
    [cut] = content_of(talk.send())
    assert goes_on(talk, a, [cut, {"type": "text", "text": "So far."}]) == []


@public("gateway")
@proves("req:S3-34")
def test_the_same_words_of_another_maker_do_not_reach_claude(
    gating: Gating, simulators: StartSimulator, tmp_path: Path
) -> None:
    """Both makers think "Let me think."; only one of the two blocks has a signature of Claude's."""
    script = tmp_path / "same.scenario"
    script.write_text("think: Let me think.\ntext: Yes.")
    own, foreign = simulators(scenario=str(script)), simulators(kind="deepseek-chat", realm="ds", scenario=str(script))
    gate = gating(chat(foreign, "deepseek"), claude(own), thinking=SESSION)
    talk = Talk(gate, tools=[])
    talk.says("One.")
    gate.use("claude")
    talk.says("Two.")
    talk.says("Three.")
    first, second, _ = thoughts(talk.messages)
    assert first["thinking"] == second["thinking"] == "Let me think."
    assert thoughts_in(last_asked(own)) == [second]
    assert refusals(own) == []
