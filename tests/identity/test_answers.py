"""The imitation of Claude Code agrees with what was measured: table 1.1 of the identity study, clients 1.5."""

from typing import Any

import pytest

from tests.build import Json, redacted, text, thinking, tool_use
from tests.identity import answers
from tests.identity.answers import CWD, EMPTY_TEXT, LATEST, NODE_20, STAND_IN


def inputs(change, **input: Any) -> Json:
    return change([tool_use("t", input.pop("tool", "Bash"), **input)])[0]["input"]


def test_an_edit_gains_replace_all_only_if_it_has_none() -> None:
    """Hits every Edit."""
    assert inputs(answers.edit_gains_replace_all, tool="Edit", old_string="a") == {"old_string": "a", "replace_all": False}
    assert inputs(answers.edit_gains_replace_all, tool="Edit", replace_all=True) == {"replace_all": True}
    assert inputs(answers.edit_gains_replace_all, tool="Write", content="a") == {"content": "a"}


def test_blanks_at_line_ends_leave_write_and_edit() -> None:
    """Line ends and leading blanks stay."""
    assert inputs(answers.write_loses_line_end_blanks, tool="Write", content=" a  \n\tb\t\n") == {"content": " a\n\tb\n"}
    assert inputs(answers.edit_loses_line_end_blanks, tool="Edit", old_string="a ", new_string="b\t") == {
        "old_string": "a",
        "new_string": "b",
    }


@pytest.mark.parametrize(
    ("name", "given", "sent"),
    [
        ("timeout", 120000.0, 120000),
        ("n", 12345678901234567890, 12345678901234567000),
        ("n", float("1e400"), None),
        ("n", 1.5, 1.5),
        ("n", True, True),
        ("timeout", "5000", 5000),
        ("run_in_background", "false", False),
        ("run_in_background", "true", True),
        ("query", "5000", "5000"),
        ("query", "half \ud83d", "half \ufffd"),
        ("query", [{"deep": 2.0}], [{"deep": 2}]),
        ("query", None, None),
    ],
)
def test_values_are_written_as_javascript_reads_them(name: str, given: Any, sent: Any) -> None:
    """The measured examples; strings are coerced only where a tool's schema says number or boolean."""
    value = inputs(answers.values_are_normalised, **{name: given})[name]

    assert (value, type(value)) == (sent, type(sent))


def test_a_cd_into_where_it_is_leaves_the_command() -> None:
    """Only the leading one, only this directory."""
    assert inputs(answers.bash_loses_its_cd, command=f"cd {CWD} && make") == {"command": "make"}
    assert inputs(answers.bash_loses_its_cd, command="cd /tmp && make") == {"command": "cd /tmp && make"}


def test_input_that_is_no_json_is_wrapped_and_caller_is_dropped() -> None:
    """Both leave the id alone."""
    block = {**tool_use("t"), "input": '{"a', "caller": {"type": "direct"}}

    assert answers.caller_leaves(answers.broken_input_is_wrapped([block])) == [
        {"type": "tool_use", "id": "t", "name": "Bash", "input": {"__unparsedToolInput": '{"a'}}
    ]


@pytest.mark.parametrize(("version", "spacer"), [(LATEST, EMPTY_TEXT), (NODE_20, text(""))])
def test_empty_texts_leave_but_for_a_spacer_between_two_thoughts(version: Any, spacer: Json) -> None:
    """The new version says so, the old one sends the empty text, which the vendor refuses (R22)."""
    blocks = [text(" \n"), thinking("a", "1"), text(""), redacted("d"), text("hi"), text("")]

    assert answers.empty_texts_leave(blocks, version) == [thinking("a", "1"), spacer, redacted("d"), text("hi")]


def test_an_answer_of_thinking_alone_is_replaced() -> None:
    """Also if all that stood beside it was an empty text."""
    assert answers.bare_thinking_becomes_a_stand_in([thinking("a", "1"), redacted("d")]) == [text(STAND_IN)]
    assert answers.bare_thinking_becomes_a_stand_in([]) == []
    assert answers.returned([thinking("a", "1"), text("")]) == [text(STAND_IN)]


def test_unsigned_thinking_comes_back_with_an_empty_signature() -> None:
    """It is not filtered (clients 1.5)."""
    assert answers.missing_signatures_are_empty([thinking("a", None), thinking("b", "2")]) == [
        thinking("a", ""),
        thinking("b", "2"),
    ]


def test_a_switch_takes_what_is_signed_and_a_refusal_takes_all() -> None:
    """Unsigned thinking survives a switch of the model (clients 1.6)."""
    blocks = [thinking("a", "1"), redacted("d"), thinking("b", ""), text("hi")]

    assert answers.thinking_leaves(blocks, unsigned=False) == [thinking("b", ""), text("hi")]
    assert answers.thinking_leaves(blocks) == [text("hi")]
    assert answers.thinking_leaves(blocks[:2]) == [text(STAND_IN)]


@pytest.mark.parametrize("version", [LATEST, NODE_20])
def test_signed_thinking_unknown_blocks_and_order_come_back_as_given(version: Any) -> None:
    """Complete, in the original order, signatures of any form (clients 1.5)."""
    blocks = [
        thinking("", "é" * 9),
        text("A"),
        redacted("d"),
        {"type": "novel", "x": 1.0},
        thinking("c", "3"),
        tool_use("t"),
    ]

    assert answers.returned(blocks, version) == blocks
