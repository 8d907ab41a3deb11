"""What the operator may choose about thinking, each through a gateway."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from clew.pipeline.step import CacheRules
from clew.settings.values import BuildSettings, ThinkingSettings
from clew.testing import Simulator
from clew.testing.plugin import StartSimulator
from tests.build import Json, text, user
from tests.engine.conftest import Gating
from tests.engine.gate import claude, other
from tests.engine.kept import eventually, exchange_of, store_of
from tests.engine.talk import Talk, asked_of, last_asked, refusals, thoughts, thoughts_in
from tests.manifest import proves, public

pytestmark = pytest.mark.slow


def test_what_a_client_dropped_stays_out_where_nothing_is_to_be_restored(gating: Gating, a: Simulator, b: Simulator) -> None:
    """`restore = false`: what it sends goes, and only that."""
    gate = gating(claude(a), other(b), thinking=ThinkingSettings(restore=False))
    talk = Talk(gate)
    talk.says("One.")
    talk.says("Two.")
    assert thoughts_in(last_asked(a)) == thoughts(talk.messages)[:-1]
    talk.forgets_thinking()
    answer = talk.says("Three.")
    assert thoughts_in(last_asked(a)) == thoughts(talk.messages)[:1]
    assert answer.headers["x-clew-thinking"].startswith("kept=1, restored=0")
    gate.use("glm")
    talk.says("Four.")
    gate.use("claude")
    talk.says("Five.")
    assert (refusals(a), refusals(b)) == ([], [])


def test_a_gateway_that_strips_sends_no_thinking_to_anybody(gating: Gating, a: Simulator, b: Simulator) -> None:
    """`policy = "strip"`: the loss is said."""
    gate = gating(claude(a), other(b), thinking=ThinkingSettings(policy="strip"))
    talk = Talk(gate)
    talk.says("One.")
    gate.use("glm")
    answer = talk.says("Two.")
    assert [thoughts_in(body) for simulator in (a, b) for body in asked_of(simulator)] == [[]] * 4
    assert answer.headers["x-clew-thinking"] == "kept=0, restored=0, left-out=3, handed-over=0, healed=0"
    assert {change.why for change in exchange_of(gate, answer).changes if change.step == "thinking"} == {
        "the policy is to send no thinking"
    }


@pytest.mark.parametrize("stream", [True, False])
def test_hidden_reasoning_never_reaches_the_client_and_goes_back_to_its_maker(
    gating: Gating, a: Simulator, b: Simulator, stream: bool
) -> None:
    """`show_reasoning = "hide"`: the store alone restores; Claude's own is shown as ever."""
    gate = gating(other(b), claude(a), thinking=ThinkingSettings(show_reasoning="hide"))
    talk = Talk(gate, stream=stream)
    talk.says("[[scenario:interleaved]]")
    talk.says("[[scenario:redacted]]")
    assert thoughts(talk.messages) == []
    assert len(thoughts_in(last_asked(b))) == 8
    answer = talk.says("[[scenario:text]]")
    restored = [change for change in exchange_of(gate, answer).changes if change.what == "restored"]
    assert {change.why for change in restored} == {"the client never got this block"}
    assert len({change.path for change in restored}) == len(restored) == len(thoughts_in(last_asked(b)))
    assert f"kept=0, restored={len(restored)}, left-out=0" in answer.headers["x-clew-thinking"]
    gate.use("claude")
    talk.says("[[scenario:thinking]]")
    assert len(thoughts(talk.messages)) == 1
    assert thoughts_in(last_asked(a)) == []
    assert (refusals(a), refusals(b)) == ([], [])


def test_an_answer_that_begins_with_hidden_thinking_begins_all_the_same(gating: Gating, b: Simulator) -> None:
    """Byte by byte: its first block is never seen, and what follows comes as from any other."""
    gate = gating(other(b), thinking=ThinkingSettings(show_reasoning="hide"))
    talk = Talk(gate)
    b.fault("drip 8")
    answer = talk.asks("[[scenario:interleaved]]")
    starts = [event["index"] for event in answer.events if event["type"] == "content_block_start"]
    assert (starts, answer.kinds[0], answer.kinds[-1]) == ([0, 1], "message_start", "message_stop")
    assert exchange_of(gate, answer).outcome == "whole"


def test_a_seal_by_reference_holds_nothing_and_the_store_has_the_rest(gating: Gating, a: Simulator, b: Simulator) -> None:
    """`seal = "reference"`: committed before the seal goes out."""
    gate = gating(other(b), claude(a), thinking=ThinkingSettings(seal="reference"))
    inline = Talk(gating(other(b), claude(a), home="inline"))
    talk = Talk(gate)
    inline.says("[[scenario:redacted]]")
    talk.says("[[scenario:redacted]]")
    sizes = [[len(block.get("signature") or block["data"]) for block in thoughts(each.messages)] for each in (talk, inline)]
    assert all(short < long for short, long in zip(*sizes, strict=True))
    talk.says("[[scenario:redacted]] Again.")
    assert len(thoughts_in(last_asked(b))) == 7
    assert (refusals(b)) == []


def test_a_reference_to_what_is_forgotten_is_left_out_and_said(
    gating: Gating, simulators: StartSimulator, a: Simulator
) -> None:
    """For those who must erase."""
    sim = simulators(kind="compat", realm="glm")
    gate = gating(other(sim), claude(a), thinking=ThinkingSettings(seal="reference"))
    talk = Talk(gate, tools=[])
    answer = talk.says("One.")
    assert store_of(gate).forget("local", exchange_of(gate, answer).thread, at=time.time()).result()
    answer = talk.says("Two.")
    assert thoughts_in(last_asked(sim)) == []
    [change] = [each for each in exchange_of(gate, answer).changes if each.step == "thinking"]
    assert (change.what, change.why) == ("left out", "its recording was deleted, and its seal holds only a reference")


def test_anothers_reasoning_can_be_handed_over_as_text(gating: Gating, a: Simulator, b: Simulator) -> None:
    """`foreign = "text"`: without a label, in its place, and the same each time."""
    gate = gating(other(b), claude(a), thinking=ThinkingSettings(foreign="text"))
    talk = Talk(gate, tools=[])
    talk.says("One.")
    [thought] = thoughts(talk.messages)
    gate.use("claude")
    answer = talk.says("Two.")
    assert last_asked(a)["messages"][1]["content"][0] == text(thought["thinking"])
    assert answer.headers["x-clew-thinking"] == "kept=0, restored=0, left-out=0, handed-over=1, healed=0"
    first = last_asked(a)["messages"]
    talk.says("Three.")
    assert last_asked(a)["messages"][: len(first)] == first
    assert refusals(a) == []


def test_the_documented_policy_of_a_counter_loses_what_it_is_documented_to_lose(
    gating: Gating, a: Simulator, b: Simulator
) -> None:
    """`policy = "session"`: there and back again, the first backend's blocks are gone. The default keeps them (S1-34)."""
    gate = gating(claude(a), other(b), thinking=ThinkingSettings(policy="session"))
    talk = Talk(gate, tools=[])
    talk.says("One.")
    talk.says("Two.")
    assert len(thoughts_in(last_asked(a))) == 1
    gate.use("glm")
    talk.says("Three.")
    assert thoughts_in(last_asked(b)) == []
    gate.use("claude")
    talk.says("Four.")
    assert thoughts_in(last_asked(a)) == []
    assert not any(block["signature"].startswith("clew1.") for block in thoughts(talk.messages))


@public("gateway")
@proves("req:C10")
@pytest.mark.parametrize("spoil", ["text", "signature", "prefix"])
def test_a_seal_that_does_not_verify_goes_nowhere(gating: Gating, a: Simulator, b: Simulator, spoil: str) -> None:
    """C10: what begins with `clew1.` never goes to any backend, valid or not."""
    gate = gating(other(b), claude(a), home="first")
    talk = Talk(gate, tools=[])
    talk.says("One.")
    block: Json = thoughts(talk.messages)[0]
    block["thinking"] += "!" if spoil == "text" else ""
    end = block["signature"][-9:]
    block["signature"] = {"text": block["signature"], "signature": block["signature"][:-9] + end[::-1]}.get(spoil, "clew1.x")
    talk.gate = gating(other(b), claude(a), home="second")
    for backend, simulator in (("glm", b), ("claude", a)):
        talk.gate.use(backend)
        talk.fork().says("Two.")
        assert "clew1." not in json.dumps(last_asked(simulator))
        assert thoughts_in(last_asked(simulator)) == []
    assert (refusals(a), refusals(b)) == ([], [])


@public("gateway")
@proves("req:C19")
def test_marks_are_put_where_they_are_asked_for_and_never_pile_up(gating: Gating, a: Simulator) -> None:
    """C19: at most four, however long the history; and a client's own are left alone."""
    gate = gating(claude(a), build=BuildSettings(cache=CacheRules()))
    talk = Talk(gate)
    for turn in range(4):
        talk.says(f"Question {turn}.")
    counts = [json.dumps(body).count('"cache_control"') for body in asked_of(a)]
    assert all(1 <= count <= 4 for count in counts)
    mine = {"model": talk.model, "max_tokens": 100, "messages": [user(text("Hello.", cache_control={"type": "ephemeral"}))]}
    gate.ask(mine)
    assert last_asked(a) == mine
    assert refusals(a) == []


def test_without_being_asked_nothing_is_built_into_a_request(gating: Gating, a: Simulator) -> None:
    gate = gating(claude(a))
    body = {"model": "claude-opus-5-5", "max_tokens": 100, "messages": [user("ultrathink about it")]}
    gate.ask(body)
    assert last_asked(a) == body


def test_an_answer_belongs_to_the_session_that_its_request_went_out_in(gating: Gating, a: Simulator, b: Simulator) -> None:
    """`policy = "session"`: one that comes after a switch is the old backend's, and the new one is not given it."""
    gate = gating(other(b), claude(a), thinking=ThinkingSettings(policy="session"))
    late, meanwhile = Talk(gate, tools=[]), Talk(gate, tools=[])
    b.fault("stall 1 after=2")
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(late.says, "One.")
        eventually(lambda: asked_of(b) or None)
        gate.use("claude")
        meanwhile.says("Two.")
        waiting.result()
    answer = late.says("Three.")
    assert answer.headers["x-clew-thinking"] == "kept=0, restored=0, left-out=1, handed-over=0, healed=0"
    assert refusals(a) == []


def test_counting_a_part_of_a_conversation_makes_the_counter_forget_nothing(gating: Gating, a: Simulator) -> None:
    """`policy = "session"`: clients count pieces of a history, and go on with all of it."""
    gate = gating(claude(a), thinking=ThinkingSettings(policy="session"))
    talk = Talk(gate, tools=[])
    for words in ("One.", "Two.", "Three."):
        talk.says(words)
    part = {"model": talk.model, "messages": talk.messages[:3]}
    assert gate.ask(part, path="/v1/messages/count_tokens").status == 200
    talk.says("Four.")
    assert len(thoughts_in(last_asked(a))) == 3
