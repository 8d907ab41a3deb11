"""Answers for clients of the Responses API: streams as the official clients put them together, whole answers, errors."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw, structs

from clew.dialects.openai.errors import write_error
from clew.dialects.openai_responses.answers import write_answer
from clew.dialects.openai_responses.detail import DIALECT_NAME, ClientTool, ResponsesDetail
from clew.dialects.openai_responses.endings import is_told_in_stream
from clew.dialects.openai_responses.stream_writer import ResponsesStreamWriter
from clew.dialects.shape import AnswerContext, SentEvents
from clew.errors import StreamIllegal
from clew.model.events import (
    BlockDelta,
    BlockStart,
    BlockStop,
    Event,
    MessageDelta,
    MessageStart,
    MessageStop,
    Ping,
    StreamFailed,
)
from clew.model.failure import Failure
from clew.model.http import Wait
from clew.model.json import JsonObject
from clew.model.request import NativeRequest
from clew.model.unfold import events_of
from tests.counts import examples
from tests.dialects.openai_responses.accumulate import ApiError, accumulated, events_in
from tests.manifest import proves

CONTEXT = AnswerContext(model="claude-x", message_id="msg_ex1", created=1700000000)
USAGE: JsonObject = {
    "input_tokens": 3,
    "cache_creation_input_tokens": 1,
    "cache_read_input_tokens": 2,
    "output_tokens": 5,
    "output_tokens_details": {"thinking_tokens": 4},
}
THINKING: JsonObject = {"type": "thinking", "thinking": "Let me see.", "signature": "SEAL"}
CALLS: list[JsonObject] = [
    {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"q": [1, "é"]}},
    {"type": "tool_use", "id": "toolu_2", "name": "g", "input": {}},
]


def text(words: str) -> JsonObject:
    return {"type": "text", "text": words}


def message(*blocks: JsonObject, stop: str = "end_turn", **more: Any) -> JsonObject:
    head: JsonObject = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x"}
    return {**head, "content": list(blocks), "stop_reason": stop, "stop_sequence": None, "usage": USAGE, **more}


def fresh(context: AnswerContext = CONTEXT) -> AnswerContext:
    """The same before anything was sent."""
    return structs.replace(context, sent=SentEvents())


def asking(**detail: Any) -> AnswerContext:
    return fresh(
        structs.replace(CONTEXT, native=NativeRequest(dialect=DIALECT_NAME, raw=b"{}", detail=ResponsesDetail(**detail)))
    )


def written(events: list[Event], context: AnswerContext | None = None) -> bytes:
    return b"".join(map(ResponsesStreamWriter(context or fresh()).write, events))


def streamed(told: JsonObject, context: AnswerContext | None = None) -> Any:
    return accumulated(written(list(events_of(told, chunk=3)), context))


def test_a_stream_is_put_together_by_the_official_clients() -> None:
    told = message(THINKING, text("I call."), *CALLS, text("Done."), stop="tool_use")
    found = streamed(told)

    assert (found["id"], found["status"], found["model"], found["created_at"]) == (
        "resp_ex1",
        "completed",
        "claude-x",
        1700000000,
    )
    assert [(item["id"], item["type"], item["status"]) for item in found["output"]] == [
        ("rs_ex1_0", "reasoning", "completed"),
        ("msg_ex1_1", "message", "completed"),
        ("fc_ex1_2", "function_call", "completed"),
        ("fc_ex1_3", "function_call", "completed"),
        ("msg_ex1_4", "message", "completed"),
    ]
    thought, said, first, second, _ = found["output"]
    assert thought["summary"] == [{"type": "summary_text", "text": "Let me see."}]
    assert thought["encrypted_content"] == "SEAL"
    assert said["content"] == [{"type": "output_text", "text": "I call.", "annotations": [], "logprobs": []}]
    assert (first["call_id"], first["name"], json.loads(first["arguments"])) == ("toolu_1", "f", {"q": [1, "é"]})
    assert second["arguments"] == "{}"
    assert found["usage"] == {
        "input_tokens": 6,
        "input_tokens_details": {"cached_tokens": 2, "cache_write_tokens": 1},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 4},
        "total_tokens": 11,
    }


@pytest.mark.parametrize(
    ("block", "proof"),
    [
        ({"type": "redacted_thinking", "data": "RED"}, "RED"),
        ({"type": "thinking", "thinking": "", "signature": "SEAL"}, "SEAL"),
        ({"type": "thinking", "thinking": "", "signature": ""}, None),
    ],
    ids=["redacted", "omitted", "nothing"],
)
def test_a_thought_without_words_is_an_item_without_summary(block: JsonObject, proof: str | None) -> None:
    item = streamed(message(block, text("Hi")))["output"][0]
    assert (item["type"], item["summary"], item["encrypted_content"]) == ("reasoning", [], proof)


def test_neighbouring_texts_are_parts_of_one_message() -> None:
    found = streamed(message(text("one"), text("two"), CALLS[0], text("three")))
    assert [[part["text"] for part in item.get("content", [])] for item in found["output"]] == [
        ["one", "two"],
        [],
        ["three"],
    ]


def test_calls_come_back_as_the_tools_that_the_client_offered() -> None:
    tools = {"functions__exec": ClientTool("custom", "functions", "exec"), "ns__f": ClientTool("function", "ns", "f")}
    calls: list[JsonObject] = [
        {"type": "tool_use", "id": "toolu_1", "name": "functions__exec", "input": {"input": 'say "é"\n'}},
        {"type": "tool_use", "id": "toolu_2", "name": "ns__f", "input": {"a": 1}},
    ]
    custom, function = streamed(message(*calls, stop="tool_use"), asking(tools=tools))["output"]

    assert custom == {
        "id": "ctc_ex1_0",
        "type": "custom_tool_call",
        "status": "completed",
        "call_id": "toolu_1",
        "name": "exec",
        "namespace": "functions",
        "input": 'say "é"\n',
    }
    assert (function["name"], function["namespace"], function["arguments"]) == ("f", "ns", '{"a":1}')


def test_a_tool_that_is_called_without_its_namespace_is_the_one_of_that_name() -> None:
    """Where two have the name, nobody knows which is meant."""
    tools = {
        "functions__exec": ClientTool("custom", "functions", "exec"),
        "a__f": ClientTool("function", "a", "f"),
        "b__f": ClientTool("function", "b", "f"),
    }
    calls: list[JsonObject] = [
        {"type": "tool_use", "id": "toolu_1", "name": "exec", "input": {"input": "ls"}},
        {"type": "tool_use", "id": "toolu_2", "name": "f", "input": {}},
    ]
    custom, unclear = streamed(message(*calls, stop="tool_use"), asking(tools=tools))["output"]

    assert (custom["type"], custom["namespace"], custom["input"]) == ("custom_tool_call", "functions", "ls")
    assert (unclear["type"], unclear["name"], "namespace" in unclear) == ("function_call", "f", False)


@pytest.mark.parametrize(
    ("given", "text_of_call"),
    [
        ({"input": "x", "why": "y"}, "x"),
        ({"input": 3}, '{"input":3}'),
        ({"code": "x"}, '{"code":"x"}'),
        ({}, ""),
    ],
    ids=["more members", "no text", "another member", "nothing"],
)
def test_a_custom_tool_gets_one_text_whatever_the_model_gave(given: JsonObject, text_of_call: str) -> None:
    block: JsonObject = {"type": "tool_use", "id": "toolu_1", "name": "exec", "input": given}
    item = streamed(message(block), asking(tools={"exec": ClientTool("custom", "", "exec")}))["output"][0]
    assert (item["type"], item["input"]) == ("custom_tool_call", text_of_call)


def test_citations_with_an_address_are_annotations_and_others_are_reported() -> None:
    heard: list[str] = []
    citations: list[Any] = [
        {"type": "web_search_result_location", "url": "http://a", "title": "A", "cited_text": "x"},
        {"type": "char_location", "document_index": 0, "cited_text": "x"},
    ]
    context = structs.replace(fresh(), unsaid=heard.append)
    found = streamed(message({"type": "text", "text": "Hi", "citations": citations}), context)

    assert found["output"][0]["content"][0]["annotations"] == [
        {"type": "url_citation", "url": "http://a", "title": "A", "start_index": 0, "end_index": 2}
    ]
    assert heard == ["citations_delta"]


def test_a_compaction_is_announced_at_once_and_has_its_seal_in_the_end() -> None:
    block: JsonObject = {"type": "compaction", "content": None}
    delta: JsonObject = {"type": "compaction_delta", "content": None, "encrypted_content": "SEAL"}
    opening = message()
    begun = [MessageStart({**opening, "content": []}), BlockStart(0, block)]
    rest = [BlockDelta(0, delta), BlockStop(0), MessageDelta({"stop_reason": "end_turn"}), MessageStop()]
    writer = ResponsesStreamWriter(fresh())
    first = b"".join(map(writer.write, begun))

    assert events_in(first)[-1]["item"] == {"id": "cmp_ex1_0", "type": "compaction", "encrypted_content": ""}
    found = accumulated(first + b"".join(map(writer.write, rest)))
    assert found["output"] == [{"id": "cmp_ex1_0", "type": "compaction", "encrypted_content": "SEAL"}]


def test_blocks_that_have_no_item_are_reported() -> None:
    heard: list[str] = []
    block: JsonObject = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}}
    found = streamed(message(block, text("Hi")), structs.replace(fresh(), unsaid=heard.append))

    assert [item["type"] for item in found["output"]] == ["message"]
    assert heard == ["server_tool_use"]


CODEX = {"client_metadata": Raw(b"{}")}


@pytest.mark.parametrize(
    ("stop", "status", "reason", "codex"),
    [
        ("end_turn", "completed", None, "completed"),
        ("stop_sequence", "completed", None, "completed"),
        ("tool_use", "completed", None, "completed"),
        ("max_tokens", "incomplete", "max_output_tokens", "completed"),
        ("model_context_window_exceeded", "incomplete", "max_output_tokens", "completed"),
        ("refusal", "incomplete", "content_filter", "completed"),
    ],
)
def test_each_stop_reason_has_its_status(stop: str, status: str, reason: str | None, codex: str) -> None:
    """Codex takes an incomplete response for a turn that failed."""
    told = message(text("x"), stop=stop)
    for found in (streamed(told), json.loads(write_answer(told, CONTEXT))):
        assert found["status"] == status
        assert (found["incomplete_details"] or {}).get("reason") == reason
        assert "end_turn" not in found
    assert streamed(told, asking(fields=CODEX))["status"] == codex


def test_a_pause_is_complete_and_asks_to_go_on() -> None:
    assert streamed(message(text("x"), stop="pause_turn"))["end_turn"] is False


def test_half_a_call_is_never_done() -> None:
    """`max_tokens` inside a call: its block has no stop. Codex must not run it either."""
    whole = list(events_of(message(text("x"), CALLS[0], stop="max_tokens"), chunk=4))
    cut = [*whole[:6], *whole[-2:]]
    for context in (fresh(), asking(fields=CODEX)):
        stream = written(cut, context)
        found = accumulated(stream)
        assert (found["status"], found["output"][1]["status"]) == ("incomplete", "incomplete")
        done = [each["item"]["type"] for each in events_in(stream) if each["type"] == "response.output_item.done"]
        assert done == ["message"]


def test_half_a_text_is_told_as_far_as_it_came() -> None:
    whole = list(events_of(message(text("some words"), stop="max_tokens"), chunk=4))
    found = accumulated(written([*whole[:3], *whole[-2:]]))
    assert found["output"][0]["content"][0]["text"] == "some"


def test_usage_that_nobody_counted_is_null() -> None:
    found = streamed(message(text("x"), usage={"input_tokens": 3, "output_tokens": 5, "output_tokens_estimated": True}))
    assert found["usage"] is None


def test_the_response_repeats_the_request() -> None:
    fields = {
        "instructions": Raw(b'"Be brief."'),
        "tools": Raw(b'[{"type":"function","name":"f"}]'),
        "temperature": Raw(b"null"),
        "store": Raw(b"false"),
        "unknown": Raw(b"1"),
    }
    found = streamed(message(text("x")), asking(fields=fields))

    assert (found["instructions"], found["tools"], found["store"]) == (
        "Be brief.",
        [{"type": "function", "name": "f"}],
        False,
    )
    assert found["temperature"] == 1.0
    assert "unknown" not in found


@proves("case:118")
def test_a_whole_answer_is_the_response_of_the_stream() -> None:
    told = message(THINKING, {"type": "redacted_thinking", "data": "RED"}, text("Hi"), *CALLS, stop="tool_use")
    assert json.loads(write_answer(told, CONTEXT)) == streamed(told)


def test_nothing_is_written_before_there_is_something_to_say() -> None:
    """So that another backend can be asked, and no number is lost."""
    context = fresh()
    start = MessageStart({**message(), "content": []})
    assert written([start, Ping()], context) == b""
    assert context.sent.count == 0

    stream = written([start, *list(events_of(message(text("Hi")), chunk=9))[1:]], context)
    assert accumulated(stream)["output"][0]["content"][0]["text"] == "Hi"


def test_keep_alives_are_numbered_and_come_behind_the_opening() -> None:
    context = fresh()
    alive = ResponsesStreamWriter(context)
    events = list(events_of(message(text("Hi there")), chunk=3))
    other = ResponsesStreamWriter(context)
    stream = alive.keep_alive() + alive.keep_alive()
    for event in events:
        stream += other.write(event) + alive.keep_alive()

    assert [each["type"] for each in events_in(stream)[:4]] == [
        "response.created",
        "response.in_progress",
        "keepalive",
        "keepalive",
    ]
    assert accumulated(stream)["status"] == "completed"


def test_a_break_is_told_in_both_forms_and_then_as_a_failed_response() -> None:
    begun = list(events_of(message(CALLS[0], stop="tool_use"), chunk=4))[:3]
    failed = StreamFailed({"type": "overloaded_error", "message": "Overloaded"}, status=529)
    stream = written([*begun, failed])

    with pytest.raises(ApiError, match="Overloaded"):
        accumulated(stream)
    error, last = events_in(stream)[-2:]
    assert error["error"] == {
        "message": "Overloaded",
        "type": "server_error",
        "param": None,
        "code": "server_is_overloaded",
    }
    assert last["type"] == "response.failed"
    assert last["response"]["error"] == {"code": "server_is_overloaded", "message": "Overloaded"}
    assert last["response"]["status"] == "failed"
    assert b"output_item.done" not in stream


@proves("case:103")
@pytest.mark.parametrize(
    ("kind", "status", "words", "code"),
    [
        ("invalid_request_error", 400, "prompt is too long: 3 tokens > 2 maximum", "context_length_exceeded"),
        ("invalid_request_error", 400, "bad", "invalid_prompt"),
        ("authentication_error", 401, "bad", "invalid_prompt"),
        ("billing_error", 402, "bad", "insufficient_quota"),
        ("rate_limit_error", 429, "bad", "rate_limit_exceeded"),
        ("overloaded_error", 529, "bad", "server_is_overloaded"),
        ("api_error", 500, "bad", "server_error"),
    ],
)
def test_a_failure_before_anything_was_said_has_the_code_that_clients_act_on(
    kind: str, status: int, words: str, code: str
) -> None:
    events = events_in(written([StreamFailed({"type": kind, "message": words}, status=status)]))
    assert [each["type"] for each in events] == ["response.created", "response.in_progress", "error", "response.failed"]
    assert events[-1]["response"]["error"]["code"] == code
    assert words in events[-1]["response"]["error"]["message"]


def test_how_long_to_wait_is_said_in_words() -> None:
    failed = StreamFailed({"type": "rate_limit_error", "message": "Slow."}, status=429, wait=Wait(1.5))
    assert "Please try again in 1.5s." in events_in(written([failed]))[-1]["response"]["error"]["message"]


def test_only_a_full_context_is_told_inside_a_stream() -> None:
    assert is_told_in_stream(Failure(400, "invalid_request_error", "prompt is too long: 3 tokens > 2 maximum"))
    assert not is_told_in_stream(Failure(400, "invalid_request_error", "bad"))


def test_an_error_in_a_body_has_openais_shape() -> None:
    body = json.loads(write_error(Failure(404, "not_found_error", "no such model"), "req_1"))
    assert body["error"] == {
        "message": "no such model",
        "type": "invalid_request_error",
        "param": None,
        "code": "model_not_found",
    }


def test_nothing_follows_the_end() -> None:
    context = fresh()
    writer = ResponsesStreamWriter(context)
    for event in events_of(message(text("Hi")), chunk=9):
        writer.write(event)

    assert writer.keep_alive() == b""
    assert ResponsesStreamWriter(context).keep_alive() == b""
    with pytest.raises(StreamIllegal):
        writer.write(MessageStop())


BLOCKS: list[JsonObject] = [
    THINKING,
    {"type": "redacted_thinking", "data": "RED"},
    {"type": "thinking", "thinking": "", "signature": "SEAL"},
    text("Hi é"),
    text("a\u2028b"),
    *CALLS,
    {"type": "tool_use", "id": "toolu_3", "name": "exec", "input": {"input": "x"}},
    {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}},
]
STOPS = ["end_turn", "tool_use", "max_tokens", "refusal", "pause_turn"]


@settings(max_examples=examples(36, soak=4000), deadline=None)
@given(st.lists(st.sampled_from(BLOCKS), max_size=8), st.sampled_from(STOPS), st.integers(1, 9))
def test_every_answer_is_a_stream_that_clients_can_read(blocks: list[JsonObject], stop: str, size: int) -> None:
    told = message(*blocks, stop=stop)
    context = asking(tools={"exec": ClientTool("custom", "", "exec")})
    found = accumulated(written(list(events_of(told, chunk=size)), context))

    assert found == json.loads(write_answer(told, fresh(context)))
    said = "".join(part["text"] for item in found["output"] for part in item.get("content", []))
    assert said == "".join(str(block["text"]) for block in blocks if block["type"] == "text")
