"""The translator of the library: requests written and answers read, without any connection."""

from __future__ import annotations

import doctest
import json
from typing import Any

import pytest

import clew
from clew.errors import BackendRejected, SettingsInvalid
from clew.model.json import JsonObject
from clew.pipeline import translator as module
from clew.wire.events import decode_event
from clew.wire.sse import SseReader
from tests.build import Json, assistant, thinking, tool_result, tool_use, user
from tests.manifest import proves, public

ANSWER = {"role": "assistant", "content": "Yes.", "reasoning_content": "Hm."}
WHOLE = json.dumps({"choices": [{"index": 0, "message": ANSWER, "finish_reason": "stop"}]}).encode()
STREAM = (
    b'data: {"choices":[{"index":0,"delta":{"reasoning_content":"Hm."}}]}\n\n'
    b'data: {"choices":[{"index":0,"delta":{"content":"Yes."},"finish_reason":"stop"}]}\n\n'
    b"data: [DONE]\n\n"
)


def test_its_example_is_true() -> None:
    assert doctest.testmod(module).failed == 0


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


SECRET = b"a secret of thirty-two bytes, or more"
ASKED: Json = {"model": "claude-opus-5-5", "max_tokens": 10, "messages": [user("Go.")]}


def told_by(translator: clew.Translator) -> list[Json]:
    sent = translator.begin() + translator.feed(STREAM) + translator.flush()
    return [json.loads(line[6:]) for line in sent.decode().splitlines() if line.startswith("data: ")]


@public("library")
@proves("req:S3-1", "req:S3-6", "req:S3-16", "req:S3-17", "req:S3-31")
def test_it_can_start_eagerly_and_leave_signatures_empty() -> None:
    told = told_by(clew.Translator(start="eager", signature="empty"))
    assert [(each["type"], each.get("index")) for each in told] == [
        ("message_start", None),
        ("content_block_start", 0),
        ("ping", None),
        ("content_block_stop", 0),
        ("content_block_start", 1),
        ("content_block_delta", 1),
        ("content_block_stop", 1),
        ("content_block_start", 2),
        ("content_block_delta", 2),
        ("content_block_stop", 2),
        ("message_delta", None),
        ("message_stop", None),
    ]
    assert told[4]["content_block"] == {"type": "thinking", "thinking": "", "signature": ""}


@public("library")
@proves("req:S3-15")
def test_content_that_comes_first_goes_into_the_eager_block() -> None:
    translator = clew.Translator(start="eager")
    sent = translator.feed(STREAM.partition(b"\n\n")[2]) + translator.flush()
    assert [line for line in sent.decode().splitlines() if "content_block_start" in line and "data" in line] == [
        'data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}'
    ]


@public("library")
@proves("req:S3-32", "req:S3-33", "req:S3-34")
def test_a_seal_comes_just_before_the_stop_goes_back_to_its_maker_and_to_nobody_else() -> None:
    """A stream and a whole answer have the same seal; one changed letter breaks it."""
    translator = clew.Translator(backend="groq", signature="seal", secret=SECRET)
    told = told_by(translator)
    at = next(place for place, each in enumerate(told) if each["type"] == "content_block_stop")
    seal = told[at - 1]["delta"]["signature"]
    assert seal.startswith("clew1.")
    whole: Json = clew.Translator(backend="groq", signature="seal", secret=SECRET).message(WHOLE)
    assert whole["content"][0]["signature"] == seal

    def sent_to(backend: str, text: str) -> tuple[object, list[str]]:
        reader = clew.Translator(backend=backend, signature="seal", secret=SECRET)
        history = [user("Go."), assistant(thinking(text, seal), tool_use("a")), user(tool_result("a"))]
        asked: Json = {**ASKED, "messages": history}
        written = reader.request(asked)
        return json.loads(written.body)["messages"][1].get("reasoning_content"), [each.what for each in written.changes]

    assert sent_to("groq", "Hm.") == ("Hm.", [])
    assert sent_to("groq", "Hm!") == (None, ["left out"])
    assert sent_to("openrouter", "Hm.") == (None, ["left out"])
    claude = clew.Target(
        backend="c", model="claude-opus-5-5", profile=clew.profile_for("claude-opus-5-5"), realm="anthropic"
    )
    history = [user("Go."), assistant(thinking("Hm.", seal), {"type": "text", "text": "Yes."}), user("And?")]
    asked: Json = {**ASKED, "messages": history}
    projected = clew.project(asked, claude)
    assert [(each.path, each.what) for each in projected.changes] == [("messages.1.content.0", "left out")]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"signature": "seal"}, "a seal needs a secret of 32 bytes or more, not 0"),
        ({"signature": "sealed"}, "signature is 'plain', 'seal' or 'empty', not 'sealed'"),
        ({"start": "soon"}, "start is 'lazy' or 'eager', not 'soon'"),
    ],
)
def test_options_that_say_nothing_are_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(SettingsInvalid, match=says):
        clew.Translator(**options)


def test_an_error_is_said_in_anthropics_words() -> None:
    body = b'{"error":{"message":"This model\'s maximum context length is 100 tokens. However, you requested 120 tokens."}}'
    with pytest.raises(BackendRejected, match="prompt is too long: 120 tokens > 100 maximum"):
        clew.Translator().message(body, 400)


def test_a_backend_that_nobody_knows_is_named_with_those_that_there_are() -> None:
    with pytest.raises(SettingsInvalid, match=r"there is no known backend 'nobody'.*openrouter"):
        clew.Translator(backend="nobody")
