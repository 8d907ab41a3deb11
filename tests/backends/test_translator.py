"""The translator of the library: requests written and answers read, without any connection."""

from __future__ import annotations

import doctest
import json

import pytest

import clew
from clew.backends import translator
from clew.errors import BackendRejected, SettingsInvalid
from clew.model.json import JsonObject
from clew.wire.events import decode_event
from clew.wire.sse import SseReader
from tests.build import assistant, thinking, tool_result, tool_use, user

ANSWER = {"role": "assistant", "content": "Yes.", "reasoning_content": "Hm."}
WHOLE = json.dumps({"choices": [{"index": 0, "message": ANSWER, "finish_reason": "stop"}]}).encode()
STREAM = (
    b'data: {"choices":[{"index":0,"delta":{"reasoning_content":"Hm."}}]}\n\n'
    b'data: {"choices":[{"index":0,"delta":{"content":"Yes."},"finish_reason":"stop"}]}\n\n'
    b"data: [DONE]\n\n"
)


def test_its_example_is_true() -> None:
    assert doctest.testmod(translator).failed == 0


def test_a_stream_and_a_whole_answer_say_the_same() -> None:
    streamed, told = clew.Assembler(), clew.Translator(model="m")
    for event in SseReader().feed(told.feed(STREAM) + told.flush()):
        streamed.feed(decode_event(event))
    message = clew.Translator(model="m").message(WHOLE)
    assert streamed.message() == message
    assert message["content"] == [
        {"type": "thinking", "thinking": "Hm.", "signature": '{"field":"reasoning_content"}'},
        {"type": "text", "text": "Yes."},
    ]


def test_what_it_gave_goes_back_in_the_field_in_which_it_came() -> None:
    own = thinking("Hm.", '{"field":"reasoning"}')
    body: JsonObject = {
        "model": "m",
        "max_tokens": 10,
        "messages": [user("Go."), assistant(own, tool_use("a")), user(tool_result("a"))],
    }
    sent = json.loads(clew.Translator(backend="groq").request(body).body)
    assert sent["messages"][1]["reasoning"] == "Hm."


def test_an_error_is_said_in_anthropics_words() -> None:
    body = b'{"error":{"message":"This model\'s maximum context length is 100 tokens. However, you requested 120 tokens."}}'
    with pytest.raises(BackendRejected, match="prompt is too long: 120 tokens > 100 maximum"):
        clew.Translator().message(body, 400)


def test_a_backend_that_nobody_knows_is_named_with_those_that_there_are() -> None:
    with pytest.raises(SettingsInvalid, match=r"nothing is known of a backend 'nobody'.*openrouter"):
        clew.Translator(backend="nobody")
