"""What is recorded of an answer: all that its maker said, before its end is told; and as much as came, when it was cut."""

from __future__ import annotations

import http.client
import json
from contextlib import closing
from typing import Any

import pytest

from clew.model.recording import Recording
from clew.model.turn import Exchange
from clew.settings.values import StoreSettings, ThinkingSettings
from clew.store.sqlite.store import SqliteStore
from clew.testing import Simulator
from tests.build import user
from tests.database import connected
from tests.engine.conftest import Gating
from tests.engine.gate import KEY, Gate, claude, other
from tests.engine.kept import eventually, exchange_of, exchanges_of, once_over, recording_of, store_of
from tests.engine.talk import MODEL, Talk, asked_of, content_of, last_asked, refusals, thoughts, thoughts_in
from tests.manifest import proves, public

pytestmark = pytest.mark.slow


def blocks(recording: Recording | None) -> list[Any]:
    assert recording is not None
    return [json.loads(raw) for raw in recording.blocks]


@proves("req:S1-39")
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    "scenario", ["interleaved", "redacted", "omitted", "parallel", "unknown-block", "trailing-thinking"]
)
def test_an_answer_is_recorded_as_its_maker_said_it(gate: Gate, a: Simulator, stream: bool, scenario: str) -> None:
    """S1-39, law 1: from events or from JSON, every block, in its order."""
    talk = Talk(gate, stream=stream)
    answer = talk.asks(f"[[scenario:{scenario}]]")
    recording = recording_of(gate, answer.headers["x-clew-exchange"])
    assert blocks(recording) == content_of(answer)
    assert recording is not None
    assert (recording.whole, recording.principal, recording.origin.backend) == (True, "local", "claude")


def test_an_answer_in_one_piece_says_where_its_turn_is(gate: Gate) -> None:
    """A stream's head goes out before that is known."""
    assert Talk(gate, stream=False).says("Where?").headers["x-clew-recorded"] == "local"
    assert "x-clew-recorded" not in Talk(gate, stream=True).says("Where?").headers


@proves("req:S1-39")
@pytest.mark.parametrize("stream", [True, False])
def test_the_turn_is_committed_before_its_end_is_told(gate: Gate, stream: bool) -> None:
    """Law 8: another process that reads the file when the client has the answer finds it."""
    talk = Talk(gate, stream=stream)
    for turn in range(5):
        answer = talk.says(f"Question {turn}.")
        reader = SqliteStore(gate.home / "clew.db")
        try:
            assert reader.recordings("local").by_id(answer.headers["x-clew-exchange"]) is not None
        finally:
            reader.close()


def leave_after(gate: Gate, body: Any, marker: bytes) -> str:
    """A client that reads until it has seen this, and leaves. Returns the exchange."""
    host, port = gate.url.removeprefix("http://").split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=120)
    headers = {"content-type": "application/json", "anthropic-version": "2023-06-01", "x-api-key": KEY}
    connection.request("POST", "/v1/messages", json.dumps(body).encode(), headers)
    response = connection.getresponse()
    seen = b""
    while marker not in seen:
        seen += response.read1(4096)
    exchange = response.headers["x-clew-exchange"]
    response.close()
    connection.close()
    return exchange


@proves("req:S1-39", "req:C8")
def test_what_was_whole_when_the_client_left_is_recorded_as_cut(gate: Gate, a: Simulator) -> None:
    """S1-39, C8: and the backend is not left talking to nobody."""
    talk = Talk(gate)
    talk.messages = [user("[[scenario:interleaved]]")]
    a.fault("stall 30 before=message_delta")
    exchange = leave_after(gate, talk.body, b'"type":"content_block_stop","index":2')
    found = once_over(gate, exchange)
    recording = recording_of(gate, exchange)
    assert (found.outcome, found.status) == ("cut", 200)
    assert recording is not None
    assert recording.whole is False
    assert [block["type"] for block in blocks(recording)][:3] == ["thinking", "text", "thinking"]
    assert eventually(lambda: _ended(a)) == "client left"


def _ended(simulator: Simulator) -> str | None:
    ended = simulator.journal()[-1]["ended"]
    return None if ended == "no" else ended


@public("gateway")
@proves("req:S1-39", "req:C8")
def test_a_client_that_left_and_goes_on_with_what_it_had_is_not_refused(gate: Gate, a: Simulator) -> None:
    """The thinking of the cut answer goes back to its maker with it."""
    talk = Talk(gate, tools=[])
    talk.messages = [user("[[scenario:thinking]]")]
    a.fault("stall 30 before=message_delta")
    exchange = leave_after(gate, talk.body, b'"type":"content_block_stop","index":1')
    once_over(gate, exchange)
    held = blocks(recording_of(gate, exchange))
    talk.messages += [{"role": "assistant", "content": held}]
    talk.says("[[scenario:text]] [Request interrupted by user] Go on.")
    assert thoughts_in(last_asked(a)) == thoughts(talk.messages)[:1]
    assert refusals(a) == []


def test_an_answer_that_broke_off_is_recorded_as_cut_and_said_to_be_broken(gate: Gate, a: Simulator) -> None:
    """U11 after content: a native error event, and the turn is stored as incomplete."""
    talk = Talk(gate)
    talk.messages = [user("[[scenario:interleaved]]")]
    a.fault("cut before=message_delta how=rst")
    answer = talk.send()
    assert (answer.status, answer.kinds[-1]) == (200, "error")
    assert "message_stop" not in answer.kinds
    assert answer.events[-1]["error"]["type"] == "api_error"
    found = exchange_of(gate, answer)
    recording = recording_of(gate, found.id)
    assert found.outcome == "cut"
    assert recording is not None
    assert (recording.whole, len(recording.blocks)) == (False, 4)
    assert len(asked_of(a)) == 1


def test_an_answer_of_which_no_block_was_whole_leaves_an_exchange_and_no_recording(gate: Gate, a: Simulator) -> None:
    talk = Talk(gate)
    talk.messages = [user("[[scenario:thinking]]")]
    a.fault("cut content=2 how=rst")
    answer = talk.send()
    found = exchange_of(gate, answer)
    assert (found.outcome, recording_of(gate, found.id)) == ("cut", None)


def test_an_error_of_the_vendor_in_mid_stream_reaches_the_client_once_and_as_it_came(gate: Gate, a: Simulator) -> None:
    talk = Talk(gate)
    talk.messages = [user("[[scenario:overloaded-late]]")]
    answer = talk.send()
    assert answer.kinds.count("error") == 1
    assert answer.events[-1] == {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    assert exchange_of(gate, answer).outcome == "cut"


def test_what_an_exchange_says_of_itself(gate: Gate, a: Simulator) -> None:
    """Design §6: model asked, backend and model used, tokens, time to first byte; the vendor's own id."""
    talk = Talk(gate, headers={"x-claude-code-session-id": "s1", "x-claude-code-agent-id": "helper"}, tools=[])
    answer = talk.says("One.")
    found = exchange_of(gate, answer)
    usage = answer.events[-2]["usage"]
    assert found.usage is not None
    assert (found.usage.output, found.usage.estimated) == (usage["output_tokens"], False)
    assert (found.asked_model, found.backend, found.model) == (MODEL, "claude", MODEL)
    assert (found.session, found.agent, found.kind, found.streamed) == ("s1", "helper", "messages", True)
    assert (found.outcome, found.status, found.stop_reason, found.attempts) == ("whole", 200, "end_turn", 1)
    assert found.request_id == answer.headers["request-id"] == a.journal()[-1]["request_id"]
    assert found.first_byte is not None
    assert 0 < found.first_byte <= found.ended - found.started + 0.001
    assert [(each.backend, each.status, each.why) for each in found.tries] == [("claude", 200, "")]


def test_a_client_that_sends_its_history_again_adds_nothing(gate: Gate) -> None:
    """A thread is what was said, once."""
    talk = Talk(gate, tools=[])
    for turn in range(4):
        talk.says(f"Question {turn}.")
    [thread] = store_of(gate).threads("local")
    passages = store_of(gate).passages("local", thread.id)
    assert thread.turns == len(passages) == 4
    assert [[json.loads(raw)["content"] for raw in each.asked] for each in passages] == [
        [f"Question {turn}."] for turn in range(4)
    ]
    assert [blocks(each.recording) for each in passages] == [message["content"] for message in talk.messages[1::2]]
    assert thread.title == "Question 0."


def test_a_thread_goes_on_through_a_switch_and_a_fork_stays_with_it(gate: Gate) -> None:
    """The thread of a request is that of the newest recording found in it."""
    talk = Talk(gate)
    first = exchange_of(gate, talk.says("One."))
    gate.use("glm")
    second = exchange_of(gate, talk.says("Two."))
    other_talk = exchange_of(gate, Talk(gate).says("Something else."))
    assert first.thread == second.thread != other_talk.thread


def test_sub_agents_have_threads_of_their_own(gate: Gate) -> None:
    """By session and agent header, where no answer tells."""
    session = {"x-claude-code-session-id": "s"}
    main = exchange_of(gate, Talk(gate, headers=session).says("One."))
    agent = exchange_of(gate, Talk(gate, headers={**session, "x-claude-code-agent-id": "x"}).says("One."))
    again = exchange_of(gate, Talk(gate, headers={**session, "x-claude-code-agent-id": "x"}).says("Another task."))
    assert main.thread != agent.thread == again.thread


def test_without_content_what_must_go_back_is_kept_and_nothing_readable_is_shown(gating: Gating, a: Simulator) -> None:
    """`[store] content = false`."""
    gate = gating(claude(a), store=StoreSettings(content=False, bodies="off"))
    talk = Talk(gate, tools=[])
    answer = talk.says("A secret question.")
    talk.forgets_thinking()
    talk.says("And another.")
    [thread] = store_of(gate).threads("local")
    assert thread.title == ""
    assert all(passage.asked == () for passage in store_of(gate).passages("local", thread.id))
    assert store_of(gate).bodies("local", answer.headers["x-clew-exchange"]) is None
    assert len(thoughts_in(last_asked(a))) == 1


def test_whole_bodies_are_kept_as_they_were(gating: Gating, a: Simulator, b: Simulator) -> None:
    """`[store] bodies`: what the client asked, what was sent, what came back."""
    gate = gating(other(b), claude(a), store=StoreSettings(bodies="all"))
    talk = Talk(gate, tools=[])
    talk.says("One.")
    answer = talk.says("Two.")
    kept = eventually(lambda: store_of(gate).bodies("local", answer.headers["x-clew-exchange"]))
    assert json.loads(kept.asked) == {**talk.body, "messages": talk.messages[:-1]}
    assert json.loads(kept.sent) == last_asked(b)
    assert kept.answered != answer.raw
    assert b"clew1." not in kept.answered
    assert b"event: message_stop" in kept.answered


def test_a_gateway_without_a_store_passes_everything_and_keeps_nothing(gating: Gating, a: Simulator, b: Simulator) -> None:
    """Store off: seals alone carry what goes back."""
    gate = gating(other(b), claude(a), store=False)
    talk = Talk(gate)
    talk.says("One.")
    talk.says("Two.")
    assert gate.store is None
    assert len(thoughts_in(last_asked(b))) == 3


@pytest.mark.parametrize("damage", [b"", b'~thinking"', b'"thinkinG"', b'"thinking~'])
@pytest.mark.parametrize("stream", [True, False])
def test_a_recording_that_is_damaged_costs_its_own_thinking_and_no_answer(
    gating: Gating, a: Simulator, stream: bool, damage: bytes
) -> None:
    """The newest answer is found; what it followed cannot be read, and is as if it had never been recorded."""
    gate = gating(claude(a))
    talk = Talk(gate, tools=[], stream=stream)
    for words in ("One.", "Two.", "Three."):
        talk.says(words)
    with closing(connected(gate.home / "clew.db")) as file:
        [(blocks,)] = file.execute("SELECT blocks FROM recordings WHERE seq = 1")
        assert b'"thinking"' in blocks
        file.execute("UPDATE recordings SET blocks = ? WHERE seq = 1", (blocks.replace(b'"thinking"', damage),))
    newest = talk.messages[-1]
    talk.forgets_thinking()
    talk.messages[-1] = newest
    talk.gate = gating(claude(a))
    answer = talk.says("Four.")
    assert answer.headers["x-clew-thinking"] == "kept=1, restored=1, left-out=0, handed-over=0, healed=0"
    assert refusals(a) == []


def test_a_count_is_projected_the_same_way_and_nothing_is_recorded(gate: Gate, a: Simulator, b: Simulator) -> None:
    """Design §4: `count_tokens` goes the same way."""
    talk = Talk(gate)
    talk.says("One.")
    gate.use("glm")
    talk.says("Two.")
    before = exchanges_of(gate, 4)
    body = {name: value for name, value in talk.body.items() if name not in ("max_tokens", "stream")}
    for backend, simulator in (("glm", b), ("claude", a)):
        gate.use(backend)
        answer = gate.ask({**body, "messages": [*talk.messages, user("Three.")]}, path="/v1/messages/count_tokens")
        assert (answer.status, set(answer.json)) == (200, {"input_tokens"})
        assert simulator.journal()[-1]["path"] == "/v1/messages/count_tokens"
        assert answer.headers["x-clew-thinking"] == "kept=2, restored=0, left-out=2, handed-over=0, healed=0"
        counted = last_asked(simulator)
        talk.fork().says("Three.")
        bodies = [body for body in asked_of(simulator) if body["messages"][-1] == user("Three.")]
        assert bodies[-1]["messages"] == counted["messages"]
    assert [each.kind for each in exchanges_of(gate, 8)] == ["messages"] * (len(before) + 4)
    assert (refusals(a), refusals(b)) == ([], [])


def test_what_a_request_needs_is_looked_up_also_when_thinking_is_not_restored(
    gating: Gating, a: Simulator, b: Simulator
) -> None:
    """`restore = false` leaves what a client dropped where it is; seals and safe ids come off all the same (law 1)."""
    gate = gating(other(b), claude(a), thinking=ThinkingSettings(restore=False, seal="reference"))
    talk = Talk(gate)
    talk.says("One.")
    made = [block["id"] for block in _made(gate, b) if block["type"] == "tool_use"]
    sent = last_asked(b)["messages"]
    assert [block["id"] for block in sent[1]["content"] if block["type"] == "tool_use"] == made
    assert len(thoughts_in(last_asked(b))) == 1
    talk.forgets_thinking()
    talk.says("Two.")
    assert len(thoughts_in(last_asked(b))) == 1


def _made(gate: Gate, simulator: Simulator) -> list[Any]:
    first: Exchange = exchanges_of(gate, 2)[-1]
    return blocks(recording_of(gate, first.id))
