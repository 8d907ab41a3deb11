"""Answers in another dialect, over real sockets: how they begin, how they fail, and what a client sees while they hide."""

from __future__ import annotations

import json
from urllib.request import Request, urlopen

import pytest

from clew.model.change import Change
from clew.settings.values import GatewaySettings, Retry, ThinkingSettings
from clew.testing import Simulator
from clew.testing.plugin import StartSimulator
from tests.build import Json, user
from tests.clock import Clock
from tests.engine.chatting import DONE, SSE, chat, chat_row, chunk, pieces, telling
from tests.engine.conftest import Gating
from tests.engine.gate import KEY, Answer, Gate
from tests.engine.kept import eventually, exchange_of, recording_of, store_of
from tests.engine.talk import MODEL, Talk, content_of, refusals, thoughts
from tests.faults.scene import SOON, Client, impatient
from tests.golden.legal import check
from tests.manifest import proves, public

pytestmark = pytest.mark.slow

ONCE = Retry(retries=0, first_wait=0.01, cool_seconds=0.0)
THINKS = {"thinking": {"type": "adaptive", "display": "summarized"}}


@pytest.fixture
def deepseek(simulators: StartSimulator) -> Simulator:
    return simulators(kind="deepseek-chat", realm="deepseek")


def ask(gate: Gate, words: str = "[[scenario:thinking]]", **fields: object) -> Answer:
    return gate.ask({"model": MODEL, "max_tokens": 2000, "stream": True, **THINKS, "messages": [user(words)], **fields})


@public("gateway")
@proves("req:S3-23", "fault:C1")
@pytest.mark.parametrize("reset", [False, True], ids=["fin", "rst"])
def test_a_client_that_leaves_cancels_the_backend_and_leaves_what_is_not_whole(
    clock: Clock, gating: Gating, deepseek: Simulator, reset: bool
) -> None:
    """S3-23: within a second; the thought that was whole is kept as such, the text that was not is marked."""
    gate = gating(chat(deepseek, "deepseek"), **impatient())
    deepseek.fault("stall 60 before=finish")
    client = Client(gate).asks({"model": MODEL, "max_tokens": 2000, "stream": True, **THINKS, "messages": [user("Why?")]})
    client.read_until(b"text_delta")
    client.leaves(reset=reset)
    clock.pass_time(SOON)
    assert [each["ended"] for each in deepseek.journal()] == ["client left"]

    cut = eventually(lambda: next((each for each in store_of(gate).exchanges("local") if each.outcome == "cut"), None))
    recording = recording_of(gate, cut.id)
    assert recording is not None
    assert (recording.whole, len(recording.keys)) == (False, 1)
    assert eventually(lambda: gate.tasks() == 0 or None)


ENCRYPTED = {"type": "reasoning.encrypted", "data": "b3BhcXVl", "id": "rs_1", "format": "openai-responses-v1", "index": 0}


@public("gateway")
@proves("req:S3-14", "req:C28", "case:65c")
def test_hidden_reasoning_keeps_the_client_alive_and_goes_back(gating: Gating) -> None:
    """Entries that nobody can read, for longer than a second: pings, an empty signed block, and the next turn has them."""
    hidden = chunk(role="assistant", reasoning_details=[ENCRYPTED])
    parts = [hidden, *([0.4, b": PROCESSING\n\n"] * 4), chunk(content="Yes."), chunk("stop"), DONE]
    with telling(*parts) as teller:
        gate = gating(chat_row("openrouter", teller.url, 'preset = "openrouter"', 'model = "openai/gpt-5.6"'))
        talk = Talk(gate, tools=[])
        answer = talk.says("Why?")
        talk.says("And why that?")

    check(answer.raw, model=MODEL)
    assert [block["type"] for block in content_of(answer)] == ["thinking", "text"]
    assert thoughts(talk.messages)[0]["thinking"] == ""
    assert answer.kinds.count("ping") >= 2, "one is how every answer begins"
    assert teller.asked[1]["messages"][-2] == {"role": "assistant", "content": "Yes.", "reasoning_details": [ENCRYPTED]}


@proves("case:65c")
def test_a_silence_before_the_first_word_is_filled_with_pings(gating: Gating, deepseek: Simulator) -> None:
    """Nothing at all comes from the backend: the client is told that somebody is there, as often as the settings say."""
    gate = gating(chat(deepseek, "deepseek"), gateway=GatewaySettings(ping_seconds=0.1))
    deepseek.fault("slow-start 1")
    answer = ask(gate)
    check(answer.raw, model=MODEL)
    assert answer.kinds.index("message_start") >= 2
    assert set(answer.kinds[: answer.kinds.index("message_start")]) == {"ping"}


@proves("req:S3-1")
def test_an_eager_answer_begins_before_the_backend_says_anything(clock: Clock, gating: Gating, deepseek: Simulator) -> None:
    """S3-1: start, an empty text, a ping; and the client that puts it together has the same answer as a lazy one."""
    deepseek.fault("stall 30 after=0")
    gate = gating(chat(deepseek, "deepseek"), thinking=ThinkingSettings(stream_start="eager"))
    client = Client(gate).asks({"model": MODEL, "max_tokens": 2000, "stream": True, **THINKS, "messages": [user("Why?")]})
    client.read_until(b'"ping"')
    client.leaves()
    lazy, eager = content_of(ask(gating(chat(deepseek, "deepseek"), home="lazy"))), ask(gate)
    assert eager.kinds[:3] == ["message_start", "content_block_start", "ping"]
    assert eager.events[1]["content_block"] == {"type": "text", "text": ""}
    assert said(content_of(eager)) == said(lazy)


@proves("req:S3-1")
def test_an_eager_answer_has_all_that_came_with_the_backends_first_bytes(gating: Gating) -> None:
    """S3-1: a quick backend's answer comes together with its head."""
    with telling(chunk(reasoning_content="Hm.") + chunk("stop", content="Yes.") + DONE) as backend:
        gate = gating(chat_row("local", backend.url), thinking=ThinkingSettings(stream_start="eager"))
        answers = [ask(gate) for _ in range(3)]
    for answer in answers:
        check(answer.raw, model=MODEL)
        assert [block["type"] for block in content_of(answer)] == ["text", "thinking", "text"]


@proves("req:S3-31")
def test_a_signature_may_be_left_empty(gating: Gating, deepseek: Simulator) -> None:
    """S3-31: none is sent, and the reasoning still goes back to its maker, from the store."""
    gate = gating(chat(deepseek, "deepseek"), thinking=ThinkingSettings(signature="empty"))
    talk = Talk(gate)
    answer = talk.says("[[scenario:loop]] Look.")
    check(answer.raw, signatures="empty", model=MODEL)
    assert {block["signature"] for block in thoughts(talk.messages)} == {""}
    assert pieces(deepseek) == [("reasoning_content", "own", True, "kept")] * 3


def said(blocks: list[Json]) -> list[tuple[str, str]]:
    """What an answer says, without signatures and what is empty."""
    found = [(block["type"], block.get("thinking", "") + block.get("text", "")) for block in blocks]
    return [pair for pair in found if pair[1]]


WHOLE = json.dumps(
    {
        "id": "c-1",
        "object": "chat.completion",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "reasoning_content": "Hm.", "content": "Yes."},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3},
    }
).encode()


@proves("case:6")
def test_an_answer_in_one_piece_is_told_as_the_stream_that_was_asked_for(gating: Gating) -> None:
    """Servers that do not stream, whatever they are asked for."""
    with telling(WHOLE, kind="application/json") as teller:
        gate = gating(chat_row("local", teller.url))
        answer = ask(gate)
    check(answer.raw, model=MODEL)
    assert said(content_of(answer)) == [("thinking", "Hm."), ("text", "Yes.")]
    assert (exchange_of(gate, answer).outcome, answer.headers["content-type"].startswith(SSE)) == ("whole", True)


@proves("case:6")
@pytest.mark.parametrize(
    ("body", "kind", "status", "words"),
    [
        (b"<html>Bad gateway</html>", "text/html", 502, "<html>Bad gateway</html>"),
        (b'{"error": {"message": "slow down", "code": 429}}', "application/json", 429, "slow down"),
        (b"", "application/json", 502, "local: not a valid answer: nothing"),
        (b'{"hello": "you"}', "application/json", 502, 'local: not a valid answer: {"hello": "you"}'),
    ],
    ids=["page", "error", "nothing", "something"],
)
def test_a_body_that_is_no_answer_is_an_error(gating: Gating, body: bytes, kind: str, status: int, words: str) -> None:
    """With a 200 all the same: never silence, and never a whole answer."""
    with telling(body, kind=kind) as teller:
        gate = gating(chat_row("local", teller.url), retry=ONCE)
        answer = ask(gate)
    assert (answer.status, words in answer.json["error"]["message"]) == (status, True), answer.raw


def test_an_error_inside_a_200_before_any_content_is_a_status(gating: Gating, deepseek: Simulator) -> None:
    """The client can act on it, and so can anyone who would try again."""
    gate = gating(chat(deepseek, "deepseek"), retry=ONCE)
    deepseek.fault("error service_unavailable_error after=1 message='The server is overloaded'")
    answer = ask(gate)
    assert (answer.status, answer.json["error"]["type"]) == (529, "overloaded_error")


def test_an_error_inside_a_200_after_content_ends_the_stream(gating: Gating, deepseek: Simulator) -> None:
    """The error is the last event, and the exchange is cut; one answer is never patched with another."""
    gate = gating(chat(deepseek, "deepseek"))
    deepseek.fault("error service_unavailable_error before=content message='The server is overloaded'")
    answer = ask(gate)
    check(answer.raw, model=MODEL)
    assert answer.kinds[-1] == "error"
    assert (exchange_of(gate, answer).outcome, len(deepseek.journal())) == ("cut", 1)


@proves("req:S3-22")
@pytest.mark.parametrize("how", ["fin", "rst"])
def test_a_connection_that_breaks_leaves_its_block_without_a_stop(gating: Gating, deepseek: Simulator, how: str) -> None:
    """S3-22: also where nobody said a word about it."""
    gate = gating(chat(deepseek, "deepseek"), retry=ONCE)
    deepseek.fault(f"cut content=1 how={how}")
    answer = ask(gate)
    assert answer.kinds[-2:] == ["content_block_delta", "error"]
    assert answer.kinds.count("content_block_start") == answer.kinds.count("content_block_stop") + 1


@proves("req:S3-43")
def test_the_first_event_tells_the_last_known_size(gating: Gating, deepseek: Simulator) -> None:
    """S3-43: a stream has to say it before anybody has counted; from the second answer on it is nearly right."""
    gate = gating(chat(deepseek, "deepseek"))
    talk = Talk(gate)
    talk.says("[[scenario:loop]] " + "many words " * 400)
    answer = talk.says("[[scenario:thinking]] And now?")
    start, end = (event.get("message", event)["usage"] for event in answer.events if "usage" in str(event))
    total = end["input_tokens"] + end["cache_read_input_tokens"]
    assert abs(start["input_tokens"] - total) < total * 0.1, (start, end)


@public("gateway")
@proves("req:S3-41")
def test_the_small_questions_have_answers(gating: Gating, deepseek: Simulator) -> None:
    """S3-41: a count, marked as an estimate and asked of nobody; a probe of one token; models; and whether anybody is there."""
    gate = gating(chat(deepseek, "deepseek"))
    with urlopen(Request(f"{gate.url}/v1/models?limit=1000", headers={"x-api-key": KEY})) as listed:
        names = {model["id"] for model in json.load(listed)["data"]}
    assert {"anthropic/deepseek", "anthropic/deepseek/deepseek-v4-pro"} <= names
    with urlopen(Request(f"{gate.url}/api/hello", method="HEAD")) as hello:
        assert hello.status == 200
    counting = {"model": MODEL, "messages": [user("Hello there.")]}
    answers = [gate.ask(counting, path="/v1/messages/count_tokens?beta=true") for _ in range(26)]
    assert {(answer.status, answer.json["input_tokens"] > 0) for answer in answers} == {(200, True)}
    assert (answers[0].headers["x-clew-tokens"], deepseek.journal()) == ("estimated", [])
    probe = gate.ask({"model": MODEL, "max_tokens": 1, "messages": [user("quota")]}, path="/v1/messages?beta=true")
    assert (probe.status, probe.json["stop_reason"]) == (200, "max_tokens")


def test_a_tool_with_a_long_name_is_called_by_it_and_goes_on(gating: Gating, deepseek: Simulator) -> None:
    """The backend takes 64 characters, the client's names have twice as many (an MCP server's)."""
    name = "mcp__a_server_with_a_long_name__a_tool_whose_name_says_everything_that_it_does"
    gate = gating(chat(deepseek, "deepseek"))
    talk = Talk(gate, tools=[{"name": name, "input_schema": {"type": "object", "properties": {}}}])
    talk.says("[[scenario:loop]]")

    called = [
        block["name"] for message in talk.messages[1::2] for block in message["content"] if block["type"] == "tool_use"
    ]
    assert set(called) == {name}
    assert refusals(deepseek) == []


@pytest.mark.parametrize("stream", [True, False])
def test_what_the_client_cannot_be_shown_of_an_answer_is_in_the_log(gating: Gating, stream: bool) -> None:
    """Law 6: a picture among the parts has no block, and the exchange says so."""
    parts = [{"type": "text", "text": "See:"}, {"type": "image_url", "image_url": {"url": "data:,"}}]
    whole = {"choices": [{"index": 0, "message": {"role": "assistant", "content": parts}, "finish_reason": "stop"}]}
    told, kind = (chunk("stop", content=parts), SSE) if stream else (json.dumps(whole).encode(), "application/json")
    with telling(told, kind=kind) as backend:
        gate = gating(chat_row("local", backend.url))
        answer = gate.ask({"model": MODEL, "max_tokens": 9, "stream": stream, "messages": [user("Draw.")]})
        left = [change for change in exchange_of(gate, answer).changes if change.path == "answer"]
    why = "a part of type 'image_url': the Messages API has no block for it"
    assert left == [Change("openai_chat", "answer", "left out", why)]


@pytest.mark.real_time
def test_a_part_that_came_before_a_silence_is_told_once(gating: Gating) -> None:
    """What came of an answer is heard anew where it goes another way."""
    image = chunk(images=[{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}])
    with telling(image, 0.3, chunk(content="Here."), chunk("stop"), DONE) as backend:
        gate = gating(chat_row("painter", backend.url), gateway=GatewaySettings(ping_seconds=0.1))
        answer = gate.ask({"model": MODEL, "max_tokens": 9, "stream": True, "messages": [user("Draw.")]})
        left = [change.why for change in exchange_of(gate, answer).changes if change.path == "answer"]
    assert left == ["a part of type 'image': the Messages API has no block for it"]
