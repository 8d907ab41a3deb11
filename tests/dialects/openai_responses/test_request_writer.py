"""Requests for backends that speak the Responses API."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from clew.dialects.openai_responses.detail import detail_of
from clew.dialects.openai_responses.options import ResponsesOptions
from clew.dialects.openai_responses.request_client_items import ClientItems
from clew.dialects.openai_responses.requests import read_request, write_request
from clew.dialects.openai_responses.tools import canonical_name
from clew.dialects.shape import WrittenRequest
from clew.errors import RequestInvalid, Unrepresentable
from clew.model.blocks import made, signature_of
from clew.model.json import JsonObject
from clew.model.request import Request, blocks_of, with_blocks
from clew.wire.requests import parse

Json = dict[str, Any]
CAPTURES = sorted((Path(__file__).parents[2] / "fixtures" / "responses").glob("*.json"))
OPENAI = ResponsesOptions(
    system="developer", knob="responses", summary="auto", custom_tools=True, namespaces=True, own_items=True, phases=True
)
ITEM: JsonObject = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAAA=="}
TOOL: Json = {"name": "f", "description": "d", "input_schema": {"type": "object", "properties": {"q": {"type": "string"}}}}


def user(*blocks: Json | str) -> Json:
    return {
        "role": "user",
        "content": [{"type": "text", "text": each} if isinstance(each, str) else each for each in blocks],
    }


def said(*blocks: Json | str) -> Json:
    return {**user(*blocks), "role": "assistant"}


def thought(item: JsonObject | None = None, text: str = "", **more: Any) -> Json:
    payload = {"dialect": "openai-responses", "item": ITEM if item is None else item, **more}
    return {"type": "thinking", "thinking": text, "signature": signature_of(payload)}


def call(call_id: str = "c1", **given: Any) -> Json:
    return {"type": "tool_use", "id": call_id, "name": "f", "input": given}


def result(call_id: str = "c1", content: Any = "ok", **more: Any) -> Json:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def written(*messages: Json, options: ResponsesOptions | None = None, **fields: Any) -> WrittenRequest:
    document = {"model": "m", "max_tokens": 99, "messages": list(messages) or [user("Hi")], **fields}
    return write_request(parse(json.dumps(document).encode()), options or ResponsesOptions())


def body(*messages: Json, options: ResponsesOptions | None = None, **fields: Any) -> Json:
    return json.loads(written(*messages, options=options, **fields).body)


def items(*messages: Json, options: ResponsesOptions | None = None) -> list[Json]:
    return body(*messages, options=options)["input"]


def own(*given: Json, **fields: Any) -> Request:
    """A request of a client of this dialect."""
    return read_request(json.dumps({"model": "m", "input": list(given), **fields}).encode(), {})


def resent(request: Request, options: ResponsesOptions = OPENAI) -> Json:
    return json.loads(write_request(request, options).body)


def test_a_plain_request_keeps_nothing_at_the_vendor_and_asks_for_what_goes_back() -> None:
    assert body(system="Be brief.", stream=True, temperature=0.5) == {
        "model": "m",
        "instructions": "Be brief.",
        "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}],
        "max_output_tokens": 99,
        "temperature": 0.5,
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }


def test_an_answer_goes_back_as_the_items_that_it_was_in_their_order() -> None:
    second: JsonObject = {**ITEM, "id": "rs_2", "encrypted_content": "gB"}
    answer = said(thought(phase="commentary"), "So.", call("c1", q="x"), thought(second), call("c2"), "Done.")
    found = items(user("Hi"), answer, user(result("c1"), result("c2"), "and?"), options=OPENAI)
    assert found[1:] == [
        ITEM,
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "So."}],
            "phase": "commentary",
        },
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"q":"x"}'},
        second,
        {"type": "function_call", "call_id": "c2", "name": "f", "arguments": "{}"},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Done."}],
            "phase": "final_answer",
        },
        {"type": "function_call_output", "call_id": "c1", "output": "ok"},
        {"type": "function_call_output", "call_id": "c2", "output": "ok"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "and?"}]},
    ]


def test_neighbouring_texts_are_parts_of_one_message() -> None:
    [_, message] = items(user("Hi"), said("a", "b"))
    assert [part["text"] for part in message["content"]] == ["a", "b"]


@pytest.mark.parametrize(
    "block",
    [
        {"type": "thinking", "thinking": "Hm.", "signature": "EqQBCgIYAhIM"},
        {"type": "redacted_thinking", "data": "EqQB"},
        {"type": "thinking", "thinking": "Hm.", "signature": signature_of({"field": "reasoning_content"})},
    ],
)
def test_what_another_maker_thought_is_left_out(block: Json) -> None:
    done = written(user("Hi"), said(block, "So.", call()), user(result()), options=OPENAI)
    assert [item["type"] for item in json.loads(done.body)["input"]] == [
        *("message", "message", "function_call", "function_call_output"),
    ]
    assert all("id" not in item for item in json.loads(done.body)["input"])
    assert [(change.step, change.path) for change in done.changes] == [("thinking", "messages.1.content.0")]


@pytest.mark.parametrize(
    ("member", "item"),
    [
        ("content", {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm."}]}),
        ("summary", {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]}),
        ("encrypted_content", {"type": "reasoning", "summary": [], "encrypted_content": "Hm."}),
    ],
)
def test_a_backend_that_takes_text_gets_it_where_it_reads_it(member: Any, item: Json) -> None:
    block = {"type": "thinking", "thinking": "Hm.", "signature": ""}
    assert items(user("Hi"), said(block, "So."), options=ResponsesOptions(thought_text=member))[1] == item


def test_encrypted_content_does_not_go_to_a_backend_that_refuses_it() -> None:
    plain = ResponsesOptions(encrypted=False, thought_text="content")
    shown: JsonObject = {**ITEM, "content": [{"type": "reasoning_text", "text": "Hm."}]}
    assert "encrypted_content" not in items(user("Hi"), said(thought(shown), "So."), options=plain)[1]
    assert "include" not in body(options=plain)


def test_a_thought_that_nothing_follows_stays_out() -> None:
    done = written(user("Hi"), said("So.", thought()), user("on"))
    assert [item["role"] for item in json.loads(done.body)["input"]] == ["user", "assistant", "user"]
    assert [change.path for change in done.changes] == ["messages.1.content.1"]


def test_an_item_goes_once() -> None:
    found = items(user("Hi"), said(thought(), "a"), user("on"), said(thought(), "b"))
    assert [item.get("type") for item in found].count("reasoning") == 1


def test_an_id_is_never_empty_and_a_summary_is_always_there() -> None:
    item: JsonObject = {"type": "reasoning", "id": "", "encrypted_content": "x"}
    assert items(user("Hi"), said(thought(item), "a"))[1] == {"type": "reasoning", "summary": [], "encrypted_content": "x"}


@pytest.mark.parametrize(("missing", "text"), [("empty", ""), ("space", " ")])
def test_where_reasoning_is_needed_the_least_of_it_stands_for_what_is_missing(missing: Any, text: str) -> None:
    options = ResponsesOptions(missing=missing, thought_text="content")
    found = items(user("Hi"), said("So."), user("on"), said(call()), user(result()), options=options)
    assert [item.get("content") for item in found if item["type"] == "reasoning"] == [
        [{"type": "reasoning_text", "text": text}]
    ]


def test_a_call_whose_reasoning_is_lost_switches_thinking_off_where_the_row_says_so() -> None:
    options = structs.replace(OPENAI, missing="off")
    assert body(user("Hi"), said(call()), user(result()), options=options)["reasoning"] == {"effort": "none"}


def test_a_long_id_is_shortened_in_the_same_way_for_call_and_output() -> None:
    found = items(user("Hi"), said(call("x" * 90)), user(result("x" * 90)))
    assert found[1]["call_id"] == found[2]["call_id"]
    assert len(found[1]["call_id"]) <= 64


def test_results_with_images_failures_and_nothing() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}}
    shown = [{"type": "text", "text": "see"}, image]
    answer = said(call("c1"), call("c2"), call("c3"))
    found = items(user("Hi"), answer, user(result("c1", shown), result("c2", "no", is_error=True), result("c3", [])))
    assert [each["output"] for each in found[4:]] == [
        [{"type": "input_text", "text": "see"}, {"type": "input_image", "image_url": "data:image/png;base64,AA"}],
        "Error: no",
        "",
    ]


def test_images_of_results_follow_where_an_output_takes_none() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}}
    found = items(user("Hi"), said(call()), user(result("c1", [image])), options=ResponsesOptions(tool_images=False))
    assert found[2]["output"] == "[Image 1 of this result follows in the next message.]"
    assert [part["type"] for part in found[3]["content"]] == ["input_text", "input_image"]


def test_system_messages_stay_in_place() -> None:
    late = {"role": "system", "content": [{"type": "text", "text": "late"}]}
    assert [item["role"] for item in items(user("Hi"), late, options=OPENAI)] == ["user", "developer"]
    [_, told] = items(user("Hi"), late, options=ResponsesOptions(late_system="user"))
    assert told["content"][0]["text"] == "<system-message>\nlate\n</system-message>"


def test_cache_marks_become_breakpoints_where_the_model_takes_them() -> None:
    marked = {"type": "text", "text": "long", "cache_control": {"type": "ephemeral", "ttl": "1h"}}
    options = structs.replace(OPENAI, cache_marks=1)
    done = written(user(marked), user(marked), options=options, system=[marked])
    parts = [item["content"][0].get("prompt_cache_breakpoint") for item in json.loads(done.body)["input"]]
    assert parts == [{"mode": "explicit", "ttl": "12h"}, None, None]
    assert len(done.changes) == 2
    assert [change.path for change in written(user(marked)).changes] == ["messages.0.content.0.cache_control"]


@pytest.mark.parametrize(
    ("fields", "sent"),
    [
        ({}, {"summary": "auto"}),
        ({"thinking": {"type": "disabled"}}, {"effort": "none"}),
        ({"thinking": {"type": "adaptive", "display": "omitted"}, "output_config": {"effort": "low"}}, {"effort": "low"}),
        ({"thinking": {"type": "enabled", "budget_tokens": 20_000}}, {"effort": "high", "summary": "auto"}),
    ],
)
def test_how_much_to_think_and_what_is_shown(fields: Json, sent: Json) -> None:
    assert body(options=OPENAI, **fields).get("reasoning") == sent


def test_tools_are_functions_that_are_not_strict() -> None:
    sent = body(tools=[TOOL], tool_choice={"type": "tool", "name": "f", "disable_parallel_tool_use": True})
    assert sent["tools"] == [
        {"type": "function", "name": "f", "description": "d", "parameters": TOOL["input_schema"], "strict": False}
    ]
    assert (sent["tool_choice"], sent["parallel_tool_calls"]) == ({"type": "function", "name": "f"}, False)


def test_what_this_api_does_not_have_is_named() -> None:
    done = written(top_k=5, stop_sequences=["x"], metadata={"user_id": "u"}, options=structs.replace(OPENAI, sampling=False))
    assert [change.path for change in done.changes] == ["top_k", "stop_sequences", "metadata.user_id"]
    assert body(metadata={"user_id": "u"}, options=ResponsesOptions(user="safety_identifier"))["safety_identifier"] == "u"


def test_the_length_of_an_answer_within_what_the_backend_takes() -> None:
    assert body(options=ResponsesOptions(least_tokens=200))["max_output_tokens"] == 200
    assert body(options=ResponsesOptions(most_tokens=50))["max_output_tokens"] == 50


def test_a_schema_for_the_answer() -> None:
    schema = {"type": "object", "properties": {}, "additionalProperties": False, "required": []}
    sent = body(output_config={"format": {"type": "json_schema", "schema": schema}})
    assert sent["text"]["format"] == {"type": "json_schema", "name": "answer", "schema": schema, "strict": True}


def test_what_only_anthropic_runs_is_refused() -> None:
    with pytest.raises(Unrepresentable):
        written(tools=[{"type": "web_search_20250305", "name": "web_search"}])
    with pytest.raises(RequestInvalid):
        written({"role": "tool", "content": "x"})


def test_a_request_that_goes_on_has_items_that_go_on() -> None:
    turns = [user("Hi"), said(thought(), "a", call()), user(result()), said("b"), user("on"), said("c", call("c2"))]
    lists = [items(*turns[: at + 1], options=OPENAI) for at in range(len(turns))]
    for shorter, longer in pairwise(lists):
        assert longer[: len(shorter)] == shorter


# The client speaks this dialect too.


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_what_nobody_touched_goes_as_the_clients_bytes(path: Path) -> None:
    raw = json.dumps(json.loads(path.read_text())["body"], ensure_ascii=False, indent=1).encode()
    request = read_request(raw, {})
    if any(name in path.stem for name in ("namespace_calls", "odd_items", "view_image", "remote_compaction_v2")):
        return  # ids without their thoughts, thoughts without their proof, a trigger
    assert write_request(request, structs.replace(OPENAI, knob="", summary="as asked")).body == raw


def test_a_form_that_others_do_not_have_passes_to_a_backend_of_this_dialect() -> None:
    text = {"format": {"type": "json_object"}, "verbosity": "low"}
    assert resent(own({"role": "user", "content": "Hi"}, text=text))["text"] == text


def test_only_what_must_change_is_replaced() -> None:
    request = own({"role": "user", "content": "Hi"}, store=True, service_tier="flex", previous_response_id=None)
    renamed = request.with_fields(model="other")
    sent = write_request(renamed, ResponsesOptions()).body
    expected = b'{"model": "other", "input": [{"role": "user", "content": "Hi"}], "store": false, "service_tier": "flex", '
    assert sent == expected + b'"previous_response_id": null,"include":["reasoning.encrypted_content"]}'


def test_an_opened_thought_takes_the_place_of_its_seal_and_its_neighbours_lose_their_ids() -> None:
    sealed = {"type": "reasoning", "id": "rs_x_0", "summary": [], "encrypted_content": "clew2.abc"}
    spoken = {"type": "message", "id": "msg_x_1", "role": "assistant", "content": [{"type": "output_text", "text": "So."}]}
    broken = {"type": "function_call", "id": "fc_x_2", "call_id": "c1", "name": "f", "arguments": '{"cmd": "ec'}
    output = {"type": "function_call_output", "id": "fco_1", "call_id": "c1", "output": "bad"}
    request = own({"role": "user", "content": "Hi"}, sealed, {**spoken, "phase": "commentary"}, broken, output)
    answer = request.messages[1]
    call_block = {"type": "tool_use", "id": "call_own", "name": "f", "input": {"arguments": '{"cmd": "ec'}}
    opened = with_blocks(answer, (made(thought()), blocks_of(answer)[1], made(call_block)))
    sent = resent(request.with_messages((request.messages[0], opened, request.messages[2])))["input"]
    assert sent == [
        {"role": "user", "content": "Hi"},
        ITEM,
        {key: value for key, value in {**spoken, "phase": "commentary"}.items() if key != "id"},
        {key: value for key, value in {**broken, "call_id": "call_own"}.items() if key != "id"},
        output,
    ]


def test_a_seal_never_reaches_a_backend() -> None:
    sealed = {"type": "reasoning", "id": "rs_x_0", "summary": [{"type": "summary_text", "text": "Hm."}]}
    request = own(
        {"role": "user", "content": "Hi"},
        {**sealed, "encrypted_content": "clew2.abc"},
        {"role": "assistant", "content": "a"},
    )
    for options in (OPENAI, ResponsesOptions(thought_text="content"), ResponsesOptions(thought_text="encrypted_content")):
        assert b"clew2" not in write_request(request, options).body


MIXED = [
    {"type": "custom", "name": "exec"},
    {"type": "namespace", "name": "ns", "tools": [{"type": "function", "name": "g", "parameters": None}]},
    {"type": "web_search"},
]
CALLS = (
    {"role": "user", "content": "Hi"},
    {"type": "custom_tool_call", "call_id": "c1", "name": "exec", "input": "ls"},
    {"type": "function_call", "call_id": "c2", "name": "g", "namespace": "ns", "arguments": "{}"},
    {"type": "web_search_call", "id": "ws_1", "status": "completed"},
    {"type": "custom_tool_call_output", "call_id": "c1", "output": "a"},
    {"type": "function_call_output", "call_id": "c2", "output": "b"},
)


def test_tools_of_all_kinds_go_as_they_are_where_the_backend_knows_them() -> None:
    sent = resent(own(*CALLS, tools=MIXED))
    assert (sent["tools"], sent["input"]) == (MIXED, list(CALLS))


def test_a_backend_that_knows_functions_alone_gets_functions() -> None:
    done = write_request(own(*CALLS, tools=MIXED), ResponsesOptions())
    sent = json.loads(done.body)
    assert [(tool["type"], tool["name"]) for tool in sent["tools"]] == [("function", "exec"), ("function", "ns__g")]
    assert sent["input"][1:] == [
        {"type": "function_call", "call_id": "c1", "name": "exec", "arguments": '{"input":"ls"}'},
        {"type": "function_call", "call_id": "c2", "name": "ns__g", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "a"},
        {"type": "function_call_output", "call_id": "c2", "output": "b"},
    ]
    assert [change.path for change in done.changes] == ["input.3", "tools"]


def test_a_configuration_update_passes_or_holds_for_the_whole_request() -> None:
    update = {"type": "configuration_update", "reasoning": {"effort": "high"}}
    request = own({"role": "user", "content": "Hi"}, update, reasoning={"effort": "low", "context": "all_turns"})
    sent = resent(request)
    assert (sent["input"][1], sent["reasoning"]["effort"]) == (update, "low")
    sent = resent(request, ResponsesOptions(knob="responses"))
    assert sent["reasoning"] == {"context": "all_turns", "effort": "high"}
    assert len(sent["input"]) == 1


def test_names_and_ids_that_are_too_long_or_have_other_characters_are_replaced_in_the_whole_request() -> None:
    """Claude takes 128 characters of a name, so a conversation that begins there must be able to go on elsewhere."""
    long, dotted, call_id = "n" * 90, "files.read", "c" * 90
    used = {"type": "function_call", "call_id": call_id, "name": long, "arguments": "{}"}
    answered = {"type": "function_call_output", "call_id": call_id, "output": "a"}
    tools = [{"type": "function", "name": name, "parameters": None} for name in (long, dotted)]
    request = own({"role": "user", "content": "Hi"}, used, answered, tools=tools)
    sent = json.loads(write_request(request, OPENAI).body)
    names = [tool["name"] for tool in sent["tools"]]
    assert [len(name) <= 64 and name.replace("_", "").isalnum() for name in names] == [True, True]
    assert sent["input"][1]["name"] == names[0]
    assert sent["input"][1]["call_id"] == sent["input"][2]["call_id"] != call_id
    detail, document = detail_of(request.source.native), request.source.raw
    came_back = [detail.client_tool(canonical_name(detail, "function", "", name, document)).name for name in names]
    assert came_back == [long, dotted]


def test_a_schema_that_cannot_be_enforced_stands_in_the_input_in_words() -> None:
    """A backend that promises JSON alone refuses a prompt that does not speak of it."""
    form = {"type": "json_schema", "name": "a", "schema": {"type": "object", "properties": {"q": {"type": "string"}}}}
    request = own({"role": "user", "content": "Hi"}, instructions="Be brief.", text={"format": form})
    sent = json.loads(write_request(request, ResponsesOptions(schema="json_object")).body)
    assert sent["text"] == {"format": {"type": "json_object"}}
    first, question = sent["input"]
    assert (first["role"], question) == ("developer", {"role": "user", "content": "Hi"})
    assert json.loads(first["content"][0]["text"].partition("\n")[2]) == form["schema"]
    assert sent["instructions"] == "Be brief."


def test_messages_that_go_as_they_came_are_not_read_again() -> None:
    """Outputs of tools are most of a long history."""
    used = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
    answered = {"type": "function_call_output", "call_id": "c1", "output": "a"}
    custom = [{**CALLS[1], "call_id": "c2"}, {**CALLS[4], "call_id": "c2"}]
    request = own({"role": "user", "content": "Hi"}, used, answered, *custom, tools=MIXED)
    client = ClientItems(request, detail_of(request.source.native), ids=True)
    takers = [[item.takes for item in client.of_untouched(message)] for message in request.messages]
    assert takers == [["all"], [], ["all"], [], ["tools as offered"]]
    sent = json.loads(write_request(request, ResponsesOptions()).body)["input"]
    assert [item.get("type", "message") for item in sent[-2:]] == ["function_call", "function_call_output"]
    altered = with_blocks(request.messages[2], (made(result("c1", "b")),))
    assert not client.of_untouched(altered)
