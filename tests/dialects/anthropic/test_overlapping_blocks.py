"""Blocks that a server leaves open, one after the other."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.dialects.anthropic.requests import AnthropicOptions
from clew.dialects.anthropic.streams import AnthropicStreamReader
from clew.dialects.shape import AnswerContext
from clew.errors import StreamIllegal
from clew.model.events import BlockDelta, BlockStart, BlockStop, Event, MessageDelta, MessageStart, MessageStop
from clew.model.json import JsonObject
from clew.model.lifecycle import STRICT, Lifecycle
from clew.wire.events import encode_event
from tests.counts import examples

START = MessageStart({"model": "qwen3"})
END: list[Event] = [MessageDelta({"stop_reason": "end_turn"}), MessageStop()]
THINKING: JsonObject = {"type": "thinking", "thinking": "", "signature": ""}
TEXT: JsonObject = {"type": "text", "text": ""}
CALL: JsonObject = {"type": "tool_use", "id": "a", "name": "f", "input": {}}


def thinks(index: int, words: str) -> BlockDelta:
    return BlockDelta(index, {"type": "thinking_delta", "thinking": words})


def says(index: int, words: str) -> BlockDelta:
    return BlockDelta(index, {"type": "text_delta", "text": words})


def signs(index: int) -> BlockDelta:
    return BlockDelta(index, {"type": "signature_delta", "signature": ""})


def in_order() -> AnthropicStreamReader:
    return AnthropicStreamReader(AnswerContext(model="asked"), AnthropicOptions(overlaps=True))


def told(*events: Event) -> list[Event]:
    """What becomes of the blocks, without the ends of the message."""
    placed = in_order()
    stream = b"".join(map(encode_event, (START, *events, *END)))
    return [*placed.feed(stream), *placed.flush()][1:-2]


def test_blocks_that_are_all_stopped_at_the_end_are_stopped_in_their_turn() -> None:
    """dialects 2.22: the empty signature behind it is dropped."""
    came = [BlockStart(0, THINKING), thinks(0, "a"), BlockStart(1, TEXT), says(1, "x"), BlockStart(2, CALL)]

    assert told(*came, signs(0), BlockStop(0), BlockStop(1), BlockStop(2)) == [
        *(BlockStart(0, THINKING), thinks(0, "a"), BlockStop(0)),
        *(BlockStart(1, TEXT), says(1, "x"), BlockStop(1)),
        *(BlockStart(2, CALL), BlockStop(2)),
    ]


def test_words_for_a_block_that_is_stopped_open_another_of_its_kind() -> None:
    """A thought after text goes into the first block there; here it is told where it was thought."""
    came = [BlockStart(0, THINKING), thinks(0, "a"), BlockStart(1, TEXT), says(1, "x"), thinks(0, "b"), says(1, "y")]

    assert told(*came, BlockStop(0), BlockStop(1)) == [
        *(BlockStart(0, THINKING), thinks(0, "a"), BlockStop(0)),
        *(BlockStart(1, TEXT), says(1, "x"), BlockStop(1)),
        *(BlockStart(2, THINKING), thinks(2, "b"), BlockStop(2)),
        *(BlockStart(3, TEXT), says(3, "y"), BlockStop(3)),
    ]


def test_a_stream_that_is_in_order_stays_as_it_is_but_for_the_models_name() -> None:
    came: list[Event] = [BlockStart(0, THINKING), thinks(0, "a"), signs(0), BlockStop(0), BlockStart(1, TEXT), BlockStop(1)]

    assert told(*came) == came
    assert list(in_order().feed(encode_event(START))) == [MessageStart({"model": "asked"})]


@pytest.mark.parametrize(
    "came",
    [
        [BlockStart(0, CALL), BlockStart(1, TEXT), BlockDelta(0, {"type": "input_json_delta", "partial_json": "{"})],
        [says(0, "x")],
    ],
)
def test_half_a_call_or_a_block_that_never_started_is_refused(came: list[Event]) -> None:
    with pytest.raises(StreamIllegal):
        told(*came)


@settings(max_examples=examples(24, soak=2000), deadline=None)
@given(
    st.lists(st.sampled_from([THINKING, TEXT]), min_size=1, max_size=4),
    st.lists(st.tuples(st.booleans(), st.integers(0, 3)), max_size=12),
)
def test_whatever_is_left_open_comes_out_in_order(blocks: list[JsonObject], moves: list[tuple[bool, int]]) -> None:
    """No word is lost, and each event is legal where it stands."""
    came: list[Event] = [BlockStart(index, block) for index, block in enumerate(blocks)]
    for grows, place in moves:
        index = place % len(blocks)
        word = thinks(index, "w") if blocks[index] is THINKING else says(index, "w")
        came.append(word if grows else BlockStop(index))
    events = told(*came)

    lifecycle = Lifecycle(STRICT)
    for event in (START, *events, *END):
        lifecycle.accept(event)
    deltas = [event.delta for event in events if isinstance(event, BlockDelta)]
    assert sum(len(str(delta.get("text") or delta.get("thinking"))) for delta in deltas) == sum(grows for grows, _ in moves)
