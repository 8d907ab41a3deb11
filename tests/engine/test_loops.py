"""Tool loops and odd turns through switches: nobody gets stuck, however long, large or crowded it gets."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from clew.store.text import thinking_counts
from clew.testing import Simulator
from tests.build import assistant, text
from tests.engine.gate import Gate
from tests.engine.talk import Talk, asked_of, body_bytes, last_asked, refusals, thoughts, thoughts_in, whose
from tests.manifest import proves, public

pytestmark = pytest.mark.slow


@public("gateway")
@proves("req:C12")
def test_a_loop_that_lost_its_leading_thinking_has_thinking_off_until_it_ends(
    gate: Gate, a: Simulator, b: Simulator
) -> None:
    """C12, in manual mode: off for each request of the loop, on again with the next question."""
    manual = {"type": "enabled", "budget_tokens": 1024}
    talk = Talk(gate, "claude-haiku-4-5", thinking=manual)
    gate.use("glm")
    talk.asks("[[scenario:loop]]")
    gate.use("claude")
    talk.runs()
    talk.step()
    talk.runs()
    talk.step()
    assert [body["thinking"] for body in asked_of(a)] == [{"type": "disabled"}] * 2
    talk.runs()
    talk.step()
    talk.says("[[scenario:thinking]] Next.")
    assert last_asked(a)["thinking"] == manual
    assert (refusals(a), refusals(b)) == ([], [])


def test_thinking_that_goes_with_a_loop_that_is_switched_off_counts_as_left_out(gate: Gate, a: Simulator) -> None:
    """R38: the client itself asks for no thinking in the middle of a loop that began with it. Header and CLI say so."""
    talk = Talk(gate, "claude-haiku-4-5", thinking={"type": "enabled", "budget_tokens": 1024})
    talk.asks("[[scenario:loop]]")
    talk.runs()
    answer = talk.send(thinking={"type": "disabled"})
    assert gate.store
    (exchange,) = gate.store.exchanges("local", limit=1)

    assert thoughts_in(last_asked(a)) == []
    assert answer.headers["x-clew-thinking"] == "kept=0, restored=0, left-out=1, handed-over=0, healed=0"
    assert thinking_counts(exchange) == {"kept": 0, "restored": 0, "left out": 1, "handed over": 0, "healed": 0}
    assert refusals(a) == []


@public("gateway")
@proves("req:C13")
def test_a_message_that_would_be_empty_gets_the_constant_filler(gate: Gate, a: Simulator) -> None:
    """C13: an answer of another's thinking alone."""
    gate.use("glm")
    talk = Talk(gate)
    talk.asks("[[scenario:only-thinking]]")
    gate.use("claude")
    talk.asks("[[scenario:text]] Go on.")
    assert last_asked(a)["messages"][1]["content"] == [text("[No message content]", citations=[])]
    assert refusals(a) == []


@public("gateway")
@proves("req:S1-46a")
def test_ten_more_turns_after_a_switch_though_the_client_resends_everything(gate: Gate, a: Simulator, b: Simulator) -> None:
    """S1-46a: not stuck, with tools, against the strict simulator, on either side."""
    talk = Talk(gate)
    talk.says("[[scenario:interleaved]] Begin.")
    for backend in ("glm", "claude"):
        gate.use(backend)
        for turn in range(10):
            talk.says(f"[[scenario:{'interleaved' if turn % 2 else 'parallel'}]] Turn {turn}.")
    assert (whose(a), whose(b), refusals(a), refusals(b)) == ({"own"}, {"own"}, [], [])


def test_a_large_history_is_treated_like_a_small_one(gate: Gate, a: Simulator, b: Simulator) -> None:
    """Above 128 KB the work is done in threads; there and back again all the same."""
    talk = Talk(gate)
    talk.says("One. " + "x" * 300_000)
    first = thoughts(talk.messages)
    gate.use("glm")
    talk.says("Two.")
    gate.use("claude")
    talk.forgets_thinking()
    talk.says("Three.")
    assert len(body_bytes(a)) > 300_000
    assert thoughts_in(last_asked(a))[:2] == first
    assert (whose(a), whose(b), refusals(a), refusals(b)) == ({"own"}, {"own"}, [], [])


def test_many_conversations_at_once_while_somebody_switches(gate: Gate, a: Simulator, b: Simulator) -> None:
    """Law 7: nothing is locked, and nobody hears of anybody."""
    talks = [Talk(gate, headers={"x-claude-code-session-id": f"s{number}"}, hides=bool(number % 2)) for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        for turn in range(4):
            running = [pool.submit(talk.says, f"Question {turn}.") for talk in talks]
            for backend in ("glm", "claude", "glm")[: turn + 1]:
                gate.use(backend)
            for each in running:
                each.result()
    gate.use("claude")
    for talk in talks:
        mine = [block for block in thoughts(talk.messages) if not block["signature"].startswith("clew1.")]
        talk.says("And now?")
        assert thoughts_in(last_asked(a))[: len(mine)] == mine
    assert (whose(a), whose(b), refusals(a), refusals(b)) == ({"own"}, {"own"}, [], [])


@pytest.mark.parametrize("forgets", [False, True])
def test_an_answer_that_paused_goes_on_and_is_two_recordings_of_one_turn(
    gate: Gate, a: Simulator, b: Simulator, forgets: bool
) -> None:
    """R68: sent back as it is; a run of assistant messages is split into the recordings that make it up."""
    talk = Talk(gate, tools=[{"type": "web_search_20250305", "name": "web_search"}])
    talk.asks("[[scenario:paused]]")
    talk.step()
    talk.says("[[scenario:thinking]] Next.")
    own = thoughts(talk.messages)
    gate.use("glm")
    talk.says("[[scenario:thinking]] And you?")
    gate.use("claude")
    if forgets:
        talk.forgets_thinking()
    talk.says("[[scenario:thinking]] Back again.")
    assert len(own) == 3
    assert thoughts_in(last_asked(a)) == own
    assert (whose(a), refusals(a), refusals(b)) == ({"own"}, [], [])


@pytest.mark.parametrize("merges", [False, True], ids=["as it came", "as one message"])
def test_an_answer_that_paused_gets_all_its_thinking_back_in_the_very_next_turn(
    gate: Gate, a: Simulator, merges: bool
) -> None:
    """R68: its end is a text, and the client dropped the thinking that would tell whose it is."""
    talk = Talk(gate, tools=[{"type": "web_search_20250305", "name": "web_search"}])
    talk.asks("[[scenario:paused]]")
    talk.step()
    own = thoughts(talk.messages)
    if merges:
        talk.messages[1:] = [assistant(*talk.messages[1]["content"], *talk.messages[2]["content"])]
    talk.forgets_thinking()
    answer = talk.says("[[scenario:thinking]] Next.")

    assert answer.headers["x-clew-thinking"] == "kept=0, restored=2, left-out=0, handed-over=0, healed=0"
    assert thoughts_in(last_asked(a)) == own
    assert (whose(a), refusals(a)) == ({"own"}, [])
    assert gate.store
    assert len(gate.store.threads("local")) == 1


@pytest.mark.parametrize("forgets", [False, True])
def test_a_conversation_goes_on_after_a_pause_that_nobody_resumed(
    gate: Gate, a: Simulator, b: Simulator, forgets: bool
) -> None:
    """R29: the user says something else instead, also to another backend, and later to the first again."""
    talk = Talk(gate, tools=[{"type": "web_search_20250305", "name": "web_search"}])
    talk.asks("[[scenario:paused]]")
    if forgets:
        talk.forgets_thinking()
    talk.says("[[scenario:thinking]] Never mind.")
    gate.use("glm")
    talk.says("[[scenario:thinking]] And you?")
    gate.use("claude")
    own = [block for block in thoughts(talk.messages) if not block["signature"].startswith("clew1.")]
    answer = talk.says("[[scenario:thinking]] Back again.")

    assert answer.headers["x-clew-thinking"].endswith("left-out=1, handed-over=0, healed=0")
    assert [block for block in thoughts_in(last_asked(a)) if block in own] == own
    assert len(thoughts_in(last_asked(a))) == 2
    assert (whose(a), whose(b), refusals(a), refusals(b)) == ({"own"}, set(), [], [])
