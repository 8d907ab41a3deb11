"""The small fields of a request, and what has no field over there."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from clew.dialects.openai_chat.options import ChatOptions
from clew.dialects.openai_chat.requests import write_request
from clew.errors import RequestInvalid, Unrepresentable
from clew.wire.requests import parse
from tests.build import Json, request, user
from tests.dialects.openai_chat.encoding import body, told

SCHEMA: Json = {
    "type": "object",
    "properties": {"title": {"type": "string"}},
    "required": ["title"],
    "additionalProperties": False,
}
HI: list[Json] = [{"role": "user", "content": "hi"}]


def asked(**fields: Any) -> Any:
    return request(user("hi"), **fields)


def test_a_plain_request_is_model_messages_and_limit_and_nothing_else() -> None:
    assert body(asked()) == {"model": "claude-opus-5-5", "messages": HI, "max_tokens": 1000}
    assert body(asked(), max_tokens="max_completion_tokens")["max_completion_tokens"] == 1000


def test_sampling_goes_as_it_is_and_top_k_only_where_it_is_known() -> None:
    form = asked(temperature=0.5, top_p=0.9, top_k=3)

    assert body(form, top_k=True) == {**body(asked()), "temperature": 0.5, "top_p": 0.9, "top_k": 3}
    assert told(form) == [("top_k", "left out")]


def test_fields_that_a_backend_refuses_are_not_sent_and_told_by_the_clients_name() -> None:
    """dialects 7, case 64."""
    form = asked(temperature=1, stop_sequences=["x"])

    assert body(form, drop=frozenset({"temperature", "stop"})) == body(asked())
    assert told(form, drop=frozenset({"temperature", "stop"})) == [
        ("temperature", "left out"),
        ("stop_sequences", "left out"),
    ]


def test_stop_sequences_are_as_many_as_the_backend_takes() -> None:
    form = asked(stop_sequences=["a", "b", "c"])

    assert body(form)["stop"] == ["a", "b", "c"]
    assert body(form, stops=2)["stop"] == ["a", "b"]
    assert told(form, stops=2) == [("stop_sequences.2", "left out")]
    assert "stop" not in body(form, stops=0)


def test_a_stream_is_asked_for_its_usage() -> None:
    """dialects 2.1: the last chunk has it only if asked."""
    assert body(asked(stream=True)) == {**body(asked()), "stream": True, "stream_options": {"include_usage": True}}
    assert "stream_options" not in body(asked(stream=True), stream_usage=False)
    assert body(asked(stream=False)) == body(asked())


def test_who_asks_is_told_and_a_long_name_goes_as_its_hash() -> None:
    """clients 1.3: Claude Code's user id is JSON with device and session, longer than 64 characters."""
    long = asked(metadata={"user_id": "x" * 65})

    assert body(asked(metadata={"user_id": "me"}))["user"] == "me"
    assert body(long)["user"] == hashlib.sha256(b"x" * 65).hexdigest()
    assert told(long) == [("metadata.user_id", "replaced")]
    assert "user" not in body(long, user="")
    assert told(long, user="") == [("metadata.user_id", "left out")]


def test_a_schema_for_the_answer_is_a_response_format() -> None:
    """clients 1.3: Claude Code asks for its titles in this way."""
    form = asked(output_config={"format": {"type": "json_schema", "schema": SCHEMA}})

    assert body(form)["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True},
    }
    assert body(form, schema="json_object")["response_format"] == {"type": "json_object"}
    assert told(form, schema="json_object") == [("output_config.format", "replaced")]
    system, *_ = body(form, schema="json_object")["messages"]
    assert (system["role"], json.loads(system["content"].partition("\n")[2])) == ("system", SCHEMA)
    assert "response_format" not in body(form, schema="none")
    assert told(form, schema="none") == [("output_config.format", "left out")]


def test_a_schema_with_open_objects_is_asked_for_and_not_held_to() -> None:
    form = asked(output_config={"format": {"type": "json_schema", "schema": {"type": "object"}}})

    assert body(form)["response_format"]["json_schema"] == {"name": "answer", "schema": {"type": "object"}, "strict": False}
    assert told(form) == [("output_config.format.schema", "replaced")]


def test_a_schema_that_is_not_there_is_named_by_its_place() -> None:
    with pytest.raises(RequestInvalid) as refusal:
        body(asked(output_config={"format": {"type": "json_schema"}}))

    assert refusal.value.path == "output_config.format.schema"


def test_a_field_that_is_null_is_absent() -> None:
    names = ("system", "tools", "tool_choice", "thinking", "output_config", "metadata", "stop_sequences", "stream", "top_k")

    assert body(asked(**dict.fromkeys(names), temperature=None, safeguards=None)) == body(asked())
    assert told(asked(**dict.fromkeys(names))) == []


def test_another_form_of_answer_is_refused() -> None:
    with pytest.raises(Unrepresentable, match=r"^output_config\.format: an answer of type 'grammar'"):
        body(asked(output_config={"format": {"type": "grammar"}}))


def test_every_field_that_only_anthropic_knows_is_left_out_by_name() -> None:
    """dialects 7, case 65: Claude Code does not recover from a backend that refuses them."""
    form = asked(
        cache_control={"type": "ephemeral"},
        context_management={"edits": []},
        safeguards=[],
        service_tier="auto",
        container="c",
        output_config={"task_budget": 1},
        not_invented_yet={"a": 1},
    )

    assert body(form) == body(asked())
    assert told(form) == [
        ("cache_control", "left out"),
        ("context_management", "left out"),
        ("safeguards", "left out"),
        ("service_tier", "left out"),
        ("container", "left out"),
        ("not_invented_yet", "left out"),
        ("output_config.task_budget", "left out"),
    ]


def test_numbers_keep_the_spelling_that_the_client_gave_them() -> None:
    """A translation of words, not of values: what Python would round or refuse passes."""
    call = b'{"type":"tool_use","id":"a","name":"N","input":{ "n" : 1e400, "big":123456789012345678901234567890}}'
    raw = b'{"model":"m","temperature":0.10,"messages":[{"role":"assistant","content":[%b]}]}' % call

    sent = write_request(parse(raw), ChatOptions()).body

    assert b'"arguments":"{\\"n\\":1e400,\\"big\\":123456789012345678901234567890}"' in sent
    assert b'"temperature":0.10' in sent
