"""Backends change in mid-conversation: each gets its own thinking back, and nobody else's."""

from __future__ import annotations

import json
from hashlib import sha256
from itertools import pairwise

import pytest

from clew.model.origin import ANTHROPIC, Origin
from clew.settings.values import RoutingRule
from clew.testing import Simulator
from clew.testing.plugin import StartSimulator
from tests.build import Json, text, user
from tests.engine.chatting import telling
from tests.engine.conftest import Gating
from tests.engine.gate import Gate, claude, other
from tests.engine.kept import exchange_of
from tests.engine.talk import (
    MODEL,
    OTHER_MODEL,
    Talk,
    asked_of,
    body_bytes,
    last_asked,
    raw_of,
    refusals,
    thoughts,
    thoughts_in,
    whose,
)
from tests.engine.test_waits import messages_row
from tests.manifest import proves, public

pytestmark = pytest.mark.slow


def fates(simulator: Simulator) -> set[str]:
    return {block["fate"] for entry in simulator.journal() for block in entry["thinking"]}


def sealed(blocks: list[Json]) -> list[bool]:
    return [(block.get("signature") or block.get("data", "")).startswith("clew1.") for block in blocks]


@public("gateway")
@proves("req:S1-34", "req:C3")
def test_there_and_back_again(gate: Gate, a: Simulator, b: Simulator) -> None:
    """S1-34, C3: the first gets its blocks byte for byte, the second's stay out, and nothing is refused."""
    talk = Talk(gate)
    talk.says("One.")
    first = thoughts(talk.messages)
    gate.use("glm")
    talk.says("Two.")
    gate.use("claude")
    answer = talk.says("Three.")

    body = body_bytes(a)
    assert len(first) == 2
    assert [body.count(raw_of(block)) for block in first] == [1, 1]
    assert thoughts_in(last_asked(a))[:2] == first
    assert b"clew1." not in body
    assert sealed(thoughts(talk.messages)) == [False, False, True, True, False, False]
    assert answer.headers["x-clew-thinking"] == "kept=3, restored=0, left-out=2, handed-over=0, healed=0"
    assert (whose(a), whose(b), refusals(a), refusals(b)) == ({"own"}, {"own"}, [], [])


@public("gateway")
@proves("req:C5", "req:S0-50", "req:S1-11")
def test_empty_thinking_with_a_signature_is_a_block_like_any_other(gate: Gate, a: Simulator, b: Simulator) -> None:
    """C5: two empty thoughts are told apart by their signatures; both come home, whole, after a switch and without the client."""
    talk = Talk(gate, thinking={"type": "adaptive", "display": "omitted"})
    talk.says("One.")
    first = thoughts(talk.messages)
    gate.use("glm")
    talk.says("Two.")
    gate.use("claude")
    talk.forgets_thinking()
    answer = talk.says("Three.")
    assert [block["thinking"] for block in first] == [""] * len(first)
    assert len({block["signature"] for block in first}) == len(first) == 2
    assert thoughts_in(last_asked(a))[:2] == first
    assert answer.headers["x-clew-thinking"].startswith("kept=1, restored=2")
    assert (refusals(a), refusals(b)) == ([], [])


@public("gateway")
@proves("req:C3")
def test_the_second_gets_its_own_back_too_unsealed_and_in_place(gate: Gate, a: Simulator, b: Simulator) -> None:
    """B → A → B: what the client holds under a seal goes to its maker as its maker said it."""
    gate.use("glm")
    talk = Talk(gate)
    talk.says("One.")
    seen = thoughts_in(last_asked(b))
    gate.use("claude")
    talk.says("Two.")
    gate.use("glm")
    talk.says("Three.")
    assert thoughts_in(last_asked(b))[:1] == seen
    assert sealed(thoughts_in(last_asked(b))) == [False] * 3
    assert (whose(a), whose(b), fates(b), refusals(b)) == ({"own"}, {"own"}, {"kept"}, [])


@pytest.mark.parametrize("scenario", ["interleaved", "redacted", "parallel", "omitted"])
def test_a_switch_inside_a_tool_loop(gate: Gate, a: Simulator, b: Simulator, scenario: str) -> None:
    """The backend changes with every model call, in every shape of answer; nothing is refused, nothing foreign arrives."""
    talk = Talk(gate)
    talk.messages.append(user(f"[[scenario:{scenario}]]"))
    for turn in range(6):
        gate.use("glm" if turn % 2 else "claude")
        talk.step()
        if talk.calls:
            talk.runs()
        else:
            talk.messages.append(user(f"[[scenario:{scenario}]] Once more."))
    assert (whose(a), whose(b), refusals(a), refusals(b)) == ({"own"}, {"own"}, [], [])
    assert (fates(a), fates(b)) == ({"kept"}, {"kept"})


@public("gateway")
@proves("req:S1-35", "req:C2")
def test_two_conversations_at_once_cost_each_other_nothing(gate: Gate, a: Simulator) -> None:
    """S1-35, C2: absence from a request deletes nothing."""
    one, two = Talk(gate), Talk(gate)
    for turn in range(4):
        for talk in (one, two):
            talk.says(f"Question {turn} of {'one' if talk is one else 'two'}.")
            assert thoughts_in(last_asked(a)) == thoughts(talk.messages)[:-1]
    assert refusals(a) == []


@public("gateway")
@proves("req:C2")
def test_side_requests_rewinds_and_forks_delete_nothing(gate: Gate, a: Simulator) -> None:
    """C2: what a request does not hold is dormant, and valid when it returns."""
    talk = Talk(gate)
    talk.says("One.")
    talk.says("Two.")
    fork = talk.fork()
    fork.messages = fork.messages[:4]
    talk.send(messages=[user("Give this a title.")], tools=[])
    fork.says("Two, but otherwise.")
    assert thoughts_in(last_asked(a))[:2] == thoughts(talk.messages)[:2]
    talk.says("Three.")
    assert thoughts_in(last_asked(a)) == thoughts(talk.messages)[:-1]
    assert refusals(a) == []


@public("gateway")
@proves("req:S1-36", "req:C1")
def test_main_and_sub_agent_on_two_backends_in_a_hundred_requests(gating: Gating, a: Simulator, b: Simulator) -> None:
    """S1-36, C1: no counter, so nobody's blocks grow old by somebody else's requests."""
    gate = gating(claude(a), other(b), rules=(RoutingRule(agent="*", backend="glm"),))
    main = Talk(gate, headers={"x-claude-code-session-id": "s"})
    agent = Talk(gate, headers={"x-claude-code-session-id": "s", "x-claude-code-agent-id": "helper"})
    for turn in range(25):
        for talk in (main, agent):
            talk.asks(f"Question {turn}.")
            talk.runs()
            talk.step()
    for talk, simulator in ((main, a), (agent, b)):
        bodies = asked_of(simulator)
        assert len(bodies) == 50
        assert [len(thoughts_in(body)) for body in bodies] == list(range(50))
        assert [block["thinking"] for block in thoughts_in(bodies[-1])] == [
            block["thinking"] for block in thoughts(talk.messages)[:-1]
        ]
    assert thoughts_in(last_asked(a)) == thoughts(main.messages)[:-1]
    assert (whose(a), whose(b), fates(a), fates(b)) == ({"own"}, {"own"}, {"kept"}, {"kept"})
    assert (refusals(a), refusals(b)) == ([], [])


@public("gateway")
@proves("req:S1-37", "req:C7")
def test_a_restart_between_answer_and_next_request_loses_nothing(gating: Gating, a: Simulator, b: Simulator) -> None:
    """S1-37, C7: also for a client that shows each model only its own."""
    talk = Talk(gating(claude(a), other(b)))
    talk.says("One.")
    talk.gate.use("glm")
    talk.says("Two.")
    held = thoughts(talk.messages)
    talk.forgets_thinking()

    talk.gate = gating(claude(a), other(b))
    talk.says("Three, after the restart.")
    assert len(thoughts_in(last_asked(b))) == 3
    talk.gate.use("claude")
    answer = talk.says("Four.")
    assert thoughts_in(last_asked(a))[:2] == held[:2]
    assert answer.headers["x-clew-thinking"].startswith("kept=1, restored=2")
    assert (whose(a), whose(b), refusals(a), refusals(b)) == ({"own"}, {"own"}, [], [])


@public("gateway")
@proves("req:S1-37", "req:C7")
def test_a_lost_store_leaves_what_the_client_has_and_seals_still_open(
    simulators: StartSimulator, gating: Gating, a: Simulator
) -> None:
    """Design §4, Forgetting: its own copy goes as it came; what is sealed goes to its maker from the seal alone."""
    b = simulators(kind="compat", realm="glm")
    talk = Talk(gating(claude(a), other(b)))
    talk.says("One.")
    talk.gate.use("glm")
    talk.says("Two.")
    natives = thoughts_in(last_asked(b))

    talk.gate = gating(other(b), claude(a), home="elsewhere")
    talk.says("Three, without any memory.")
    assert thoughts_in(last_asked(b))[:1] == natives[:1]
    assert len(thoughts_in(last_asked(b))) == 3
    talk.gate.use("claude")
    talk.says("Four.")
    assert thoughts_in(last_asked(a))[:2] == thoughts(talk.messages)[:2]
    assert (whose(a), whose(b), refusals(a), refusals(b)) == ({"own"}, {"own"}, [], [])


def test_what_a_client_dropped_is_restored_for_its_maker_and_for_nobody_else(gate: Gate, a: Simulator, b: Simulator) -> None:
    """Design §4, Consequences."""
    talk = Talk(gate)
    talk.says("One.")
    own = thoughts(talk.messages)
    talk.forgets_thinking()
    talk.says("Two.")
    assert thoughts_in(last_asked(a))[:2] == own
    talk.forgets_thinking()
    gate.use("glm")
    talk.says("Three.")
    assert len(thoughts_in(last_asked(b))) == 1
    assert (whose(a), whose(b), refusals(a), refusals(b)) == ({"own"}, {"own"}, [], [])


@public("gateway")
@proves("req:C6", "req:C4")
def test_two_conversations_with_the_same_words_never_exchange_a_block(gate: Gate, a: Simulator) -> None:
    """C6: text is for display; C4: the key is a hash over type and signature."""
    one, two = (Talk(gate, tools=[], system=who, headers={"x-claude-code-session-id": who}) for who in ("one", "two"))
    for talk in (one, two):
        talk.says("The same words.")
    [mine], [yours] = thoughts(one.messages), thoughts(two.messages)
    assert (mine["thinking"], mine["signature"] == yours["signature"]) == (yours["thinking"], False)
    for talk, own in ((one, mine), (two, yours)):
        talk.says("And again.")
        talk.forgets_thinking()
        talk.says("And once more.")
        assert thoughts_in(last_asked(a))[:1] == [own]
    assert gate.store is not None
    recordings = [gate.store.recordings("local").by_key(_key(block)) for block in (mine, yours)]
    assert [recording.keys for recording in recordings if recording] == [(_key(mine),), (_key(yours),)]
    assert refusals(a) == []


def test_where_two_recordings_fit_and_nothing_tells_them_apart_none_is_taken(gate: Gate, a: Simulator) -> None:
    """Design §3: a place is the weakest way to find an answer, so it must be the only one."""
    one, two = Talk(gate, tools=[], system="one"), Talk(gate, tools=[], system="two")
    for words in ("The same words.", "And again."):
        one.says(words)
        two.says(words)
    for talk in (one, two):
        talk.forgets_thinking()
        talk.says("And once more.")
        assert thoughts_in(last_asked(a)) == []
    assert refusals(a) == []


def _key(block: Json) -> bytes:
    return sha256(f"{block['type']}\0{block['signature']}".encode()).digest()


@proves("req:C9")
def test_an_origin_is_realm_backend_model_and_account(gating: Gating, a: Simulator) -> None:
    """C9: two names of one realm share what they can read; the recording says who it was exactly."""
    first, second = claude(a, account="mine"), claude(a, name="mirror", account="mine")
    gate = gating(first, second)
    talk = Talk(gate)
    talk.says("One.")
    gate.use("mirror")
    talk.says("Two.")
    assert thoughts_in(last_asked(a)) == thoughts(talk.messages)[:-1]
    assert gate.store is not None
    origins = [gate.store.recordings("local").by_key(_key(block)) for block in thoughts(talk.messages)]
    assert [each.origin for each in origins if each] == [
        *[Origin(ANTHROPIC, "claude", MODEL, "mine")] * 2,
        *[Origin(ANTHROPIC, "mirror", MODEL, "mine")] * 2,
    ]
    assert refusals(a) == []


@public("gateway")
@proves("req:C9")
def test_each_model_has_a_strand_of_its_own(gate: Gate, a: Simulator) -> None:
    """A client that hides other models' thinking switches the model and back: each finds its own again."""
    talk = Talk(gate)
    talk.says("One.")
    opus = thoughts(talk.messages)
    talk.forgets_thinking()
    talk.model = OTHER_MODEL
    talk.says("Two.")
    talk.forgets_thinking()
    talk.model = MODEL
    talk.says("Three.")
    assert thoughts_in(last_asked(a))[:2] == opus
    assert refusals(a) == []


@pytest.mark.parametrize(("reading", "hides"), [("sent", False), ("sent", True), ("read", True)])
@public("gateway")
@proves("req:C20")
def test_what_a_reader_gets_only_ever_grows(simulators: StartSimulator, gating: Gating, reading: str, hides: bool) -> None:
    """C20, law 3: through switches of backend and model; like Claude Code, whichever way the vendor's text is read."""
    a = simulators(stance={"prefix_enforcement": "on", "predecessor": reading})
    b = simulators(realm="glm")
    gate = gating(claude(a), other(b))
    talk = Talk(gate, hides=hides)
    for turn, (backend, model) in enumerate([("claude", MODEL), ("glm", MODEL), ("claude", OTHER_MODEL)] * 3):
        gate.use(backend)
        talk.model = model
        talk.says(f"Question {turn}.")
    bodies = [body for body in asked_of(a) if body["model"] == MODEL]
    for earlier, later in pairwise(bodies):
        assert later["messages"][: len(earlier["messages"])] == earlier["messages"]
    assert (refusals(a), refusals(b)) == ([], [])


SEARCHED: list[Json] = [
    {"type": "server_tool_use", "id": "call_8-x", "name": "web_search", "input": {"query": "lens"}},
    {"type": "web_search_tool_result", "tool_use_id": "call_8-x", "content": []},
    text("Found."),
]


def test_what_another_vendors_server_searched_for_does_not_end_a_conversation(gating: Gating, a: Simulator) -> None:
    """R24: Claude takes no such call but its own. Its maker gets it back as it was."""
    usage = {"input_tokens": 1, "output_tokens": 2}
    message = {"id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn", "usage": usage}
    with telling(json.dumps({**message, "content": SEARCHED}).encode(), kind="application/json") as glm:
        gate = gating(messages_row("glm", glm.url), claude(a))
        talk = Talk(gate, tools=[{"type": "web_search_20250305", "name": "web_search"}], stream=False)
        talk.says("Look.")
        talk.says("Again.")
        gate.use("claude")
        answer = talk.says("And you?")
    assert glm.asked[1]["messages"][1]["content"] == SEARCHED
    assert (answer.status, refusals(a)) == (200, [])
    assert [message["content"] for message in last_asked(a)["messages"] if message["role"] == "assistant"] == [
        SEARCHED[2:]
    ] * 2
    told = [change for change in exchange_of(gate, answer).changes if change.step == "tool_structure"]
    assert [change.what for change in told] == ["left out"] * 4
