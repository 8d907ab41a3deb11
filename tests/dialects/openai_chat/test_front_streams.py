"""Answers for clients of Chat Completions: streams as the official clients put them together, whole answers, errors."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.dialects.openai.errors import write_error
from clew.dialects.openai_chat.answers import write_answer
from clew.dialects.openai_chat.detail import ChatDetail
from clew.dialects.openai_chat.streams import ChatStreamWriter
from clew.dialects.shape import AnswerContext
from clew.errors import StreamIllegal
from clew.model.change import Change
from clew.model.events import BlockStart, Event, MessageDelta, MessageStart, MessageStop, Ping, StreamFailed
from clew.model.failure import Failure
from clew.model.http import Wait
from clew.model.json import JsonObject
from clew.model.request import NativeRequest
from clew.model.unfold import events_of
from tests.counts import examples
from tests.dialects.openai_chat.accumulate import ApiError, chunks_of, joined, newest

CONTEXT = AnswerContext(model="claude-x", message_id="msg_1", created=1700000000)
USAGE: JsonObject = {
    "input_tokens": 3,
    "cache_creation_input_tokens": 1,
    "cache_read_input_tokens": 2,
    "output_tokens": 5,
    "output_tokens_details": {"thinking_tokens": 4},
}
CALLS: list[JsonObject] = [
    {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"q": [1, "é"]}},
    {"type": "tool_use", "id": "toolu_2", "name": "g", "input": {}},
]


def message(*blocks: JsonObject, stop: str = "end_turn") -> JsonObject:
    head: JsonObject = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x"}
    return {**head, "content": list(blocks), "stop_reason": stop, "stop_sequence": None, "usage": USAGE}


def written(events: list[Event], context: AnswerContext = CONTEXT) -> bytes:
    writer = ChatStreamWriter(context)
    return b"".join(map(writer.write, events))


def test_a_stream_is_put_together_by_the_official_clients() -> None:
    """Reasoning in pieces, text, two parallel calls, usage."""
    thinking: JsonObject = {"type": "thinking", "thinking": "Let me see.", "signature": "SIG"}
    told = message(thinking, {"type": "text", "text": "I call."}, *CALLS, stop="tool_use")
    stream = written(list(events_of(told, chunk=3)))
    chunks = chunks_of(stream)
    found = joined(chunks)

    assert stream.endswith(b"data: [DONE]\n\n")
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert {(chunk["id"], chunk["object"], chunk["model"], chunk["created"]) for chunk in chunks} == {
        ("chatcmpl-1", "chat.completion.chunk", "claude-x", 1700000000)
    }
    said = found["message"]
    assert (said["role"], said["content"], said["reasoning_content"], said["reasoning"]) == (
        "assistant",
        "I call.",
        "Let me see.",
        "Let me see.",
    )
    details = [
        {"type": "reasoning.text", "index": 0, "format": "anthropic-claude-v1", "text": "Let me see.", "signature": "SIG"}
    ]
    assert said["reasoning_details"] == details == newest(chunks, "reasoning_details")
    calls = [
        (call["id"], call["type"], call["function"]["name"], json.loads(call["function"]["arguments"]))
        for call in said["tool_calls"]
    ]
    assert calls == [("toolu_1", "function", "f", {"q": [1, "é"]}), ("toolu_2", "function", "g", {})]
    assert found["finish_reason"] == "tool_calls"
    assert found["usage"] == {
        "prompt_tokens": 6,
        "completion_tokens": 5,
        "total_tokens": 11,
        "prompt_tokens_details": {"cached_tokens": 2, "cache_write_tokens": 1},
        "completion_tokens_details": {"reasoning_tokens": 4},
    }


def test_without_being_asked_for_usage_the_last_chunk_has_the_finish_reason() -> None:
    native = NativeRequest(dialect="openai-chat", raw=b"", detail=ChatDetail(include_usage=False))
    quiet = AnswerContext(model="m", native=native)
    chunks = chunks_of(written(list(events_of(message({"type": "text", "text": "Hi"}), chunk=9)), quiet))

    assert chunks[-1]["choices"][0]["finish_reason"] == "stop"
    assert not any("usage" in chunk for chunk in chunks)


PATCHES: list[JsonObject] = [
    {"type": "tool_use", "id": "a", "name": "patch", "input": {"input": "*** Begin é"}},
    {"type": "tool_use", "id": "b", "name": "f", "input": {"q": 1}},
]


def context_of(detail: ChatDetail, reported: list[Change] | None = None) -> AnswerContext:
    native = NativeRequest(dialect="openai-chat", raw=b"", detail=detail)
    return AnswerContext(model="m", native=native, report=[].append if reported is None else reported.append)


def test_a_custom_tool_is_called_as_one() -> None:
    context = context_of(ChatDetail(custom_tools=frozenset({"patch"})))
    custom = {"id": "a", "type": "custom", "custom": {"name": "patch", "input": "*** Begin é"}}
    function = {"id": "b", "type": "function", "function": {"name": "f", "arguments": '{"q":1}'}}
    whole = json.loads(write_answer(message(*PATCHES, stop="tool_use"), context))
    assert whole["choices"][0]["message"]["tool_calls"] == [custom, function]
    chunks = chunks_of(written(list(events_of(message(*PATCHES, stop="tool_use"), chunk=3)), context))
    deltas = [call for chunk in chunks for each in chunk["choices"] for call in each["delta"].get("tool_calls", [])]
    assert deltas[0] == {"index": 0, "id": "a", "type": "custom", "custom": {"name": "patch", "input": ""}}
    assert deltas[1] == {"index": 0, "custom": {"input": "*** Begin é"}}
    assert deltas[2] == {"index": 1, "id": "b", "type": "function", "function": {"name": "f", "arguments": ""}}


def test_a_client_of_functions_gets_one_function_call() -> None:
    """Case 129."""
    reported: list[Change] = []
    context = context_of(ChatDetail(has_functions=True), reported)
    call = {"name": "patch", "arguments": '{"input":"*** Begin é"}'}
    whole = json.loads(write_answer(message(*PATCHES, stop="tool_use"), context))["choices"][0]
    assert (whole["message"]["function_call"], whole["finish_reason"]) == (call, "function_call")
    assert "tool_calls" not in whole["message"]
    chunks = chunks_of(written(list(events_of(message(*PATCHES, stop="tool_use"), chunk=3)), context))
    said = [each for chunk in chunks for each in chunk["choices"]]
    parts = [each["delta"]["function_call"] for each in said if "function_call" in each["delta"]]
    assert {"name": parts[0]["name"], "arguments": "".join([part["arguments"] for part in parts])} == call
    assert said[-1]["finish_reason"] == "function_call"
    assert [change.what for change in reported] == ["left out", "left out"]


@pytest.mark.parametrize(
    ("stop", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("pause_turn", "stop"),
        ("tool_use", "tool_calls"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "content_filter"),
    ],
)
def test_each_stop_reason_has_its_finish_reason(stop: str, finish: str) -> None:
    told = message({"type": "text", "text": "x"}, stop=stop)
    assert joined(chunks_of(written(list(events_of(told, chunk=9)))))["finish_reason"] == finish
    assert json.loads(write_answer(told, CONTEXT))["choices"][0]["finish_reason"] == finish


def test_a_break_ends_with_an_error_and_half_a_call_never_looks_whole() -> None:
    whole = list(events_of(message(CALLS[0], stop="tool_use"), chunk=4))
    begun = whole[:3]  # the message, the call, and a piece of its arguments
    stream = written([*begun, StreamFailed({"type": "overloaded_error", "message": "Overloaded"}, status=529)])

    assert b"[DONE]" not in stream
    assert b'"finish_reason":"' not in stream
    with pytest.raises(ApiError, match="Overloaded"):
        chunks_of(stream)
    call = joined(chunks_of(stream.rpartition(b"data: ")[0]))["message"]["tool_calls"][0]
    with pytest.raises(json.JSONDecodeError):
        json.loads(call["function"]["arguments"])


@pytest.mark.parametrize(
    "events",
    [
        [BlockStart(0, {"type": "text", "text": ""})],
        [MessageStart({"role": "assistant"}), MessageStop()],
        [MessageStart({"role": "assistant"}), MessageStart({"role": "assistant"})],
        [MessageStart({"role": "assistant"}), BlockStart(1, {"type": "text", "text": ""})],
        [StreamFailed({"type": "api_error", "message": "m"}), MessageStart({"role": "assistant"})],
    ],
)
def test_an_illegal_order_is_refused(events: list[Event]) -> None:
    with pytest.raises(StreamIllegal):
        written(events)


def test_a_ping_is_a_comment_that_clients_skip() -> None:
    stream = written([Ping(), MessageStart({"role": "assistant"}), Ping()])
    assert stream.count(b": keep-alive\n\n") == 2
    assert len(chunks_of(stream)) == 1


def test_what_has_no_words_is_reported() -> None:
    found: list[str] = []
    context = AnswerContext(model="m", unsaid=found.append)
    server: JsonObject = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"q": 1}}
    told = message(server, {"type": "text", "text": "x"})
    chunks = chunks_of(written(list(events_of(told, chunk=9)), context))

    assert joined(chunks)["message"]["content"] == "x"
    assert "tool_calls" not in joined(chunks)["message"]
    write_answer(told, context)
    assert found == ["server_tool_use"] * 2


@pytest.mark.parametrize(
    ("failure", "kind", "code", "words"),
    [
        (Failure(400, "invalid_request_error", "bad"), "invalid_request_error", None, "bad"),
        (
            Failure(400, "invalid_request_error", "prompt is too long: 9 > 8"),
            "invalid_request_error",
            "context_length_exceeded",
            "context window",
        ),
        (Failure(401, "authentication_error", "no"), "invalid_request_error", "invalid_api_key", "no"),
        (Failure(404, "not_found_error", "model: x"), "invalid_request_error", "model_not_found", "model: x"),
        (
            Failure(429, "rate_limit_error", "slow", Wait(1.5)),
            "requests",
            "rate_limit_exceeded",
            "slow Please try again in 1.5s.",
        ),
        (Failure(529, "overloaded_error", "busy"), "server_error", "server_is_overloaded", "busy"),
        (Failure(500, "api_error", "oh"), "server_error", None, "oh"),
    ],
)
def test_errors_have_the_types_and_codes_that_clients_know(
    failure: Failure, kind: str, code: str | None, words: str
) -> None:
    error = json.loads(write_error(failure, "req_1"))["error"]
    assert (error["type"], error["code"], error["param"]) == (kind, code, None)
    assert words in error["message"]


BLOCKS = st.lists(
    st.one_of(
        st.builds(lambda text: {"type": "text", "text": text}, st.text(min_size=1, max_size=20)),
        st.builds(
            lambda text, signature: {"type": "thinking", "thinking": text, "signature": signature},
            st.text(max_size=20),
            st.sampled_from(["", "SIG", "clew1.x"]),
        ),
        st.builds(lambda data: {"type": "redacted_thinking", "data": data}, st.text("abc", min_size=1)),
        st.builds(
            lambda value, name: {"type": "tool_use", "id": f"toolu_{name}", "name": name, "input": value},
            st.dictionaries(st.text("ab", max_size=3), st.one_of(st.integers(), st.text(max_size=5), st.none()), max_size=3),
            st.sampled_from(["f", "g"]),
        ),
    ),
    max_size=6,
)


@settings(max_examples=examples(36, soak=2000), deadline=None)
@given(BLOCKS, st.integers(1, 7))
def test_a_streamed_answer_adds_up_to_the_whole_one(blocks: list[Any], size: int) -> None:
    """Whatever it says: the official client's message is that of the same answer in one piece."""
    told = message(*blocks)
    streamed = joined(chunks_of(written(list(events_of(told, chunk=size)))))
    whole = json.loads(write_answer(told, CONTEXT))
    said = whole["choices"][0]["message"]

    assert streamed["message"]["content"] == (said["content"] or "")
    for name in ("reasoning_content", "reasoning_details"):
        assert streamed["message"].get(name) == said.get(name)
    calls = [{k: v for k, v in each.items() if k != "index"} for each in streamed["message"].get("tool_calls", [])]
    assert [_read(call) for call in calls] == [_read(call) for call in said.get("tool_calls", [])]
    assert streamed["usage"] == whole["usage"]


def _read(call: dict[str, Any]) -> tuple[Any, ...]:
    return call["id"], call["type"], call["function"]["name"], json.loads(call["function"]["arguments"])


def test_a_delta_without_a_stop_reason_does_not_end_the_answer() -> None:
    start = MessageStart({"role": "assistant"})
    stream = written([start, MessageDelta({"stop_reason": None}), MessageDelta({"stop_reason": "end_turn"}), MessageStop()])
    assert joined(chunks_of(stream))["finish_reason"] == "stop"
