"""StreamAssembler: an answer from the bytes of its stream, as a program of one's own has them."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew import ClewError, StreamAssembler
from tests.counts import examples
from tests.manifest import proves, public

pytestmark = public("library")

START = {"type": "message_start", "message": {"role": "assistant", "content": [], "usage": {"output_tokens": 1}}}
ENDING = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}}
STOP = {"type": "message_stop"}


def opens(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def grows(index: int, **delta: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": delta}


def closes(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def wire(*events: dict[str, Any]) -> bytes:
    return b"".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n".encode() for each in events)


def fed(*events: dict[str, Any]) -> StreamAssembler:
    assembler = StreamAssembler()
    assembler.feed(wire(START, *events))
    return assembler


THOUGHT = (
    opens(0, type="thinking", thinking="", signature=""),
    grows(0, type="thinking_delta", thinking="a"),
    grows(0, type="thinking_delta", thinking="b"),
    grows(0, type="signature_delta", signature="S"),
    closes(0),
)
TEXT = (opens(1, type="text", text=""), grows(1, type="text_delta", text="hello"), closes(1))


@proves("req:S0-45")
@settings(max_examples=examples(18, soak=1000))
@given(st.lists(st.integers(1, 40), max_size=40))
def test_deltas_become_thinking_with_its_signature_and_then_text_at_any_cut(cuts: list[int]) -> None:
    """S0-45."""
    assembler, stream, done = StreamAssembler(), wire(START, *THOUGHT, *TEXT, ENDING, STOP), []
    for size in cuts:
        done += assembler.feed(stream[:size])
        stream = stream[size:]
    done += assembler.feed(stream)
    thought = {"type": "thinking", "thinking": "ab", "signature": "S"}
    assert [each.block for each in done] == [thought, {"type": "text", "text": "hello"}]
    message = assembler.finish()
    assert message["content"] == [each.block for each in done]
    assert (message["stop_reason"], message["usage"]) == ("end_turn", {"output_tokens": 9})


@proves("req:S0-46")
def test_a_second_signature_replaces_the_first() -> None:
    """S0-46: assign, not append."""
    [block] = fed(*THOUGHT[:-1], grows(0, type="signature_delta", signature="T"), closes(0)).blocks()
    assert block.block["signature"] == "T"


@proves("req:S0-47", "req:S0-49")
@pytest.mark.parametrize(
    ("delta", "error_type"),
    [
        ({"type": "signature_delta", "signature": "S"}, "content_block_type_mismatch_thinking_signature"),
        ({"type": "thinking_delta", "thinking": "a"}, "content_block_type_mismatch_thinking_delta"),
    ],
)
def test_a_delta_of_thinking_for_a_text_is_an_error_with_what_clients_log(delta: dict[str, str], error_type: str) -> None:
    """S0-47, S0-49: the document's words, and the fields of its event."""
    with pytest.raises(ClewError, match="Content block is not a thinking block") as found:
        fed(opens(0, type="text", text=""), grows(0, **delta))
    assert getattr(found.value, "fields") == {  # noqa: B009  (of BlockMismatch, which is no name of `clew`)
        "error_type": error_type,
        "expected_type": "thinking",
        "actual_type": "text",
    }


@proves("req:S0-49")
def test_a_delta_for_an_index_that_is_not_there_is_an_error_and_what_came_stays() -> None:
    """S0-49."""
    assembler = fed(*THOUGHT)
    with pytest.raises(ClewError, match="block 7, which is not open"):
        assembler.feed(wire(grows(7, type="text_delta", text="x")))
    assert [each.complete for each in assembler.blocks()] == [True]


@proves("req:S0-48")
@pytest.mark.parametrize("start", [{}, {"signature": ""}])
def test_a_block_that_never_got_a_signature_is_unsigned(start: dict[str, str]) -> None:
    """S0-48: "" or absent, as it came."""
    assembler = fed(
        opens(0, type="thinking", thinking="", **start), grows(0, type="thinking_delta", thinking="a"), closes(0)
    )
    [block] = assembler.blocks()
    assert block.unsigned
    assert block.block == {"type": "thinking", "thinking": "a", **start}


@proves("req:S0-50", "req:C5")
def test_thinking_without_a_text_is_kept_with_its_signature() -> None:
    """S0-50: display omitted."""
    [block] = fed(
        opens(0, type="thinking", thinking=""), grows(0, type="signature_delta", signature="S"), closes(0)
    ).blocks()
    assert (block.block, block.unsigned) == ({"type": "thinking", "thinking": "", "signature": "S"}, False)


def test_an_answer_that_broke_off_is_no_whole_one_but_its_finished_blocks_are() -> None:
    assembler = fed(*THOUGHT, *TEXT[:-1])
    with pytest.raises(ClewError, match="broke off before its end"):
        assembler.finish()
    assert [each.complete for each in assembler.blocks()] == [True, False]
    assert len(assembler.message()["content"]) == 2
    assembler.feed(wire({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}))
    assert assembler.error == {"type": "overloaded_error", "message": "Overloaded"}
    with pytest.raises(ClewError, match="overloaded_error: Overloaded"):
        assembler.finish()
