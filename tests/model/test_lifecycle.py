"""Which event may follow which: the table, cell by cell, and the counting of blocks beside it."""

import pytest

from clew.errors import BlockMismatch, StreamIllegal
from clew.model.events import BlockDelta, Event, Unknown
from clew.model.lifecycle import LENIENT, STRICT, Family, Lifecycle, State, Table, family_of, move_of
from tests.manifest import accepts, proves, refuses
from tests.model.streams import (
    DONE,
    PING,
    citation,
    compaction,
    ending,
    failed,
    json_piece,
    opening,
    signature,
    start,
    start_text,
    start_thinking,
    start_tool,
    stop,
    text,
    thinking,
    unknown_delta,
)

UNKNOWN = Unknown("future", b"{}")

WAYS: dict[State, list[Event]] = {
    State.IDLE: [],
    State.BETWEEN: [opening()],
    State.TEXT: [opening(), start_text(0)],
    State.THINKING: [opening(), start_thinking(0)],
    State.SIGNED: [opening(), start_thinking(0), signature(0, "S")],
    State.INPUT: [opening(), start_tool(0)],
    State.COMPACTION: [opening(), start(0, "compaction", content=None)],
    State.WHOLE: [opening(), start(0, "redacted_thinking", data="D")],
    State.FOREIGN: [opening(), start(0, "mystery")],
    State.ENDING: [opening(), ending()],
    State.DONE: [opening(), ending(), DONE],
    State.FAILED: [failed()],
}
"""How to get to each state."""


def moves(index: int, *, is_open: bool) -> list[Event]:
    """Every move there is, aimed right: starts at the next index, deltas and stops at the open block."""
    fresh = index + 1 if is_open else index
    starts = [start_text(fresh), start_thinking(fresh), start_tool(fresh), start(fresh, "compaction", content=None)]
    starts += [start(fresh, "redacted_thinking", data="D"), start(fresh, "mystery")]
    deltas = [text(index, "a"), citation(index, "c"), thinking(index, "t"), signature(index, "S")]
    deltas += [json_piece(index, ""), compaction(index), unknown_delta(index)]
    return [opening(), *starts, *deltas, stop(index), ending(), DONE, PING, failed()]


def at(state: State, table: Table) -> Lifecycle:
    lifecycle = Lifecycle(table)
    for event in WAYS[state]:
        lifecycle.accept(event)
    assert lifecycle.state is state
    return lifecycle


def test_the_tables_know_every_state_and_no_move_that_no_event_makes() -> None:
    known = {move_of(event) for event in moves(0, is_open=False)}

    assert set(STRICT) == set(LENIENT) == set(State) == set(WAYS)
    assert {move for row in LENIENT.values() for move in row} == known


@pytest.mark.parametrize("table", [STRICT, LENIENT], ids=["strict", "lenient"])
@pytest.mark.parametrize("state", State)
def test_each_cell_of_the_table_is_obeyed_and_a_refusal_changes_nothing(state: State, table: Table) -> None:
    """R65; S3-17, S3-24. Every state meets every move: it goes where the table says, or is refused and stays."""
    for event in moves(0, is_open=at(state, table).is_open):
        lifecycle = at(state, table)
        before = (lifecycle.state, lifecycle.blocks)
        target = table[state].get(move_of(event))
        if target is None:
            with pytest.raises(StreamIllegal):
                lifecycle.accept(event)
            assert (lifecycle.state, lifecycle.blocks) == before
        else:
            lifecycle.accept(event)
            assert lifecycle.state is target


@accepts("rule:R65", "rule:R66", "rule:R72")
def test_a_whole_answer_of_every_kind_of_block_is_legal() -> None:
    """R65, R66, R72: what each block type takes, and what comes whole in its start."""
    lifecycle = Lifecycle(STRICT)
    blocks: list[list[Event]] = [
        [start_thinking(0), PING, thinking(0, "a"), thinking(0, "b"), signature(0, "S"), stop(0)],
        [start(1, "redacted_thinking", data="D"), stop(1)],
        [start_text(2), text(2, "a"), citation(2, "c"), stop(2)],
        [start(3, "fallback", to={"model": "m"}), stop(3)],
        [start(4, "server_tool_use", input={}), json_piece(4, ""), json_piece(4, "{}"), stop(4)],
        [start(5, "web_search_tool_result", content=[]), stop(5)],
        [start(6, "compaction", content=None), compaction(6, content="c"), stop(6)],
        [start(7, "compaction", content="c"), stop(7)],
        [start(8, "mystery"), unknown_delta(8), text(8, "a"), stop(8)],
        [start_tool(9), json_piece(9, ""), stop(9)],
    ]
    for event in [opening(), *(event for block in blocks for event in block), ending("tool_use"), ending("tool_use"), DONE]:
        lifecycle.accept(event)

    assert (lifecycle.state, lifecycle.blocks) == (State.DONE, 10)


@accepts("rule:R69")
@pytest.mark.parametrize("state", [state for state in State if state not in (State.DONE, State.FAILED)])
def test_an_error_may_come_at_any_time_before_the_end(state: State) -> None:
    """R65, R69."""
    lifecycle = at(state, STRICT)
    lifecycle.accept(failed())

    assert lifecycle.state is State.FAILED


@accepts("rule:R65")
@pytest.mark.parametrize("table", [STRICT, LENIENT], ids=["strict", "lenient"])
@pytest.mark.parametrize("state", State)
def test_an_unknown_event_may_stand_anywhere(state: State, table: Table) -> None:
    """R65: unknown event types must be tolerated."""
    lifecycle = at(state, table)
    lifecycle.accept(UNKNOWN)

    assert lifecycle.state is state


@accepts("rule:R66")
def test_a_reader_lets_max_tokens_leave_a_tool_call_open() -> None:
    """R66: deltas stop at the last completed member, no stop for that block, then message_delta; a writer may not do so."""
    cut = [opening(), start_tool(0), json_piece(0, '{"a":1'), ending("max_tokens"), DONE]
    reader = Lifecycle(LENIENT)
    for event in cut:
        reader.accept(event)

    assert reader.state is State.DONE
    with pytest.raises(StreamIllegal, match="message_delta may not come now"):
        at(State.INPUT, STRICT).accept(ending("max_tokens"))


@refuses("rule:R65")
@pytest.mark.parametrize("index", [1, 3, -1])
def test_blocks_are_counted_from_zero_without_gaps(index: int) -> None:
    """R65; S3-16. The official SDKs index by it."""
    lifecycle = Lifecycle(LENIENT)
    for event in (opening(), start_text(0), stop(0), start_text(1), stop(1)):
        lifecycle.accept(event)

    with pytest.raises(StreamIllegal, match=f"block {index} starts where block 2 is due"):
        lifecycle.accept(start_text(index))


@proves("req:S0-49")
@refuses("rule:R65")
@pytest.mark.parametrize("event", [text(1, "a"), stop(1), text(-1, "a"), stop(7)], ids=repr)
def test_a_delta_or_stop_for_a_block_that_is_not_open_is_refused(event: Event) -> None:
    """S0-49: an unknown index is an error, and nothing worse."""
    lifecycle = at(State.TEXT, LENIENT)

    with pytest.raises(StreamIllegal, match="which is not open") as caught:
        lifecycle.accept(event)

    assert (caught.value.state, caught.value.event) == ("TEXT", event.type)


@proves("req:S0-47", "req:S0-49")
@pytest.mark.parametrize("table", [STRICT, LENIENT], ids=["strict", "lenient"])
@pytest.mark.parametrize(
    ("begin", "delta", "words", "name", "expected", "actual"),
    [
        (
            start_text(0),
            signature(0, "S"),
            "Content block is not a thinking block",
            "content_block_type_mismatch_thinking_signature",
            "thinking",
            "text",
        ),
        (
            start_tool(0),
            thinking(0, "t"),
            "Content block is not a thinking block",
            "content_block_type_mismatch_thinking_delta",
            "thinking",
            "tool_use",
        ),
        (
            start_thinking(0),
            text(0, "a"),
            "Content block is not a text block",
            "content_block_type_mismatch_text",
            "text",
            "thinking",
        ),
        (
            start(0, "redacted_thinking", data="D"),
            json_piece(0, ""),
            "Content block is not a tool_use block",
            "content_block_type_mismatch_input_json",
            "tool_use",
            "redacted_thinking",
        ),
    ],
)
def test_a_delta_for_a_block_of_another_type_says_which_was_expected(
    table: Table, begin: Event, delta: BlockDelta, words: str, name: str, expected: str, actual: str
) -> None:
    """S0-47, S0-49."""
    lifecycle = Lifecycle(table)
    lifecycle.accept(opening())
    lifecycle.accept(begin)

    with pytest.raises(BlockMismatch) as caught:
        lifecycle.accept(delta)

    error = caught.value
    assert (str(error), error.name, error.expected, error.actual) == (words, name, expected, actual)


@refuses("rule:R66")
def test_a_writer_signs_a_block_once_and_last() -> None:
    """R66: exactly one signature_delta just before the stop. That the type fits makes this no mismatch."""
    for late in (signature(0, "T"), thinking(0, "more")):
        with pytest.raises(StreamIllegal, match="may not come now \\(thinking is open and signed\\)") as caught:
            at(State.SIGNED, STRICT).accept(late)
        assert not isinstance(caught.value, BlockMismatch)


@pytest.mark.parametrize(
    ("block_type", "family"),
    [
        ("text", Family.TEXT),
        ("mcp_tool_use", Family.INPUT),
        ("mcp_tool_result", Family.WHOLE),
        ("bash_code_execution_tool_result", Family.WHOLE),
        ("mcp_tool_listing", Family.WHOLE),
        ("container_upload", Family.WHOLE),
        ("future_block", Family.FOREIGN),
    ],
)
def test_block_types_fall_into_families(block_type: str, family: Family) -> None:
    """R66's table; a type that is not in it may take anything."""
    assert family_of(block_type) is family
