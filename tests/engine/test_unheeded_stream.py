"""Backends that do not use `stream`: one piece where a stream was asked for, a stream where one piece was."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import inf
from typing import Any

import pytest

from clew.backends.row import Backend, Quirks
from clew.engine import backend_call
from clew.http.client.message import ResponseLimits
from clew.model.events import BlockDelta, BlockStart, BlockStop, MessageDelta, MessageStart, MessageStop
from clew.model.unfold import events_of
from clew.settings.values import Retry, StoreSettings, ThinkingSettings
from clew.testing import Simulator
from clew.testing.plugin import StartSimulator
from clew.wire.events import encode_event
from tests.build import Json
from tests.engine.chatting import DONE, chat, chat_row, chunk, telling
from tests.engine.conftest import Gating
from tests.engine.gate import Answer, Gate, claude, other
from tests.engine.kept import eventually, exchange_of, recording_of, store_of
from tests.engine.talk import MODEL, Direct, Talk, content_of, refusals, thoughts
from tests.faults.scene import Client, endings, impatient, is_asked, outcomes, question
from tests.golden.legal import check
from tests.manifest import proves
from tests.pipeline.stream.wearing import accumulated
from tests.waiting import until

pytestmark = pytest.mark.slow

Starting = Callable[[str], tuple[Simulator, Backend]]

ONCE = Retry(retries=0, cool_seconds=0.0)
TWICE = Retry(retries=1, first_wait=0.01, most_wait=0.02, cool_seconds=0.01)
SHOWN = {"thinking": {"type": "adaptive", "display": "summarized"}}
MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn", "usage": {}}
ANTHROPIC = ["claude", "glm"]
ALL = [*ANTHROPIC, "deepseek"]


@pytest.fixture
def never(simulators: StartSimulator) -> Starting:
    return starting(simulators, "never")


@pytest.fixture
def always(simulators: StartSimulator) -> Starting:
    return starting(simulators, "always")


def starting(simulators: StartSimulator, streams: str) -> Starting:
    """A strict vendor by its name, and its row: Claude, another that speaks its dialect, or one that does not."""
    stance = {"prefix_enforcement": "on", "streams": streams}

    def start(name: str) -> tuple[Simulator, Backend]:
        if name == "deepseek":
            simulator = simulators(kind="deepseek-chat", realm=name, stance=stance)
            return simulator, chat(simulator, name)
        simulator = simulators(realm=name, stance=stance)
        return simulator, claude(simulator) if name == "claude" else other(simulator)

    return start


def streamed(simulator: Simulator) -> set[bool]:
    """How a backend answered."""
    return {entry["response"]["stream"] for entry in simulator.journal() if entry["response"].get("message_id")}


def kinds(answer: Answer) -> list[str]:
    return [block["type"] for block in content_of(answer)]


def said(answer: Answer) -> list[Json]:
    """What a client holds, but for what is put on for its sake."""
    return [{key: value for key, value in block.items() if key not in ("signature", "id")} for block in content_of(answer)]


def is_kept(gate: Gate, answer: Answer, *, stream: bool) -> None:
    """In the store when its end is told, whole, with what it cost."""
    found = store_of(gate).exchange("local", answer.headers["x-clew-exchange"])
    assert found is not None
    assert (found.outcome, found.streamed, found.status) == ("whole", stream, 200)
    assert found.usage is not None
    assert found.usage.output > 0
    recording = recording_of(gate, found.id)
    assert recording is not None
    assert recording.whole
    assert [json.loads(raw)["type"] for raw in recording.blocks] == kinds(answer)


def body_kept(gate: Gate, answer: Answer) -> bytes:
    """What came from the backend, as the store has it."""
    return eventually(lambda: store_of(gate).bodies("local", answer.headers["x-clew-exchange"])).answered


# One piece, where a stream was asked for.


@pytest.mark.parametrize("name", ALL)
def test_one_piece_is_told_as_a_stream(gating: Gating, never: Starting, name: str) -> None:
    """With thinking and tools, turn after turn: each backend gets back what it made, and refuses nothing."""
    simulator, backend = never(name)
    gate = gating(backend)
    talk = Talk(gate)
    answer = talk.says("[[scenario:loop]] Look.")
    check(answer.raw, model=MODEL)
    is_kept(gate, answer, stream=True)
    assert (len(thoughts(talk.messages)), kinds(answer)) == (4, ["thinking", "text"])
    assert (refusals(simulator), streamed(simulator)) == ([], {False})
    fates = [(each["whose"], each["fate"]) for each in simulator.journal()[-1]["thinking"]]
    assert set(fates) == {("own", "kept")}
    assert exchange_of(gate, answer).stop_reason == "end_turn"


def test_all_of_a_message_is_in_its_stream(gating: Gating, simulators: StartSimulator) -> None:
    """Id, usage, end and content, as its maker said them."""
    spoken, direct = (simulators(realm="a", stance={"streams": "never"}) for _ in range(2))
    gate = gating(claude(spoken))
    body = question("[[scenario:thinking]]", **SHOWN)
    message = Direct(direct).ask(body).json
    answer = gate.ask(body)
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert accumulated(answer.raw).message() == message
    assert [event for event in answer.kinds if event != "content_block_delta"] == [
        "message_start",
        *["content_block_start", "content_block_stop"] * 2,
        *("message_delta", "message_stop"),
    ]


def test_the_model_is_named_as_it_was_asked_for_and_the_body_kept_as_it_came(gating: Gating, never: Starting) -> None:
    simulator, _ = never("glm")
    gate = gating(other(simulator, model="claude-sonnet-5-5"), store=StoreSettings(bodies="all"))
    answer = gate.ask(question("[[scenario:thinking]]", **SHOWN))
    check(answer.raw, model=MODEL)
    assert json.loads(body_kept(gate, answer))["model"] == "claude-sonnet-5-5"


def test_a_client_that_asked_for_a_stream_hears_pings_until_the_one_piece_is_here(gating: Gating, never: Starting) -> None:
    simulator, backend = never("glm")
    gate = gating(backend, **impatient(ping=0.1))
    simulator.fault("slow-start 0.5")
    answer = gate.ask(question("[[scenario:thinking]]", **SHOWN))
    check(answer.raw, model=MODEL)
    assert answer.kinds[:3] == ["ping", "ping", "ping"]
    is_kept(gate, answer, stream=True)


def test_a_large_message_is_told_in_full(gating: Gating) -> None:
    """In pieces, and over the bound above which it is put together in a thread."""
    words = "word " * 60_000
    call = {"type": "tool_use", "id": "call_1", "name": "Read", "input": {"file_path": words}}
    message = {**MESSAGE, "content": [{"type": "text", "text": words}, call]}
    with telling(json.dumps(message).encode(), kind="application/json; charset=utf-8") as teller:
        gate = gating(other_at(teller.url))
        text, called = content_of(gate.ask(question()))
    assert (text["text"], called["input"]) == (words, call["input"])
    assert outcomes(gate) == ["whole"]


def other_at(url: str, **quirks: bool) -> Backend:
    """A host of Anthropic's dialect at this address."""
    return Backend(name="local", url=url, realm="local", auth="none", quirks=Quirks(**quirks))


@pytest.mark.parametrize("name", ["glm", "deepseek"])
@pytest.mark.parametrize("stream", [True, False])
def test_hidden_thinking_stays_hidden(gating: Gating, never: Starting, always: Starting, name: str, stream: bool) -> None:
    simulator, backend = never(name) if stream else always(name)
    gate = gating(backend, thinking=ThinkingSettings(show_reasoning="hide"))
    talk = Talk(gate, stream=stream)
    talk.says("[[scenario:loop]] Look.")
    assert thoughts(talk.messages) == []
    assert refusals(simulator) == []
    assert {each["fate"] for each in simulator.journal()[-1]["thinking"]} == {"kept"}, "from the store"


@pytest.mark.parametrize("name", ["glm", "deepseek"])
@pytest.mark.parametrize("stream", [True, False])
def test_seals_may_refer_to_the_store(gating: Gating, never: Starting, always: Starting, name: str, stream: bool) -> None:
    simulator, backend = never(name) if stream else always(name)
    talk = Talk(gating(backend, thinking=ThinkingSettings(seal="reference")), stream=stream)
    talk.says("[[scenario:loop]] Look.")
    assert len(thoughts(talk.messages)) == 4
    assert refusals(simulator) == []


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("stream", [True, False])
def test_the_policy_of_sessions_knows_such_answers_too(
    gating: Gating, never: Starting, always: Starting, name: str, stream: bool
) -> None:
    simulator, backend = never(name) if stream else always(name)
    talk = Talk(gating(backend, thinking=ThinkingSettings(policy="session")), stream=stream)
    talk.says("[[scenario:loop]] Look.")
    assert len(thoughts(talk.messages)) == 4
    assert refusals(simulator) == []


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("stream", [True, False])
def test_the_same_question_again_has_the_same_answer(
    gating: Gating, never: Starting, always: Starting, name: str, stream: bool, stored: bool
) -> None:
    """The same question again and again, on connections that rest."""
    simulator, backend = never(name) if stream else always(name)
    gate = gating(backend, store=stored)
    answers = [gate.ask(question("[[scenario:thinking]]", stream=stream, **SHOWN)) for _ in range(4)]
    assert len({str(said(answer)) for answer in answers}) == 1
    assert kinds(answers[0]) == ["thinking", "text"]
    assert endings(simulator) == ["whole"] * 4
    assert gate.tasks() == 0
    if stored:
        assert outcomes(gate, 4) == ["whole"] * 4


@proves("fault:U18")
@pytest.mark.parametrize(
    "content",
    [
        "Yes.",
        ["Yes."],
        [{"text": "Yes."}],
        [{"type": 5}],
        [{"type": "text", "text": 5}],
        [{"type": "thinking", "thinking": "Hm.", "signature": 5}],
        None,
    ],
    ids=["words", "word", "no type", "odd type", "odd text", "odd signature", "none"],
)
@pytest.mark.parametrize("backend", [claude, other])
def test_a_message_that_no_stream_can_tell_is_a_failure(gating: Gating, a: Simulator, content: Any, backend: Any) -> None:
    """U18: nothing of it is told as if it were all."""
    gate = gating(backend(a, "claude"), **impatient(retry=ONCE))
    a.fault(f"status 200 body='{json.dumps({**MESSAGE, 'content': content})}'")
    answer = gate.ask(question())
    assert (answer.status, answer.json["error"]["type"]) == (502, "api_error")
    assert outcomes(gate) == ["failed"]


@proves("fault:U18")
@pytest.mark.parametrize("stream", [True, False])
def test_an_error_inside_a_200_counts_as_the_refusal_that_it_is(
    gating: Gating, a: Simulator, b: Simulator, stream: bool
) -> None:
    gate = gating(claude(a), other(b), failover=("glm",), retry=ONCE)
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    a.fault(f"status 200 body='{json.dumps(error)}'")
    answer = gate.ask(question(stream=stream))
    assert (answer.status, answer.headers["x-clew-backend"]) == (200, "glm")
    assert [(each.backend, each.status) for each in exchange_of(gate, answer).tries] == [("claude", 529), ("glm", 200)]


# A stream, where one piece was asked for.


@pytest.mark.parametrize("name", ALL)
def test_a_stream_is_folded_into_one_piece(gating: Gating, always: Starting, name: str) -> None:
    """With thinking and tools, turn after turn: each backend gets back what it made, and refuses nothing."""
    simulator, backend = always(name)
    gate = gating(backend)
    talk = Talk(gate, stream=False)
    answer = talk.says("[[scenario:loop]] Look.")
    assert answer.headers["content-type"] == "application/json"
    assert (answer.json["model"], answer.json["stop_reason"]) == (MODEL, "end_turn")
    is_kept(gate, answer, stream=False)
    assert (len(thoughts(talk.messages)), kinds(answer)) == (4, ["thinking", "text"])
    assert (refusals(simulator), streamed(simulator)) == ([], {True})
    fates = [(each["whose"], each["fate"]) for each in simulator.journal()[-1]["thinking"]]
    assert set(fates) == {("own", "kept")}


@pytest.mark.parametrize("fault", ["", "drip 1", "lump", "hang-up 0.1", "repeat ping"])
def test_all_of_a_stream_is_in_its_message(gating: Gating, simulators: StartSimulator, fault: str) -> None:
    """Id, usage, end and content, as its maker said them, however the bytes come."""
    spoken, direct = (simulators(realm="a", stance={"streams": "always"}) for _ in range(2))
    gate = gating(claude(spoken), store=StoreSettings(bodies="all"))
    body = question("[[scenario:interleaved]]", stream=False, tools=Talk(gate).fields["tools"], **SHOWN)
    came = Direct(direct).ask(body).raw
    if fault:
        spoken.fault(fault)
    answer = gate.ask(body)
    assert answer.json == accumulated(came).message()
    assert [block["type"] for block in answer.json["content"]] == ["thinking", "text", "thinking", "tool_use"]
    assert accumulated(body_kept(gate, answer)).message() == answer.json
    assert fault == "repeat ping" or body_kept(gate, answer) == came


def test_an_answer_that_was_cut_in_a_call_is_folded_as_far_as_it_came(gating: Gating, simulators: StartSimulator) -> None:
    """R66: the block has no stop, the answer has its end; a client that streams would hold the same."""
    spoken, direct = (simulators(realm="a", stance={"streams": "always"}) for _ in range(2))
    gate = gating(claude(spoken))
    body = question("[[scenario:loop]]", stream=False, max_tokens=6, tools=Talk(gate).fields["tools"], **SHOWN)
    came, answer = Direct(direct).ask(body), gate.ask(body)
    assert came.kinds.count("content_block_start") == came.kinds.count("content_block_stop") + 1
    assert answer.json == accumulated(came.raw).message()
    assert (answer.json["stop_reason"], outcomes(gate)) == ("max_tokens", ["whole"])


ENCRYPTED = {"type": "reasoning.encrypted", "data": "b3BhcXVl", "id": "rs_1", "format": "openai-responses-v1", "index": 0}


def test_a_thought_that_comes_too_late_goes_back_from_the_store(gating: Gating) -> None:
    """As behind a stream: the client has no place for it."""
    late = chunk(reasoning_details=[ENCRYPTED])
    with telling(chunk(role="assistant", content="Yes."), late, chunk("stop"), DONE) as teller:
        gate = gating(chat_row("openrouter", teller.url, 'preset = "openrouter"', 'model = "openai/gpt-5.6"'))
        talk = Talk(gate, tools=[], stream=False)
        answer = talk.says("Why?")
        talk.says("And why that?")
    assert kinds(answer) == ["text"]
    assert teller.asked[1]["messages"][-2] == {"role": "assistant", "content": "Yes.", "reasoning_details": [ENCRYPTED]}


def test_blocks_that_a_server_leaves_open_are_folded_one_after_the_other(gating: Gating) -> None:
    """With the quirk that says so, and else it is an order that cannot be."""
    said = [
        MessageStart({**MESSAGE, "content": [], "stop_reason": None}),
        BlockStart(0, {"type": "thinking", "thinking": "", "signature": ""}),
        BlockDelta(0, {"type": "thinking_delta", "thinking": "Hm."}),
        BlockStart(1, {"type": "text", "text": ""}),
        BlockDelta(1, {"type": "text_delta", "text": "Yes."}),
        *(BlockStop(0), BlockStop(1), MessageDelta({"stop_reason": "end_turn"}, {}), MessageStop()),
    ]
    with telling(*map(encode_event, said)) as teller:
        answer = gating(other_at(teller.url, overlaps=True)).ask(question(stream=False))
        refused = gating(other_at(teller.url), home="without", retry=ONCE).ask(question(stream=False))
    assert [block.get("thinking") or block.get("text") for block in answer.json["content"]] == ["Hm.", "Yes."]
    assert refused.status == 502


def test_calls_of_a_folded_answer_have_safe_ids_and_thoughts_a_seal(gating: Gating, always: Starting) -> None:
    """As in any answer of a backend that is not Anthropic's."""
    simulator, _ = always("glm")
    gate = gating(other(simulator, model="claude-sonnet-5-5"))
    answer = Talk(gate, stream=False).asks("[[scenario:loop]] Look.")
    thought, call = answer.json["content"]
    assert call["id"] == f"toolu_{answer.headers['x-clew-exchange']}_1"
    recording = recording_of(gate, answer.headers["x-clew-exchange"])
    assert recording is not None
    own = [json.loads(raw) for raw in recording.blocks]
    assert (own[0]["thinking"], own[1]["input"]) == (thought["thinking"], call["input"])
    assert own[0]["signature"] != thought["signature"]
    assert own[1]["id"] != call["id"]
    assert answer.json["model"] == MODEL


BROKEN = [
    *("cut after=4 how=fin", "cut after=4 how=rst", "cut after=4 how=end", "cut before=message_stop how=end"),
    *("omit message_stop", "omit content_block_start", "index-gap 1 block=1", "repeat content_block_stop"),
    *("bad-json before=content_block_delta", "bad-utf8 before=content_block_delta", "bad-json before=message_delta"),
]
BROKEN_CHAT = [
    *("cut after=4 how=fin", "cut after=4 how=rst", "cut after=4 how=end", "cut before=finish how=end"),
    *("bad-json before=content", "omit finish,done"),
]


@proves("fault:U14")
@pytest.mark.parametrize(
    ("name", "fault"),
    [*((name, fault) for name in ANTHROPIC for fault in BROKEN), *(("deepseek", fault) for fault in BROKEN_CHAT)],
)
def test_what_is_broken_never_becomes_a_whole_answer(gating: Gating, always: Starting, name: str, fault: str) -> None:
    """U14: it is asked for again, since the client has seen nothing of it; and if that does not help, it is told so."""
    simulator, backend = always(name)
    gate = gating(backend, **impatient(retry=TWICE))
    simulator.fault(fault)
    body = question("[[scenario:thinking]]", stream=False, **SHOWN)
    answer = gate.ask(body)
    assert (answer.status, kinds(answer)) == (200, ["thinking", "text"])
    assert [each.status for each in exchange_of(gate, answer).tries][-1:] == [200]
    assert len(simulator.journal()) == 2
    simulator.fault(fault, times=None)
    failed = gate.ask(body)
    assert failed.status in (500, 502), failed.raw
    assert failed.json["error"]["type"] == "api_error"
    assert sorted(outcomes(gate, 2))[1] == "whole"


@proves("fault:U4")
@pytest.mark.parametrize("place", ["after=0", "after=1", "content=3"])
@pytest.mark.parametrize("name", ["claude", "deepseek"])
def test_an_error_event_counts_as_the_refusal_that_it_stands_for(
    gating: Gating, always: Starting, b: Simulator, name: str, place: str
) -> None:
    """U4: the next one answers, wherever in the stream it came; where there is no next one, the client gets its status."""
    simulator, backend = always(name)
    simulator.fault(f"error overloaded_error message=Overloaded {place}", times=None)
    gate = gating(backend, other(b), failover=("glm",), retry=ONCE)
    body = question("[[scenario:thinking]]", stream=False, **SHOWN)
    answer = gate.ask(body)
    assert (answer.status, kinds(answer)) == (200, ["thinking", "text"])
    tries = exchange_of(gate, answer).tries
    assert [each.backend for each in tries] == [name, "glm"]
    assert tries[0].status in (503, 529)
    alone = gating(backend, home="alone", retry=ONCE).ask(body)
    assert (alone.status, alone.json["error"]["type"]) == (tries[0].status, "overloaded_error")


ANSWER = [chunk(role="assistant", reasoning_content="Hm."), *([chunk(content="word ")] * 8), chunk("stop"), DONE]


def test_a_long_answer_that_still_comes_is_waited_for(gating: Gating) -> None:
    """Longer than its first byte, its first content or any pause may take."""
    slow = [part for each in ANSWER for part in (each, 0.2)]
    with telling(*slow) as teller:
        patience = impatient(retry=ONCE, first_content=0.5, first_byte=0.5, gap=0.5)
        answer = gating(chat_row("local", teller.url), **patience).ask(question(stream=False))
    assert (answer.status, answer.json["content"][-1]["text"]) == (200, "word " * 8)


@pytest.mark.parametrize("fault", ["pings every=0.02 after=0", "pings every=0.02 after=1"])
def test_a_stream_without_content_has_its_time(gating: Gating, always: Starting, fault: str) -> None:
    simulator, backend = always("claude")
    gate = gating(backend, **impatient(retry=ONCE, first_content=0.3))
    simulator.fault(fault)
    answer = gate.ask(question(stream=False))
    assert (answer.status, answer.json["error"]["type"]) == (504, "timeout_error")
    assert endings(simulator) == ["client left"]


@pytest.mark.parametrize("name", ["claude", "deepseek"])
def test_a_silence_inside_a_stream_has_its_time_too(gating: Gating, always: Starting, name: str) -> None:
    simulator, backend = always(name)
    gate = gating(backend, **impatient(retry=ONCE, gap=0.3))
    simulator.fault("stall 60 content=2")
    answer = gate.ask(question("[[scenario:thinking]]", stream=False, **SHOWN))
    assert (answer.status, endings(simulator)) == (504, ["client left"])


def test_a_backend_that_keeps_its_connection_open_is_not_waited_for(gating: Gating) -> None:
    """After the end of the answer, only for a moment."""
    with telling(*ANSWER, inf) as teller:
        gate = gating(chat_row("local", teller.url), **impatient(retry=ONCE, gap=100_000.0))
        assert gate.ask(question(stream=False)).status == 200


@proves("fault:U15")
@pytest.mark.parametrize("shape", ["event", "line", "events"])
def test_a_stream_without_end_is_cut_off(
    gating: Gating, always: Starting, monkeypatch: pytest.MonkeyPatch, shape: str
) -> None:
    monkeypatch.setattr(backend_call, "LIMITS", ResponseLimits(body_bytes=4 * 1024 * 1024))
    simulator, backend = always("claude")
    gate = gating(backend, **impatient(retry=ONCE))
    simulator.fault(f"flood 0 shape={shape} content=2")
    answer = gate.ask(question(stream=False))
    assert (answer.status, endings(simulator), outcomes(gate)) == (502, ["client left"], ["failed"])


@proves("fault:C1")
@pytest.mark.parametrize("name", ["claude", "deepseek"])
def test_a_client_that_leaves_cancels_the_backend(gating: Gating, always: Starting, name: str) -> None:
    """C1: though it could not be told a word yet."""
    simulator, backend = always(name)
    gate = gating(backend, **impatient())
    simulator.fault("stall 60 content=2")
    client = Client(gate).asks(question("[[scenario:thinking]]", stream=False, **SHOWN))
    until(is_asked(simulator))
    client.leaves()
    assert endings(simulator) == ["client left"]
    assert outcomes(gate) == ["cut"]


# Neither.


@proves("fault:U18")
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("content-type text/html", "text/html instead of"),
        ("status 200 content-type=text/event-stream body=", ""),
        ("status 200 content-type=text/event-stream body='{}'", ""),
        ("status 200 body=", "not a valid answer: nothing"),
        ("bomb 1000 coding=gzip", "which was not requested"),
    ],
)
def test_what_is_neither_stays_a_failure(
    gating: Gating, never: Starting, always: Starting, fault: str, says: str, stream: bool
) -> None:
    simulator, backend = never("claude") if stream else always("claude")
    gate = gating(backend, **impatient(retry=ONCE))
    simulator.fault(fault)
    answer = gate.ask(question(stream=stream))
    assert (answer.status, answer.json["error"]["type"]) == (502, "api_error")
    assert says in answer.json["error"]["message"]
    assert outcomes(gate) == ["failed"]


@pytest.mark.parametrize("name", ALL)
def test_tokens_are_counted(gating: Gating, never: Starting, always: Starting, name: str) -> None:
    """A count is no answer of a model: it comes as it always did, and a stream is none."""
    for start in (never, always):
        simulator, backend = start(name)
        gate = gating(backend, home=simulator.url.rpartition(":")[2], **impatient(retry=ONCE))
        asking = {key: value for key, value in question().items() if key not in ("stream", "max_tokens")}
        answer = gate.ask(asking, path="/v1/messages/count_tokens")
        assert (answer.status, answer.json["input_tokens"] > 0) == (200, True)
        if name != "deepseek":
            stream = "status 200 content-type=text/event-stream body='data: {}'"
            simulator.fault(stream, path="/v1/messages/count_tokens")
            refused = gate.ask(asking, path="/v1/messages/count_tokens")
            assert (refused.status, "instead of JSON" in refused.json["error"]["message"]) == (502, True)


# A content type that says something else than what comes.

WHOLE = {**MESSAGE, "stop_sequence": None, "usage": {"input_tokens": 3, "output_tokens": 2}}
WHOLE["content"] = [{"type": "thinking", "thinking": "Hm.", "signature": "s"}, {"type": "text", "text": "Yes."}]
CHOICE = {"index": 0, "message": {"reasoning_content": "Hm.", "content": "Yes."}, "finish_reason": "stop"}
CHAT_USAGE = {"prompt_tokens": 3, "completion_tokens": 2}
CHAT_WHOLE = {"id": "c", "choices": [CHOICE], "usage": CHAT_USAGE}
CHAT_END = b"data: " + json.dumps({"choices": [], "usage": CHAT_USAGE}).encode() + b"\n\n"
BODIES = {
    ("anthropic", "json"): json.dumps(WHOLE).encode(),
    ("anthropic", "stream"): b"".join(encode_event(event) for event in events_of(WHOLE, chunk=3)),
    ("chat", "json"): json.dumps(CHAT_WHOLE).encode(),
    ("chat", "stream"): chunk(reasoning_content="Hm.") + chunk(content="Yes.") + chunk("stop") + CHAT_END + DONE,
}
TYPES = ["text/event-stream; charset=utf-8", "application/json", "text/plain", "application/octet-stream", ""]


@pytest.mark.parametrize("stream", [True, False], ids=["streams", "one piece"])
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize(("dialect", "form"), BODIES)
def test_what_comes_decides_and_not_its_content_type(
    gating: Gating, dialect: str, form: str, kind: str, stream: bool
) -> None:
    """A backend that always streams and one that never does, each in both dialects: answered, sealed, counted and kept. White
    space may come first, as a sign of life."""
    with telling(b"\r\n", BODIES[dialect, form], kind=kind) as teller:
        row = chat_row("local", teller.url) if dialect == "chat" else other_at(teller.url)
        gate = gating(row, **impatient(retry=ONCE))
        answers = [gate.ask(question(stream=stream)) for _ in range(2)]
        for answer in answers:
            assert answer.status == 200, answer.raw
            message = accumulated(answer.raw).message() if stream else answer.json
            said = [block.get("thinking") or block.get("text") for block in message["content"]]
            assert (said, message["stop_reason"], message["model"]) == (["Hm.", "Yes."], "end_turn", question()["model"])
            assert message["content"][0]["signature"].startswith("clew")
            assert (message["usage"]["input_tokens"], message["usage"]["output_tokens"]) == (3, 2)
            recording = recording_of(gate, answer.headers["x-clew-exchange"])
            assert recording is not None
            assert (recording.whole, len(recording.blocks)) == (True, 2)
