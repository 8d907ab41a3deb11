"""Tool calls and results of UI-style messages in messages of their own."""

import uuid
from typing import Any

import pytest

from clew import StructureError, ensure_tool_message_structure, validate_tool_message_structure
from tests.manifest import proves, public
from tests.pipeline.ui.parts import assistant, call, reasoning, result, shape, text, thinking, user

A, B = call("A"), call("B")
RA, RB = result("A"), result("B")


@public("library")
@proves("req:S4-14")
def test_a_call_and_its_result_in_one_message_become_three() -> None:
    """S4-14: the first keeps its id, the others get new ones."""
    sent = ensure_tool_message_structure([assistant("let me look", A, RA, "here it is", id="m1")])
    assert shape(sent) == [
        ("assistant", [text("let me look"), A]),
        ("user", [RA]),
        ("assistant", [text("here it is")]),
    ]
    ids = [message["id"] for message in sent]
    assert ids[0] == "m1"
    assert len(set(ids)) == 3
    assert [str(uuid.UUID(id)) for id in ids[1:]] == ids[1:]


@proves("req:S4-15")
def test_parts_between_call_and_result_stay_with_the_call() -> None:
    """S4-15: and without a part after the result there is no third message."""
    assert shape(ensure_tool_message_structure([assistant(A, "wait", RA)])) == [
        ("assistant", [A, text("wait")]),
        ("user", [RA]),
    ]


@public("library")
@proves("req:S4-16", "req:S4-19", "req:S4-11")
@pytest.mark.parametrize(
    "message",
    [
        assistant("x", A, B),
        assistant("x"),
        assistant(),
        user(RA),
        user("hi"),
        {"id": "m", "role": "assistant", "content": "no parts"},
        {"id": "m", "role": "assistant", "parts": None},
        {"id": "m", "role": "assistant", "parts": [None, 3, {"type": ["tool-result"]}]},
        {},
    ],
    ids=["only-calls", "text", "empty", "results-of-a-user", "user", "no-parts", "null-parts", "odd-parts", "nothing"],
)
def test_a_message_without_results_to_move_is_the_same_object(message: dict[str, Any]) -> None:
    """S4-16, S4-19, S4-11."""
    sent = ensure_tool_message_structure([message])
    assert sent[0] is message
    assert len(sent) == 1


@proves("req:S4-17")
def test_results_alone_in_an_assistant_message_go_before_it() -> None:
    """S4-17: the rest is kept, with the id; an empty rest is no message."""
    sent = ensure_tool_message_structure([assistant("so", RA, "it is", id="m1")])
    assert shape(sent) == [("user", [RA]), ("assistant", [text("so"), text("it is")])]
    assert sent[1]["id"] == "m1"
    assert sent[0]["id"] != "m1"
    assert shape(ensure_tool_message_structure([assistant(RA, RB)])) == [("user", [RA, RB])]


@proves("req:S4-18")
def test_several_pairs_are_split_as_their_order_shows() -> None:
    """S4-18: five messages; the document's code put all results into one."""
    sent = ensure_tool_message_structure([assistant(A, RA, "then", B, RB)])
    assert shape(sent) == [
        ("assistant", [A]),
        ("user", [RA]),
        ("assistant", [text("then")]),
        ("assistant", [B]),
        ("user", [RB]),
    ]
    assert len({message["id"] for message in sent}) == 5


@proves("req:S4-18")
@pytest.mark.parametrize(
    ("parts", "sent"),
    [
        ([A, B, RA, RB], [("assistant", [A, B]), ("user", [RA, RB])]),
        ([A, RA, B, RB], [("assistant", [A]), ("user", [RA]), ("assistant", [B]), ("user", [RB])]),
        (
            [A, RA, thinking("x"), B, RB],
            [("assistant", [A]), ("user", [RA]), ("assistant", [thinking("x"), B]), ("user", [RB])],
        ),
        (
            [A, RA, text("so"), reasoning("x"), B, RB],
            [
                ("assistant", [A]),
                ("user", [RA]),
                ("assistant", [text("so")]),
                ("assistant", [reasoning("x"), B]),
                ("user", [RB]),
            ],
        ),
        ([RA, text("x"), B, RB], [("user", [RA]), ("assistant", [text("x"), B]), ("user", [RB])]),
    ],
    ids=["parallel", "no-text-between", "thinking-leads-a-call", "text-then-thinking", "a-result-of-before"],
)
def test_thinking_stays_with_the_call_that_it_led_to(parts: list, sent: list) -> None:
    """Law 4: no message is made to end in thinking, and nothing signed is moved."""
    assert shape(ensure_tool_message_structure([assistant(*parts)])) == sent


@proves("req:S4-33")
def test_new_ids_depend_on_the_message_alone() -> None:
    """C20: the same history is always cut into the same messages, with every other field kept."""
    message = assistant(A, RA, "x", id="m1", createdAt="2026-01-01", metadata={"n": 1})
    once = ensure_tool_message_structure([user("hi"), message])
    assert once == ensure_tool_message_structure([user("hi"), message])
    assert [m["id"] for m in ensure_tool_message_structure([message])] == [m["id"] for m in once[1:]]
    assert all(m["createdAt"] == "2026-01-01" and m["metadata"] == {"n": 1} for m in once[1:])


def test_messages_without_ids_do_not_get_the_same_new_ones() -> None:
    bare = {"role": "assistant", "parts": [A, RA]}
    ids = [message.get("id") for message in ensure_tool_message_structure([bare, bare])]
    assert ids[0] is None
    assert ids[1] != ids[3]


@public("library")
@proves("req:S4-20")
@pytest.mark.parametrize(
    ("messages", "errors"),
    [
        ([], []),
        ([user("hi"), assistant("a")], []),
        ([user("hi"), assistant("x", A, B), user(RB, RA), assistant("done")], []),
        ([{}, {"role": "assistant"}], []),
        (
            [assistant(A, RA, id="m1")],
            [StructureError("both in one message", 0, "m1", ("A",)), StructureError("missing result", 0, "m1", ("A",))],
        ),
        ([user("hi"), assistant(A, B, id="m1"), user(RB)], [StructureError("missing result", 1, "m1", ("A",))]),
        ([assistant(A, id="m1"), assistant("x")], [StructureError("missing result", 0, "m1", ("A",))]),
        ([assistant(A, id="m1")], [StructureError("missing result", 0, "m1", ("A",))]),
        ([user(RA, id="m0")], [StructureError("result without call", 0, "m0", ("A",))]),
        ([assistant("x"), user("so", RA, id="m1")], [StructureError("result without call", 1, "m1", ("A",))]),
        ([assistant(RA, id="m1")], [StructureError("result in assistant message", 0, "m1", ("A",))]),
    ],
)
def test_the_validator_names_each_defect_with_index_and_id(messages: list, errors: list[StructureError]) -> None:
    """S4-20."""
    assert validate_tool_message_structure(messages) == errors


@public("library")
@proves("req:S4-20")
def test_what_was_mended_is_valid() -> None:
    sent = ensure_tool_message_structure([user("hi"), assistant("x", A, RA, "y", B, RB, "z")])
    assert validate_tool_message_structure(sent) == []


def test_a_defect_reads_as_a_sentence() -> None:
    error = StructureError("missing result", 3, "m1", ("A", "B"))
    assert str(error) == "message 3 (m1): missing result: A, B"
    assert str(StructureError("missing result", 3, "m1")) == "message 3 (m1): missing result"
