"""The built-in model: it thinks, calls, reads, answers, and ends."""

import json
from typing import Any

import pytest

from clew.simulator.plausible import value_for
from clew.simulator.script import CallTool, Say, Think
from clew.simulator.turns import ConversationState, improvise, pick_tool, state_of, texts_of_users, tools_on_offer

READ: Any = {"name": "Read", "input_schema": {"type": "object", "properties": {"file_path": {"type": "string"}}}}
BASH: Any = {"name": "Bash", "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}}}
ASK: Any = {"role": "user", "content": "look into notes.txt"}
USED: Any = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "Read", "input": {}}]}
GOT: Any = {
    "role": "user",
    "content": [{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "it  says\nthis"}]}],
}


def turn(*messages: Any, seed: int = 0, **fields: Any) -> list[Any]:
    request: Any = {"messages": list(messages), "tools": [BASH, READ], **fields}
    return list(improvise(request, state_of(request), seed).acts)


def test_first_it_thinks_and_calls_the_gentlest_tool() -> None:
    think, call = turn(ASK)
    assert isinstance(think, Think)
    assert call == CallTool("Read")


def test_then_it_quotes_what_it_read_and_ends() -> None:
    think, said = turn(ASK, USED, GOT)
    assert isinstance(think, Think)
    assert said == Say("I read: “it says this”")


def test_without_tools_it_answers_at_once() -> None:
    assert turn(ASK, tools=[])[-1] == Say("You said: “look into notes.txt”")
    assert turn(ASK, tool_choice={"type": "none"})[-1] == Say("You said: “look into notes.txt”")


@pytest.mark.parametrize(
    ("choice", "expected"),
    [({"type": "any"}, "Read"), ({"type": "tool", "name": "Bash"}, "Bash"), ({"type": "auto"}, "Read")],
)
def test_it_calls_what_it_is_told_to_call(choice: Any, expected: str) -> None:
    assert turn(ASK, tool_choice=choice)[-1] == CallTool(expected)


def test_forced_to_call_it_calls_again_after_a_result() -> None:
    assert turn(ASK, USED, GOT, tool_choice={"type": "any"}) == [CallTool("*")]


def test_asked_for_json_it_answers_with_the_smallest_that_fits() -> None:
    """R12."""
    schema = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
    said = turn(ASK, tools=[], output_config={"format": {"type": "json_schema", "schema": schema}})[-1]
    assert json.loads(said.text) == {"title": "title"}


def test_its_words_depend_on_the_seed_and_on_nothing_else() -> None:
    assert turn(ASK, seed=1) == turn(ASK, seed=1)
    assert len({turn(ASK, seed=seed)[0].text for seed in range(20)}) == 3


def test_server_tools_and_deferred_tools_are_not_on_offer() -> None:
    request: Any = {"tools": [{"type": "web_search_20250305", "name": "web_search"}, {**BASH, "defer_loading": True}]}
    assert tools_on_offer(request) == []
    assert pick_tool(request) is None


# Where the conversation stands.


def test_an_exchange_opens_with_the_last_user_message_without_a_result() -> None:
    """System messages do not count, nor do texts beside a tool result."""
    system: Any = {"role": "system", "content": "be brief"}
    beside: Any = {"role": "user", "content": [*GOT["content"], {"type": "text", "text": "go on"}]}

    def stands(*messages: Any) -> ConversationState:
        return state_of({"messages": list(messages)})

    assert stands(ASK) == ConversationState("look into notes.txt", 0, ())
    assert stands(ASK, system, USED, system, beside) == ConversationState("look into notes.txt", 1, ("it  says\nthis",))
    assert stands(ASK, USED, GOT, USED, GOT).turn == 2
    assert stands(ASK, USED, GOT, USED, {"role": "user", "content": "next"}) == ConversationState("next", 0, ())
    assert stands(ASK, {"role": "assistant", "content": "part"}).turn == 1
    assert stands() == ConversationState("", 0, ())


def test_reminders_of_the_client_are_not_what_the_user_asked() -> None:
    reminder = {"type": "text", "text": "<system-reminder>\nBe kind.\n</system-reminder>\n"}
    request: Any = {"messages": [{"role": "user", "content": [reminder, {"type": "text", "text": "hello"}]}]}
    assert state_of(request).prompt == "hello"


def test_texts_of_users_come_newest_first() -> None:
    request: Any = {"messages": [{"role": "user", "content": [{"text": "a"}, {"text": "b"}]}, USED, ASK]}
    assert list(texts_of_users(request)) == ["look into notes.txt", "b", "a"]


# Values for schemas.


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"const": 5}, 5),
        ({"enum": ["b", "a"]}, "b"),
        ({"type": "string", "default": "d"}, "d"),
        ({"type": "string", "examples": ["e"]}, "e"),
        ({"type": ["null", "integer"]}, 1),
        ({"type": "integer", "minimum": 7}, 7),
        ({"type": "integer", "exclusiveMinimum": 7}, 8),
        ({"type": "number", "maximum": 0.5}, 0.5),
        ({"type": "integer", "minimum": 3, "multipleOf": 5}, 5),
        ({"type": "boolean"}, False),
        ({"type": "null"}, None),
        ({"type": "array", "items": {"type": "integer"}}, []),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 2}, [1, 1]),
        ({"type": "string", "format": "uuid"}, "00000000-0000-4000-8000-000000000000"),
        ({"type": "string", "minLength": 12}, "somethingxxx"),
        ({"type": "string", "maxLength": 4}, "some"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, 1),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "integer"}}}, 1),
        ({"properties": {"a": {"type": "integer"}, "b": {}}, "required": ["a"]}, {"a": 1}),
        ({"type": "object"}, {}),
        (
            {
                "allOf": [
                    {"properties": {"a": {"type": "integer"}}, "required": ["a"]},
                    {"properties": {"b": {"type": "boolean"}}, "required": ["b"]},
                ]
            },
            {"a": 1, "b": False},
        ),
        ({"$ref": "#"}, None),
    ],
)
def test_a_value_fits_its_schema(schema: Any, value: Any) -> None:
    assert value_for(schema) == value


@pytest.mark.parametrize(
    ("name", "prompt", "value"),
    [
        ("file_path", "see /etc/hosts now", "/etc/hosts"),
        ("file_path", "see https://a.b/c.txt and notes.md", "notes.md"),
        ("file_path", "see nothing", "README.md"),
        ("url", "see https://a.b/c.", "https://a.b/c."),
        ("command", "rm -rf /", "echo hello"),
        ("city", "Rome", "city"),
    ],
)
def test_the_name_and_the_prompt_make_a_value_harmless_and_to_the_point(name: str, prompt: str, value: str) -> None:
    schema: Any = {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}
    assert value_for(schema, prompt) == {name: value}
