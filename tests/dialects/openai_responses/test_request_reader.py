"""Requests of clients that speak the Responses API, as canonical requests."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from clew.dialects.openai.parameters import sent_name
from clew.dialects.openai_responses.detail import SYSTEM, ClientTool, ResponsesDetail, client_path, detail_of
from clew.dialects.openai_responses.request_reader import read_request, read_request_with, references_in
from clew.dialects.openai_responses.tools import canonical_name
from clew.dialects.optional import StoredItems, StoredReferences
from clew.errors import BodyTooLarge, RequestInvalid
from clew.model.blocks import payload_of
from clew.model.request import ALWAYS, NativeRequest, Request

Json = dict[str, Any]
CAPTURES = sorted((Path(__file__).parents[2] / "fixtures" / "responses").glob("*.json"))
FUNCTION: Json = {"type": "function", "name": "f", "description": "d", "parameters": {"type": "object"}, "strict": False}
CUSTOM: Json = {"type": "custom", "name": "exec", "format": {"type": "grammar", "syntax": "lark", "definition": "x"}}


def request(*items: Json, **fields: Any) -> Request:
    given = {"model": "m", "input": list(items) or "Hi", **fields}
    return read_request(json.dumps(given).encode(), {})


def read(*items: Json, **fields: Any) -> Json:
    return json.loads(request(*items, **fields).source.raw)


def messages(*items: Json) -> list[Json]:
    return read(*items)["messages"]


def native(*items: Json, **fields: Any) -> NativeRequest:
    found = request(*items, **fields).source.native
    assert found is not None
    return found


def paths(*items: Json, **fields: Any) -> list[str]:
    return [change.path for change in native(*items, **fields).changes]


def refused(*items: Json, **fields: Any) -> str:
    """The path of what was refused."""
    with pytest.raises(RequestInvalid) as caught:
        request(*items, **fields)
    return caught.value.path


def user(text: str) -> Json:
    return {"role": "user", "content": text}


def call(call_id: str, arguments: str = "{}", **more: Any) -> Json:
    return {"type": "function_call", "call_id": call_id, "name": "f", "arguments": arguments, **more}


def output(call_id: str, text: Any = "ok") -> Json:
    return {"type": "function_call_output", "call_id": call_id, "output": text}


def reasoning(proof: str | None, *texts: str) -> Json:
    summary = [{"type": "summary_text", "text": text} for text in texts]
    return {"type": "reasoning", "id": "rs_1", "summary": summary, "content": None, "encrypted_content": proof}


def test_a_plain_request() -> None:
    fields = {"max_output_tokens": 5, "temperature": 0.5, "top_p": 1, "stream": True, "user": "u"}
    assert read(**fields) == {
        "model": "m",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
        "max_tokens": 5,
        "temperature": 0.5,
        "top_p": 1,
        "stream": True,
        "metadata": {"user_id": "u"},
    }


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_what_real_clients_send_can_be_read(path: Path) -> None:
    raw = json.dumps(json.loads(path.read_text())["body"]).encode()
    found = read_request(raw, {})
    document = json.loads(found.source.raw)
    assert document["messages"][0]["role"] == "user"
    assert all(
        first["role"] != second["role"] or first["role"] == "user" for first, second in pairwise(document["messages"])
    )
    detail = detail_of(found.source.native)
    kept = [bytes(item.raw) for items in detail.items.values() for item in items]
    assert sorted(kept) == sorted(bytes(each) for each in detail.input)


def test_instructions_and_leading_developer_messages_are_the_prompt_and_later_ones_stay_in_place() -> None:
    late = {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "c"}]}
    found = read({"role": "developer", "content": "b"}, user("Hi"), late, instructions="a")
    assert found["system"] == [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert found["messages"][1] == {"role": "system", "content": [{"type": "text", "text": "c"}]}


def test_an_answer_is_all_that_the_model_said_in_a_row() -> None:
    said = {"type": "message", "role": "assistant", "id": "msg_1", "content": [{"type": "output_text", "text": "So."}]}
    found = messages(user("Hi"), reasoning("clew2.a", "Hm."), call("c1"), call("c2"), said, output("c1"), output("c2", []))
    assert found[1:] == [
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "clew2.a"},
                {"type": "tool_use", "id": "c1", "name": "f", "input": {}},
                {"type": "tool_use", "id": "c2", "name": "f", "input": {}},
                {"type": "text", "text": "So."},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "ok"}]},
                {"type": "tool_result", "tool_use_id": "c2", "content": []},
            ],
        },
    ]


def test_an_output_stands_right_after_its_call_whatever_came_between() -> None:
    items = (user("Hi"), call("c1"), user("wait"), {"role": "developer", "content": "hm"}, output("c1"))
    assert [each["role"] for each in messages(*items)] == ["user", "assistant", "user", "user", "system"]
    assert messages(*items)[2]["content"][0]["type"] == "tool_result"
    assert paths(*items) == ["input.4"]


def test_an_output_that_answers_nothing_is_left_to_the_projection() -> None:
    found = messages(user("Hi"), output("c9"), output("c8"))
    assert [each["tool_use_id"] for each in found[1]["content"]] == ["c9", "c8"]


@pytest.mark.parametrize(("proof", "text"), [("clew2.abc", ""), ("clew1.abc", "Hm."), (None, "Hm.")])
def test_a_thought_has_its_seal_for_a_signature(proof: str | None, text: str) -> None:
    [_, answer] = messages(user("Hi"), reasoning(proof, *[text] if text else []))
    assert answer["content"] == [{"type": "thinking", "thinking": text, "signature": proof or ""}]


def test_a_vendors_own_thought_is_kept_whole() -> None:
    item = reasoning("gAAAAA==", "One.", "Two.")
    [_, answer] = messages(user("Hi"), item)
    [block] = answer["content"]
    assert block["thinking"] == "One.\n\nTwo."
    assert payload_of(block["signature"]) == {"dialect": "openai-responses", "item": item}


def test_a_thought_without_text_and_proof_is_left_out() -> None:
    assert paths(user("Hi"), reasoning(None)) == ["input.1"]


def test_arguments_that_are_no_object_survive() -> None:
    [_, answer] = messages(user("Hi"), call("c1", '{"cmd": "ec'))
    assert answer["content"][0]["input"] == {"arguments": '{"cmd": "ec'}
    assert paths(user("Hi"), call("c1", "[1]")) == ["input.1.arguments"]
    [_, answer] = messages(user("Hi"), call("c1", ' {"a": 1e400, "b":1.50} '))
    assert bytes(request(user("Hi"), call("c1", '{"b":1.50}')).source.raw).count(b'{"b":1.50}') == 1


def test_ids_are_made_legal_in_the_same_way_for_call_and_output() -> None:
    [_, answer, results] = messages(user("Hi"), call("call:1|x"), output("call:1|x"))
    assert answer["content"][0]["id"] == results["content"][0]["tool_use_id"]
    assert answer["content"][0]["id"].startswith("call_1_x_")


def test_images_and_files_of_messages_and_outputs() -> None:
    picture = {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "high"}
    file = {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,BBBB"}
    there = {"type": "input_image", "file_id": "file_1"}
    found = messages({"role": "user", "content": [picture, file, there]}, call("c1"), output("c1", [picture]))
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    document = {"type": "base64", "media_type": "application/pdf", "data": "BBBB"}
    assert found[0]["content"] == [
        image,
        {"type": "document", "source": document, "title": "a.pdf"},
        {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
    ]
    assert found[2]["content"][0]["content"] == [image]


@pytest.mark.parametrize("kind", ["text/plain", "text/csv", "application/json"])
def test_a_file_that_is_text_is_read_as_its_text(kind: str) -> None:
    """Claude takes no other files with data than PDFs."""
    file = {"type": "input_file", "filename": "a.txt", "file_data": f"data:{kind};base64,w6QK"}
    [message] = messages({"role": "user", "content": [file]})
    source = {"type": "text", "media_type": "text/plain", "data": "ä\n"}
    assert message["content"] == [{"type": "document", "source": source, "title": "a.txt"}]
    [message] = messages({"role": "user", "content": [{**file, "file_data": f"data:{kind};base64,/w=="}]})
    assert message["content"][0]["source"] == {"type": "base64", "media_type": kind, "data": "/w=="}


def test_an_item_that_is_only_an_id_names_a_stored_one() -> None:
    """The type of a reference may be left out."""
    for item in ({"id": "msg_1"}, {"type": None, "id": "msg_1"}, {"type": "item_reference", "id": "msg_1"}):
        raw = json.dumps({"model": "m", "input": [user("Hi"), item]}).encode()
        assert references_in(raw) == StoredReferences("", ("msg_1",), ())
        read = read_request_with(raw, {}, ALWAYS, StoredItems(by_id={"msg_1": Raw(json.dumps(user("So")).encode())}))
        assert json.loads(read.source.raw)["messages"][1]["content"] == [{"type": "text", "text": "So"}]


def test_a_place_in_the_canonical_request_is_one_in_the_clients() -> None:
    developer = {"role": "developer", "content": "Be brief."}
    native = request(developer, user("Hi"), instructions="You help.").source.native
    assert native is not None
    paths = {
        "system.0": "instructions",
        "system.1": "input.0",
        "messages.0.content.0.text": "input.1",
        "output_config.format.schema": "text.format.schema",
        "max_tokens": "max_output_tokens",
        "max_tokens_of_another": "max_tokens_of_another",
    }
    assert {path: client_path(native, path) for path in paths} == paths


def test_a_cache_breakpoint_is_a_cache_mark() -> None:
    part = {"type": "input_text", "text": "long", "prompt_cache_breakpoint": {"mode": "explicit", "ttl": "12h"}}
    [message] = messages({"role": "user", "content": [part]})
    assert message["content"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}


def test_custom_tools_and_namespaces_become_plain_tools_and_their_calls_calls_of_those() -> None:
    more = {
        "type": "additional_tools",
        "role": "developer",
        "tools": [{"type": "namespace", "name": "ns", "tools": [CUSTOM]}],
    }
    used = {"type": "custom_tool_call", "call_id": "c1", "name": "exec", "input": "ls"}
    done = {"type": "custom_tool_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "a"}]}
    found = request(more, user("Hi"), used, done, tools=[FUNCTION])
    document = json.loads(found.source.raw)
    assert [tool["name"] for tool in document["tools"]] == ["f", "ns__exec"]
    assert document["tools"][1]["input_schema"]["required"] == ["input"]
    assert document["messages"][1]["content"] == [
        {"type": "tool_use", "id": "c1", "name": "ns__exec", "input": {"input": "ls"}}
    ]
    detail = detail_of(found.source.native)
    assert detail.client_tool("ns__exec") == ClientTool("custom", "ns", "exec")
    assert detail.client_tool("other") == ClientTool("function", "", "other")
    assert [item.path for item in detail.items[SYSTEM]] == ["input.0"]


def test_names_that_collide_or_are_too_long_are_told_apart() -> None:
    long = {**FUNCTION, "name": "n" * 60}
    inner = [long, {**FUNCTION, "name": "b"}]
    tools = [{"type": "namespace", "name": "a", "tools": inner}, {**FUNCTION, "name": "a__b"}, {**FUNCTION, "name": "x.y"}]
    found = request(user("Hi"), tools=tools)
    names = [tool["name"] for tool in json.loads(found.source.raw)["tools"]]
    assert len(set(names)) == 4
    assert names[2] == "a__b"
    assert all(len(name) <= 64 for name in names)
    detail = detail_of(found.source.native)
    for name, tool in detail.tools.items():
        assert canonical_name(detail, tool.kind, tool.namespace, tool.name) == name
        assert canonical_name(detail, "function", "", name) == name


def test_a_tool_that_was_shortened_for_the_backend_is_found_by_the_document() -> None:
    name = "mcp__" + "x" * 80
    document = json.dumps({"tools": [{"name": name}]}).encode()
    assert canonical_name(ResponsesDetail(), "function", "", sent_name(name), document) == name


def test_hosted_tools_are_left_out_and_only_the_vendor_can_be_made_to_use_one() -> None:
    tools: list[Json] = [{"type": "web_search"}, FUNCTION, {"type": "tool_search", "execution": "client"}]
    assert [tool["name"] for tool in read(tools=tools)["tools"]] == ["f"]
    assert paths(tools=tools) == ["tools.0", "tools.2"]
    assert native(tools=tools).demand is native(tools=tools, tool_choice="required").demand is None
    for forced in (native(tools=tools, tool_choice={"type": "web_search"}), native(tools=tools[:1], tool_choice="required")):
        assert forced.demand is not None
        assert forced.demand.path == "tool_choice"
    assert refused(tools=tools, tool_choice={"type": "file_search"}) == "tool_choice"


def test_a_private_keyword_leaves_the_schema_and_a_property_of_its_name_stays() -> None:
    properties = {"encrypted": {"type": "string", "encrypted": True}}
    tool = {**FUNCTION, "parameters": {"type": "object", "properties": properties}}
    [found] = read(tools=[tool])["tools"]
    assert found["input_schema"]["properties"] == {"encrypted": {"type": "string"}}
    assert read(tools=[{**FUNCTION, "parameters": None}])["tools"][0]["input_schema"]["type"] == "object"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("auto", {"type": "auto"}),
        ("none", {"type": "none"}),
        ("required", {"type": "any"}),
        ({"type": "function", "name": "f"}, {"type": "tool", "name": "f"}),
        ({"type": "custom", "name": "exec"}, {"type": "tool", "name": "exec"}),
        ({"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "f"}]}, {"type": "any"}),
    ],
)
def test_the_choice_among_tools(given: Any, expected: Json) -> None:
    assert read(tools=[FUNCTION, CUSTOM], tool_choice=given)["tool_choice"] == expected


def test_parallel_calls_can_be_forbidden() -> None:
    found = read(tools=[FUNCTION], parallel_tool_calls=False)
    assert found["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"effort": "none"}, {"thinking": {"type": "disabled"}}),
        ({"summary": "auto"}, {"thinking": {"type": "adaptive", "display": "summarized"}}),
        ({"effort": "low"}, {"thinking": {"type": "adaptive", "display": "omitted"}, "output_config": {"effort": "low"}}),
    ],
)
def test_the_wish_to_think(given: Json, expected: Json) -> None:
    found = read(reasoning=given)
    assert {name: found[name] for name in found if name in ("thinking", "output_config")} == expected


def test_an_effort_may_change_on_the_way() -> None:
    update = {"type": "configuration_update", "reasoning": {"effort": "high"}}
    assert messages(user("Hi"), update)[1] == {"role": "system", "content": [], "output_config": {"effort": "high"}}


def test_the_form_of_the_answer() -> None:
    schema = {"type": "object", "properties": {}}
    form = {"type": "json_schema", "name": "n", "schema": schema, "strict": True}
    assert read(text={"format": form})["output_config"] == {"format": {"type": "json_schema", "schema": schema}}
    assert "output_config" not in read(text={"format": {"type": "json_object"}})
    assert paths(text={"format": {"type": "json_object"}}) == ["text.format"]
    assert refused(text={"format": {"type": "grammar"}}) == "text.format.type"


def test_what_has_no_place_is_named() -> None:
    found = paths(user("Hi"), {"type": "web_search_call", "id": "ws_1"}, prompt_cache_key="k", text={"verbosity": "low"})
    assert found == ["prompt_cache_key", "text.verbosity", "input.1"]
    assert paths(store=True, include=["reasoning.encrypted_content"], metadata=None) == []


ANSWER: Json = {"type": "json_schema", "name": "n", "description": "d", "schema": {}, "strict": True}
SEEN: Json = {"type": "input_file", "file_url": "https://x.test/a", "detail": "low"}
CITED: Json = {"type": "output_text", "text": "a", "annotations": [{"type": "url_citation"}], "logprobs": []}


@pytest.mark.parametrize(
    ("items", "fields", "named"),
    [
        ([{**user("a"), "colour": 1}, {**user("b"), "colour": 2}], {}, ["input.0.colour"]),
        ([{"role": "user", "content": [{"type": "input_text", "text": "a", "size": 1}]}], {}, ["input.0.content.0.size"]),
        ([{"role": "user", "content": [SEEN]}], {}, ["input.0.content.0.detail"]),
        ([user("a"), {"role": "assistant", "content": [CITED]}], {}, ["input.1.content.0.annotations"]),
        ([user("a"), call("c1", caller={"type": "program"}), output("c1")], {}, ["input.1.caller"]),
        (
            [{"type": "agent_message", "author": "a", "recipient": "b", "content": "c"}],
            {},
            ["input.0.author", "input.0.recipient"],
        ),
        ([], {"tools": [{**FUNCTION, "defer_loading": True}]}, ["tools.0.defer_loading"]),
        ([], {"tool_choice": "required"}, ["tool_choice"]),
        ([], {"tool_choice": "none", "parallel_tool_calls": False}, []),
        ([], {"text": {"format": ANSWER}}, ["text.format.name", "text.format.description"]),
        ([], {"include": ["reasoning.encrypted_content", "message.output_text.logprobs"]}, ["include.1"]),
        ([], {"stream_options": {"include_obfuscation": False, "more": 1}}, ["stream_options.more"]),
        ([], {"user": "a", "safety_identifier": "b"}, ["user"]),
        ([], {"user": "a", "safety_identifier": "a"}, []),
        ([{**user("a"), "id": "msg_1", "status": "completed", "phase": None, "colour": False}], {}, []),
    ],
)
def test_nothing_is_left_out_silently(items: list[Json], fields: Json, named: list[str]) -> None:
    """Law 6. What says no more than its absence would is no loss, and keys of one name are one change."""
    assert paths(*items, **fields) == named


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("background", {"background": True}),
        ("conversation", {"conversation": "conv_1"}),
        ("prompt", {"prompt": {"id": "p"}}),
        ("previous_response_id", {"previous_response_id": "resp_1"}),
        ("tools.0.name", {"tools": [{"type": "function"}]}),
        ("tool_choice", {"tools": [FUNCTION], "tool_choice": "maybe"}),
        ("max_output_tokens", {"max_output_tokens": "many"}),
    ],
)
def test_fields_that_are_not_supported_are_refused_with_their_path(path: str, fields: Json) -> None:
    assert refused(**fields) == path


@pytest.mark.parametrize(
    ("path", "item"),
    [
        ("input.0.role", {"role": "tool", "content": ""}),
        ("input.0.type", {"content": "x"}),
        ("input.0", {"type": "item_reference", "id": "rs_1"}),
        ("input.0.call_id", {"type": "function_call", "name": "f", "arguments": "{}"}),
        ("input.0.name", {"type": "function_call", "call_id": "c", "arguments": "{}"}),
        ("input.0.content.0", {"role": "user", "content": [{"type": "input_audio"}]}),
        ("input.0.content.0.image_url", {"role": "user", "content": [{"type": "input_image"}]}),
    ],
)
def test_items_that_cannot_be_read_are_refused_with_their_path(path: str, item: Json) -> None:
    assert refused(item) == path


def test_bodies_that_are_no_request() -> None:
    for raw in (b"[]", b"{", b'"x"', b"{}", b'{"input": 5}', b'{"input": [5]}', b"\xff"):
        with pytest.raises(RequestInvalid):
            read_request(raw, {})
    with pytest.raises(BodyTooLarge):
        read_request(b" " * (33 * 1024 * 1024), {})


def test_a_trigger_at_the_end_asks_for_a_summary() -> None:
    found = native(user("Hi"), {"type": "compaction_trigger"})
    assert found.compacts
    assert len(detail_of(found).input) == 1
    assert refused({"type": "compaction_trigger"}, user("Hi")) == "input.0"


def test_what_is_stored_is_read_as_if_the_client_had_sent_it() -> None:
    before = (Raw(json.dumps(user("Hi")).encode()), Raw(json.dumps(call("c1")).encode()))
    thought = Raw(json.dumps(reasoning("clew2.x")).encode())
    items = [output("c1"), {"type": "item_reference", "id": "rs_1"}, {"type": "compaction", "encrypted_content": "clew1.s"}]
    raw = json.dumps({"model": "m", "input": items, "previous_response_id": "resp_1"}).encode()
    assert references_in(raw) == StoredReferences("resp_1", ("rs_1",), ("clew1.s",))
    stored = StoredItems(before=before, by_id={"rs_1": thought}, opened={"clew1.s": "All so far."})
    found = read_request_with(raw, {}, ALWAYS, stored)
    kinds = [[block["type"] for block in each["content"]] for each in json.loads(found.source.raw)["messages"]]
    assert kinds == [["text"], ["tool_use"], ["tool_result"], ["thinking"], ["text"]]
    assert not detail_of(found.source.native).is_whole


@pytest.mark.parametrize("raw", [b'{"input": "x"}', b"item_reference compaction", b'{"input": 5, "a": "compaction"}'])
def test_a_request_that_names_nothing(raw: bytes) -> None:
    assert references_in(raw) is None


def test_a_longer_request_goes_on_from_a_shorter_one() -> None:
    items = [user("Hi"), reasoning("clew2.a"), call("c1"), output("c1"), call("c2"), output("c2"), user("on")]
    documents = [messages(*items[: at + 1]) for at in range(len(items))]
    for shorter, longer in pairwise(documents):
        assert longer[: len(shorter) - 1] == shorter[:-1]
        assert longer[len(shorter) - 1]["content"][: len(shorter[-1]["content"])] == shorter[-1]["content"]


def test_too_many_items_are_refused_before_they_are_read() -> None:
    with pytest.raises(RequestInvalid, match="input: 100001 entries") as caught:
        read_request(b'{"model":"m","input":[%b]}' % b",".join([b"{}"] * 100_001), {})
    assert caught.value.path == "input"
