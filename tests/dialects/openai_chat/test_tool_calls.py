"""Calls out of deltas that lack, repeat and mix up what tells them apart."""

import pytest

from clew.dialects.shape import AnswerContext
from clew.model.json import JsonObject, JsonValue
from tests.dialects.openai_chat.chat import Told, call, stream
from tests.manifest import proves

A = ("a", "f", {"q": 1})
B = ("b", "g", {"r": 2})


def entries(*deltas: JsonObject) -> JsonObject:
    """Several calls in one delta."""
    return {"tool_calls": [entry for delta in deltas for entry in list(delta["tool_calls"] or [])]}


@proves("req:S3-27")
def test_arguments_in_pieces_go_to_one_block_and_join_to_json() -> None:
    """S3-27, case 40: one character at a time."""
    told = Told(stream(call(0, "a", "f", ""), *(call(0, None, None, char) for char in '{"q": "\\u00e9"}')))

    assert told.blocks == [("a", "f", {"q": "é"})]
    assert told.steps[1:4] == ["+{", '+"', "+q"]


@proves("req:S3-26")
def test_reasoning_text_and_two_calls_get_the_indices_0_to_3() -> None:
    """S3-26: lazy 0…3, eager one more."""
    deltas = stream({"reasoning": "r"}, {"content": "x"}, call(0, "a", "f", '{"q":1}'), call(1, "b", "g", '{"r":2}'))

    assert Told(deltas).blocks == [("thinking", "r"), ("text", "x"), A, B]
    assert Told(deltas, eager=True).blocks == [("text", ""), ("thinking", "r"), ("text", "x"), A, B]


@pytest.mark.parametrize(
    "deltas",
    [
        pytest.param([call(0, "a", "f", '{"q":1}'), call(1, "b", "g", '{"r":2}')], id="whole"),
        pytest.param([entries(call(0, "a", "f", '{"q":1}'), call(1, "b", "g", '{"r":2}'))], id="in one delta"),
        pytest.param([entries(call(None, "a", "f", '{"q":1}'), call(None, "b", "g", '{"r":2}'))], id="no index"),
        pytest.param([call(0, "a", "f", '{"q":1}'), call(0, "b", "g", '{"r":2}')], id="index always 0"),
        pytest.param([call(1, "a", "f", '{"q":1}'), call(2, "b", "g", '{"r":2}')], id="index from 1"),
        pytest.param(
            [call(0, "a", "f", '{"q"'), call(1, "b", "g", '{"r"'), call(0, None, None, ":1}"), call(1, None, None, ":2}")],
            id="interleaved",
        ),
        pytest.param(
            [call(0, "a", None, '{"q":'), call(0, None, "f", "1}"), call(1, "b", "g", {"r": 2})], id="name late, object"
        ),
        pytest.param(
            [call(0, "a", "f", '{"q"'), call(0, "", "", ":1}"), call(1, "b", "g", ""), call(1, "b", "g", '{"r":2}')],
            id="empty and repeated names and ids",
        ),
        pytest.param(
            [
                call(0, "a", "f", '{"q"'),
                call(0, None, None, ":1}"),
                call(0, "a", "f", '{"q":1}'),
                call(1, "b", "g", '{"r":2}'),
            ],
            id="all repeated at the end",
        ),
        pytest.param([call(0, "a", "f<|channel|>commentary", '{"q":1}'), call(1, "b", "g", '{"r":2}')], id="channel mark"),
        pytest.param(
            [call(0, "a", "f", '{"q"'), call(0, "other", None, ":1}"), call(1, "b", "g", '{"r":2}')], id="a new id each time"
        ),
    ],
)
def test_two_calls_are_two_calls_however_they_come(deltas: list[JsonObject]) -> None:
    """Rule 6.5 and 6.7, cases 40, 41 and 45."""
    told = Told(stream(*deltas))

    assert (told.blocks, told.stop) == ([A, B], "tool_use")


@proves("req:S3-29")
def test_ids_that_repeat_lack_or_cannot_be_used_become_unique() -> None:
    """S3-29, rule 6.6: the backend's own are remembered."""
    asked = AnswerContext(model="m", message_id="msg_1")
    ids: list[str | None] = ["a", "a", None, "functions.f:0", "call_x__thought__AB+/=", "a", "a_2"]
    told = Told(stream(*(call(at, wire_id, "f", "{}") for at, wire_id in enumerate(ids))), asked=asked)

    expected = ["a", "a_2", "toolu_msg_1_2", "functions_f_0", "call_x", "a_3", "a_2_2"]
    assert [block[0] for block in told.blocks] == expected
    assert told.stream.wire_ids == {
        "a_2": "a",
        "toolu_msg_1_2": "",
        "functions_f_0": "functions.f:0",
        "call_x": "call_x__thought__AB+/=",
        "a_3": "a",
        "a_2_2": "a_2",
    }


def test_calls_without_ids_or_indices_are_told_apart_by_being_whole() -> None:
    """Case 40: nothing but names and arguments."""
    told = Told(stream(call(None, None, "f", '{"q"'), call(None, None, None, ":1}"), call(None, None, "f", '{"q":2}')))

    assert [block[1:] for block in told.blocks] == [("f", {"q": 1}), ("f", {"q": 2})]


@pytest.mark.parametrize(
    ("arguments", "value"),
    [(None, {}), ("", {}), ({}, {}), ({"q": 1}, {"q": 1}), ('{"q": 1, "r": "cu', {"q": 1}), ('{"q":{"q":', {"q": {}})],
)
def test_arguments_may_be_missing_an_object_or_cut(arguments: JsonValue, value: JsonValue) -> None:
    """Case 42: what could be read of a cut input is read."""
    assert Told(stream(call(0, "a", "f", arguments), finish="length")).blocks == [("a", "f", value)]


def test_a_piece_that_equals_all_before_it_is_kept_while_the_json_is_open() -> None:
    """Rule 6.5: only what is whole can be repeated."""
    told = Told(stream(call(0, "a", "f", '{"q":'), call(0, None, None, '{"q":'), call(0, None, None, "1}}")))

    assert told.blocks == [("a", "f", {"q": {"q": 1}})]


def test_a_call_streams_while_it_comes() -> None:
    """The first call is not held back until it is whole."""
    told = Told(stream(call(0, "a", "f", '{"q"'), call(0, None, None, ":1}")))

    assert told.steps == ["tool_use 0", '+{"q"', "+:1}", "stop 0"]


def test_text_and_thoughts_may_follow_a_call() -> None:
    """Case 43: each in a block of its own."""
    told = Told(stream(call(0, "a", "f", '{"q":1}'), {"content": "x"}, {"reasoning": "r"}, call(1, "b", "g", '{"r":2}')))

    assert told.blocks == [A, ("text", "x"), ("thinking", "r"), B]


def test_a_call_that_never_gets_a_name_is_none() -> None:
    """No client could run it."""
    told = Told(stream(call(0, "a", None, "{}"), call(1, "b", "g", '{"r":2}')))

    assert told.blocks == [B]


def test_the_older_function_call_is_a_call() -> None:
    """What came before `tool_calls`."""
    told = Told(stream({"function_call": {"name": "f", "arguments": '{"q"'}}, {"function_call": {"arguments": ":1}"}}))

    assert told.blocks == [("toolu_msg_1_0", "f", {"q": 1})]


def test_a_call_without_a_name_does_not_part_a_thought() -> None:
    """What is not told closes nothing."""
    told = Told(stream({"reasoning": "a"}, call(0, "a", None, "{}"), {"reasoning": "b"}, {"content": "x"}))

    assert told.blocks == [("thinking", "ab"), ("text", "x")]
