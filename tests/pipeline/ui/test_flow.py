"""All transforms together: what is sent, what stays stored, and the laws that hold for each."""

import copy
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew import (
    convert_reasoning_to_thinking,
    ensure_thinking_block_compliance,
    ensure_tool_message_structure,
    ensure_uuid_ids,
    validate_tool_message_structure,
)
from clew.pipeline.ui import ApiMessages, for_api
from tests.counts import examples
from tests.manifest import proves, public
from tests.pipeline.ui.parts import assistant, call, reasoning, result, shape, text, user

CALL, RESULT = call("A"), result("A")
STORED = [
    user("Analyze it", id="1"),
    assistant("Let me fetch that", reasoning("I need the tool"), CALL, id="2"),
    user(RESULT, id="3"),
    assistant(reasoning("Based on the data"), "Here is the analysis", id="4"),
]


@proves("req:S4-31", "req:S4-25", "req:S4-29", "req:S4-4")
def test_the_documents_example_goes_out_as_documented() -> None:
    """S4-31: stored [text, reasoning, tool-call]; sent [thinking, text, tool-call]; S4-29: also if the structure was valid."""
    assert validate_tool_message_structure(STORED) == []
    sent = for_api(STORED[:3], thinking_first="reorder")
    thought = {"type": "thinking", "text": "I need the tool"}
    assert shape(sent.messages) == [
        ("user", [text("Analyze it")]),
        ("assistant", [thought, text("Let me fetch that"), CALL]),
        ("user", [RESULT]),
    ]
    assert sent.unled == []


@proves("req:S4-31", "req:S4-32", "req:S4-10")
def test_what_is_stored_is_still_the_original_after_the_second_turn() -> None:
    """S4-31, S4-32: conversion and repair touch the copy only."""
    one_message = assistant("Let me fetch that", reasoning("I need the tool"), CALL, RESULT, "Here it is", id="2")
    for stored in (STORED, [STORED[0], one_message]):
        before = copy.deepcopy(stored)
        for_api(stored, thinking_first="reorder")
        for_api(stored)
        assert stored == before


@proves("req:S4-30", "req:S4-28", "req:S4-22")
def test_by_default_unsigned_reasoning_stays_out_and_signed_stays_in_place() -> None:
    """S4-30; S4-28: a call that no thinking leads is named, so that manual mode is not asked for."""
    sent = for_api([*STORED[:1], assistant("Let me", reasoning("hm", "sig"), CALL, id="2"), user(RESULT, id="3"), STORED[3]])
    assert [[part["type"] for part in message["parts"]] for message in sent.messages] == [
        ["text"],
        ["text", "thinking", "tool-call"],
        ["tool-result"],
        ["text"],
    ]
    assert sent.unled == [1]


def test_system_messages_are_not_sent_and_the_given_list_keeps_them() -> None:
    """The copy lacks them and is independent; the server's two lists are its own business."""
    given = [{"id": "0", "role": "system", "parts": [text("be kind")]}, user("hi")]
    sent = for_api(given)
    assert sent == ApiMessages([user("hi")], [])
    assert len(given) == 2
    assert sent.messages is not given


@proves("req:S4-4")
def test_structure_comes_before_conversion_and_conversion_before_order() -> None:
    """S4-4: in this order reasoning between two pairs leads the second call; in another it would be moved to the first."""
    stored = [assistant(CALL, RESULT, "so", reasoning("next"), call("B"), result("B"))]
    sent = for_api(stored, thinking_first="reorder")
    assert [[part["type"] for part in message["parts"]] for message in sent.messages] == [
        ["tool-call"],
        ["tool-result"],
        ["text"],
        ["thinking", "tool-call"],
        ["tool-result"],
    ]
    assert sent.unled == [0]


@public("library")
@proves("req:S4-33")
def test_ids_that_are_no_uuids_are_replaced_by_the_same_ones_each_time() -> None:
    """S4-33: timestamps and metadata are preserved; a UUID stays, and so does the message that has it."""
    proper = assistant("a", id=str(uuid.UUID(int=7)))
    given = [assistant("x", id="msg_1", createdAt="then", metadata={"n": 1}), proper, {"role": "user"}, {"role": "user"}]
    sent = ensure_uuid_ids(given)
    assert sent == ensure_uuid_ids(given)
    assert sent[0] == given[0] | {"id": sent[0]["id"]}
    assert sent[1] is proper
    assert all(str(uuid.UUID(message["id"])) == message["id"] for message in sent)
    assert len({message["id"] for message in sent}) == 4
    assert ensure_uuid_ids(sent) == sent


parts = st.sampled_from(
    [
        text("a"),
        reasoning("r"),
        reasoning("s", "sig"),
        call("A"),
        call("B"),
        result("A"),
        result("B"),
        {"type": "redacted_thinking", "data": "d"},
        {"type": "step-start"},
    ]
)
messages_of = st.lists(
    st.builds(
        lambda number, role, content: {"id": f"m{number}", "role": role, "parts": content},
        st.integers(0, 99),
        st.sampled_from(["user", "assistant", "assistant"]),
        st.lists(parts, max_size=7),
    ),
    max_size=6,
)

TRANSFORMS: dict[str, Callable[[Any], list[Any]]] = {
    "structure": ensure_tool_message_structure,
    "convert": convert_reasoning_to_thinking,
    "convert all": lambda messages: convert_reasoning_to_thinking(messages, mode="all"),
    "rename": lambda messages: convert_reasoning_to_thinking(messages, mode="rename"),
    "keep": ensure_thinking_block_compliance,
    "reorder": lambda messages: ensure_thinking_block_compliance(messages, thinking_first="reorder"),
    "ids": ensure_uuid_ids,
}
IN_A_ROW: dict[str, Callable[[Any], list[Any]]] = {
    "all": lambda messages: for_api(messages).messages,
    "all-reordered": lambda messages: for_api(messages, thinking_first="reorder").messages,
}


@public("library")
@proves("req:S4-10", "req:S4-11", "req:S4-12", "req:S4-13")
@pytest.mark.parametrize("name", TRANSFORMS)
@settings(max_examples=examples(24, soak=1200))
@given(messages=messages_of)
def test_every_transform_is_pure_idempotent_and_stable_under_append(name: str, messages: list) -> None:
    """S4-10: the input is untouched; S4-12: twice is once; S4-13: a shorter history gives a prefix."""
    check_laws(TRANSFORMS[name], messages)


@proves("req:S4-10", "req:S4-12", "req:S4-13")
@pytest.mark.parametrize("name", IN_A_ROW)
@settings(max_examples=examples(24, soak=1200))
@given(messages=messages_of)
def test_so_are_all_of_them_in_a_row(name: str, messages: list) -> None:
    check_laws(IN_A_ROW[name], messages)
    check_sameness(IN_A_ROW[name], messages)


def check_laws(transform: Callable[[Any], list[Any]], messages: list) -> None:
    before = copy.deepcopy(messages)
    once = transform(messages)
    assert messages == before
    assert transform(once) == once
    for cut in range(len(messages) + 1):
        part = transform(messages[:cut])
        assert once[: len(part)] == part


@public("library")
@proves("req:S4-11")
@pytest.mark.parametrize("name", TRANSFORMS)
@settings(max_examples=examples(24, soak=800))
@given(messages=messages_of)
def test_what_a_transform_leaves_alone_is_the_same_object(name: str, messages: list) -> None:
    """S4-11: equal means identical."""
    check_sameness(TRANSFORMS[name], messages)


def check_sameness(transform: Callable[[Any], list[Any]], messages: list) -> None:
    once = transform(messages)
    if len(once) == len(messages):
        assert all(new is old for new, old in zip(once, messages, strict=True) if new == old)


@proves("req:S4-18", "req:S4-20")
@settings(max_examples=examples(24, soak=1200))
@given(messages=messages_of)
def test_no_part_is_lost_or_doubled_by_the_cut(messages: list) -> None:
    """S4-18: and no result stays in an assistant message."""
    sent = ensure_tool_message_structure(messages)
    assert sorted(id(part) for m in sent for part in m["parts"]) == sorted(id(part) for m in messages for part in m["parts"])
    assert not any(error.defect == "result in assistant message" for error in validate_tool_message_structure(sent))
