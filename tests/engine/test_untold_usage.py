"""Backends that do not say what an answer cost: the vendor always does, so clients look for it, and break without."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import pytest
from msgspec import structs

from clew.model.events import BlockDelta, BlockStart, BlockStop, Event, MessageDelta, MessageStart, MessageStop
from clew.settings.values import Retry
from clew.wire.events import encode_event
from tests.build import Json, user
from tests.engine.chatting import DONE, SSE, chat_row, chunk, telling
from tests.engine.conftest import Gating
from tests.engine.gate import KEY
from tests.engine.kept import exchange_of
from tests.engine.talk import MODEL
from tests.engine.test_waits import messages_row

pytestmark = pytest.mark.slow

JSON = "application/json"
MESSAGE: Json = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_sequence": None}
WHOLE: Json = {**MESSAGE, "content": [{"type": "text", "text": "Hi."}], "stop_reason": "end_turn"}
STREAM: list[Event] = [
    MessageStart({**MESSAGE, "content": [], "stop_reason": None}),
    *(BlockStart(0, {"type": "text", "text": ""}), BlockDelta(0, {"type": "text_delta", "text": "Hi."}), BlockStop(0)),
    *(MessageDelta({"stop_reason": "end_turn", "stop_sequence": None}), MessageStop()),
]
ESTIMATE = b'"output_tokens":2,"output_tokens_estimated":true'
CHAT: Json = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi."}, "finish_reason": "stop"}]}

ANSWERS: dict[str, tuple[Any, bytes, str]] = {
    "in one piece": (messages_row, json.dumps(WHOLE).encode(), JSON),
    "in one piece, as null": (messages_row, json.dumps({**WHOLE, "usage": None}).encode(), JSON),
    "streamed": (messages_row, b"".join(map(encode_event, STREAM)), SSE),
    "in one piece, in another dialect": (chat_row, json.dumps(CHAT).encode(), JSON),
    "streamed, in another dialect": (chat_row, chunk(role="assistant", content="Hi.") + chunk("stop") + DONE, SSE),
}


def read(client: anthropic.Anthropic, asked: Any, *, stream: bool) -> anthropic.types.Message:
    if not stream:
        return client.messages.create(**asked)
    with client.messages.stream(**asked) as streamed:
        return streamed.get_final_message()


@pytest.mark.parametrize("name", ANSWERS)
def test_an_sdk_reads_an_answer_whose_backend_tells_no_usage(gating: Gating, name: str) -> None:
    """However it was asked for and however it comes, the second time too. The output is estimated."""
    row, body, kind = ANSWERS[name]
    asked: Any = {"model": MODEL, "max_tokens": 100, "messages": [user("Hello")]}
    with telling(body, kind=kind) as backend:
        gate = gating(row("local", backend.url), retry=Retry(retries=0))
        with anthropic.Anthropic(base_url=gate.url, api_key=KEY, max_retries=0) as client:
            messages = [read(client, asked, stream=stream) for stream in (True, False, True, False)]
        answer = gate.ask({**asked, "stream": True})

    for message in messages:
        assert (message.content[0].type, message.model) == ("text", MODEL)
        assert (message.usage.input_tokens >= 0, message.usage.output_tokens) == (True, 2)
    assert exchange_of(gate, answer).usage is None or row is chat_row


@pytest.mark.parametrize("realm", ["anthropic", "local"])
def test_an_event_keeps_all_its_other_bytes(gating: Gating, realm: str) -> None:
    said = b"".join(map(encode_event, STREAM)).replace(b'"msg_1"', rb'"msg_1", "own":  [1.50, 1e3, "\u00e9"]')
    said = said.replace(b'"delta":{"stop_reason"', b'"own": [1.50],"delta":{"stop_reason"')
    told = streamed(gating, said, realm)
    told = told.replace(b',"usage":{"input_tokens":0,"output_tokens":0}', b"", 1)
    told = told.replace(b',"usage":{%b}' % ESTIMATE, b"", 1)
    assert told == said.replace(b'"model":"m"', f'"model":"{MODEL}"'.encode())


def test_an_event_into_which_nothing_can_be_put_goes_as_it_came(gating: Gating) -> None:
    """Half a character in it was an error of ours."""
    said = b"".join(map(encode_event, STREAM)).replace(b'"msg_1"', rb'"msg_\ud83d"')
    assert streamed(gating, said, "local").replace(b',"usage":{%b}' % ESTIMATE, b"", 1) == said


def streamed(gating: Gating, said: bytes, realm: str) -> bytes:
    with telling(said) as backend:
        gate = gating(structs.replace(messages_row("local", backend.url), realm=realm), retry=Retry(retries=0))
        answer = gate.ask({"model": MODEL, "max_tokens": 100, "messages": [user("Hello")], "stream": True})
    assert answer.status == 200
    return answer.raw


def test_a_message_keeps_all_its_other_bytes(gating: Gating) -> None:
    """Where the bytes pass as they come; and a count of tokens is no message."""
    said = json.dumps({**WHOLE, "model": MODEL, "input_tokens": 7}, indent=1).encode()
    with telling(said, kind=JSON) as backend:
        gate = gating(structs.replace(messages_row("local", backend.url), realm="anthropic"))
        asked: Json = {"model": MODEL, "max_tokens": 100, "messages": [user("Hello")]}
        answers = [gate.ask(asked) for _ in range(2)]
        counted = gate.ask(asked, path="/v1/messages/count_tokens")

    for answer in answers:
        assert answer.raw != said
        assert answer.raw.replace(b',"usage":{"input_tokens":0,%b}' % ESTIMATE, b"") == said
    assert counted.raw == said
