"""Answers that hold what a store cannot keep, or a reader cannot count: the client gets them all the same (law 8)."""

from __future__ import annotations

import json
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from clew import Conversation
from clew.backends.credential import Secret
from clew.backends.row import Backend
from clew.model.turn import TurnRecord
from clew.settings.values import Retry
from clew.store.sqlite.store import SqliteStore
from clew.testing import Simulator
from tests.build import Json
from tests.engine.chatting import DONE, SSE, chat_row, telling
from tests.engine.gate import Answer, Gate
from tests.engine.kept import exchange_of
from tests.faults.conftest import Gating
from tests.faults.scene import question, story
from tests.manifest import proves

pytestmark = pytest.mark.slow

JSON = "application/json"
ONCE: Json = {"retry": Retry(retries=0)}


def claude_row(name: str, url: str) -> Backend:
    return Backend(url=url, name=name, realm="anthropic", auth="key", keys=(Secret(Simulator.key),))


def other_row(name: str, url: str) -> Backend:
    return Backend(url=url, name=name, realm=name, auth="key", keys=(Secret(Simulator.key),))


# An answer is written by hand: no encoder would write such values. `number` is JSON for each count, `block` for what is said.

TEXT = '{"type":"text","text":"Hi."}'


def message(number: str, block: str = TEXT) -> bytes:
    usage = f'"input_tokens":{number},"output_tokens":{number},"cache_read_input_tokens":{number}'
    details = f'"output_tokens_details":{{"thinking_tokens":{number}}}'
    return (
        '{"id":"msg_1","type":"message","role":"assistant","model":"m","stop_sequence":null,"stop_reason":"end_turn",'
        f'"content":[{block}],"usage":{{{usage},{details}}}}}'
    ).encode()


def events(number: str, block: str = TEXT) -> bytes:
    usage = f'"usage":{{"input_tokens":{number},"output_tokens":{number},"cache_read_input_tokens":{number}}}'
    opening = f'{{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,{usage}}}'
    told = [
        f'{{"type":"message_start","message":{opening}}}',
        f'{{"type":"content_block_start","index":0,"content_block":{block}}}',
        '{"type":"content_block_stop","index":0}',
        f'{{"type":"message_delta","delta":{{"stop_reason":"end_turn","stop_sequence":null}},{usage}}}',
        '{"type":"message_stop"}',
    ]
    return b"".join(b"event: %b\ndata: %b\n\n" % (json.loads(each)["type"].encode(), each.encode()) for each in told)


def chat_usage(number: str) -> str:
    details = (
        f'"prompt_tokens_details":{{"cached_tokens":{number}}},"completion_tokens_details":{{"reasoning_tokens":{number}}}'
    )
    return f'"usage":{{"prompt_tokens":{number},"completion_tokens":{number},"total_tokens":{number},{details}}}'


def completion(number: str, said: str = '"content":"Hi."') -> bytes:
    choice = f'{{"index":0,"message":{{"role":"assistant",{said}}},"finish_reason":"stop"}}'
    return f'{{"id":"c","choices":[{choice}],{chat_usage(number)}}}'.encode()


def chunks(number: str, said: str = '"content":"Hi."') -> bytes:
    first = f'{{"id":"c","choices":[{{"index":0,"delta":{{"role":"assistant",{said}}},"finish_reason":null}}]}}'
    last = f'{{"id":"c","choices":[{{"index":0,"delta":{{}},"finish_reason":"stop"}}],{chat_usage(number)}}}'
    return b"data: %b\n\ndata: %b\n\n" % (first.encode(), last.encode()) + DONE


DIALECTS: dict[str, Any] = {
    "claude": (claude_row, message, events),
    "another maker": (other_row, message, events),
    "chat": (chat_row, completion, chunks),
}
NUMBERS = [
    *("18446744073709551615", "9223372036854775808", "9223372036854775807", "1" + "0" * 400, "1e30", "1e400", "-1", "-1e30"),
    *("1.5", "3.0", '"7"', "null", "true", "[]", "{}"),
]


def asked_thrice(gate: Gate, *, stream: bool) -> list[Answer]:
    return [gate.ask(question(stream=stream)) for _ in range(3)]


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number[:24])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_count_that_is_none_costs_neither_the_answer_nor_its_recording(
    gating: Gating, dialect: str, number: str, stream: bool
) -> None:
    row, whole, streamed = DIALECTS[dialect]
    with telling(streamed(number) if stream else whole(number), kind=SSE if stream else JSON) as backend:
        gate = gating(row("local", backend.url), **ONCE)
        answers = asked_thrice(gate, stream=stream)

    for answer in answers:
        assert story(answer) == "whole", answer.raw
        assert b"Hi." in answer.raw
        exchange = exchange_of(gate, answer)
        assert exchange.outcome == "whole"
        counts = exchange.usage
        assert counts is None or all(0 <= each < 2**53 for each in (counts.input, counts.output, counts.cache_read))
    assert gate.store is not None
    assert all(0 <= each.usage.input < 2**62 for each in gate.store.usage_totals("local")), "and it can be added up"
    assert gate.store.verify() == ()


INPUTS = {
    "half a character": r'{"a":"\ud83d"}',
    "half a character as a name": r'{"\ud83d":1}',
    "a NUL": r'{"a":"\u0000","\u0000":1}',
    "a large integer": f'{{"a":{"9" * 500}}}',
    "a huge integer": f'{{"a":{"9" * 5000}}}',
    "an infinite number": '{"a":1e400}',
    "deep nesting": f'{{"a":{"[" * 900 + "]" * 900}}}',
    "one name twice": '{"a":1,"a":2}',
}
"""JSON that is read in many ways. (What is nested more deeply than a thousand times, no reader of a whole answer takes.)"""


def tool_use(input: str) -> str:
    return f'{{"type":"tool_use","id":"toolu_1","name":"look","input":{input}}}'


def tool_events(input: str) -> bytes:
    start, delta = events("1", tool_use("{}")).split(b"event: content_block_stop", 1)
    part = json.dumps(
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": input}}
    )
    return start + b"event: content_block_delta\ndata: " + part.encode() + b"\n\nevent: content_block_stop" + delta


def chat_call(input: str) -> str:
    function = f'{{"name":"look","arguments":{json.dumps(input)}}}'
    return f'"tool_calls":[{{"index":0,"id":"call_1","type":"function","function":{function}}}]'


CALLS: dict[str, Any] = {
    "claude": (claude_row, lambda input: message("1", tool_use(input)), tool_events),
    "another maker": (other_row, lambda input: message("1", tool_use(input)), tool_events),
    "chat": (chat_row, lambda input: completion("1", chat_call(input)), lambda input: chunks("1", chat_call(input))),
}


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("input", INPUTS)
@pytest.mark.parametrize("dialect", CALLS)
def test_a_call_that_holds_what_cannot_be_kept_reaches_the_client(
    gating: Gating, dialect: str, input: str, stream: bool
) -> None:
    row, whole, streamed = CALLS[dialect]
    with telling((streamed if stream else whole)(INPUTS[input]), kind=SSE if stream else JSON) as backend:
        gate = gating(row("local", backend.url), **ONCE)
        answers = asked_thrice(gate, stream=stream)

    for answer in answers:
        assert story(answer) == "whole", answer.raw
        assert b"look" in answer.raw
        assert exchange_of(gate, answer).outcome == "whole"


def poisoned(kind: str) -> bytes:
    """A stream with half a character where one `kind` of string stands."""
    half = r"\ud83d"
    said = events("1", r'{"type":"text","text":"Hi.","citations":[{"cited_text":"c","odd":"o"}],"own":"p"}')
    places = {
        "text": b'"Hi."',
        "citation": b'"c"',
        "unknown": b'"p"',
        "stop": b'"end_turn"',
        "id": b'"msg_1"',
        "model": b'"m"',
    }
    return said.replace(places[kind], places[kind][:-1] + half.encode() + b'"')


@pytest.mark.parametrize("row", [claude_row, other_row])
@pytest.mark.parametrize("kind", ["text", "citation", "unknown", "stop", "id", "model"])
def test_half_a_character_anywhere_in_a_stream_costs_no_answer(gating: Gating, kind: str, row: Any) -> None:
    with telling(poisoned(kind), kind=SSE) as backend:
        gate = gating(row("local", backend.url), **ONCE)
        answers = asked_thrice(gate, stream=True)
    assert [story(answer) for answer in answers] == ["whole"] * 3


class Poisonous(SqliteStore):
    """Its writer fails for a turn whose question says so, with what is no error of the store."""

    def _record(self, turn: TurnRecord, *, lazily: bool, brought_back: bool = False) -> Future[bool]:
        if any(b"poison" in asked for asked in turn.asked):
            return self._writer.submit(_overflow)
        return super()._record(turn, lazily=lazily, brought_back=brought_back)


def _overflow(_: object) -> bool:
    raise OverflowError("int too big to convert")


class PoisonousGate(Gate):
    """A gateway on such a store, which tells what it could not record."""

    def _opened(self) -> SqliteStore:
        self.unrecorded: list[Any] = []
        publish = self.hub.publish
        self.hub.publish = lambda kind, value: (_note(self.unrecorded, kind, value), publish(kind, value))[1]
        return Poisonous(self.home / "clew.db")


def _note(unrecorded: list[Any], kind: str, value: Any) -> None:
    if kind == "unrecorded":
        unrecorded.append(value)


@proves("fault:S1")
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_any_failure_of_the_writer_is_reported_and_neighbours_are_kept(tmp_path: Path, dialect: str, stream: bool) -> None:
    row, whole, streamed = DIALECTS[dialect]
    with (
        telling((streamed if stream else whole)("1"), kind=SSE if stream else JSON) as backend,
        PoisonousGate(tmp_path, row("local", backend.url), **ONCE) as gate,
        ThreadPoolExecutor(12) as clients,
    ):
        words = ["poison" if number % 4 == 0 else "Why?" for number in range(60)]
        answers = list(clients.map(lambda said: gate.ask(question(said, stream=stream)), words))

        assert [story(answer) for answer in answers] == ["whole"] * 60
        lost = {answer.headers["x-clew-exchange"] for answer, said in zip(answers, words, strict=True) if said == "poison"}
        assert {each["exchange"] for each in gate.unrecorded} == lost
        assert all("OverflowError" in each["why"] for each in gate.unrecorded)
        assert gate.store is not None
        assert len(gate.store.exchanges("local", limit=100)) == 45
        assert gate.store.health().state == "ok"


@pytest.mark.parametrize("number", ["18446744073709551615", "1e400"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_conversation_of_the_library_gets_such_an_answer(tmp_path: Path, dialect: str, number: str) -> None:
    _, _, streamed = DIALECTS[dialect]
    with telling(streamed(number), kind=SSE) as backend:
        chat = dialect == "chat"
        lines = [f'dialect = "{"openai-chat" if chat else "anthropic"}"', f'url = "{backend.url}{"/v1" if chat else ""}"']
        file = tmp_path / "clew.toml"
        file.write_text("\n".join(['active = "local"', "[backends.local]", 'key = "k"', *lines]))
        file.chmod(0o600)
        with Conversation.open(config=file, model="claude-opus-5-5", environ={"CLEW_HOME": str(tmp_path)}) as conversation:
            message = conversation.ask("Why?").message()
            assert "Hi." in str(message.raw_content or message.content)
            assert [turn.outcome for turn in conversation.turns] == ["whole"]
