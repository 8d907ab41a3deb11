"""Two accumulators, one message: ours against the official SDK's, and the way there and back."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.model.assemble import Assembler, assemble
from clew.model.events import BlockStop, Event
from clew.model.lifecycle import STRICT
from clew.model.unfold import events_of
from clew.wire.events import decode_event
from clew.wire.sse import SseReader
from tests.counts import examples
from tests.manifest import accepts
from tests.model import streams
from tests.properties.stream_strategies import answers, plainly, sdk_message, wire_bytes


@accepts("rule:R70")
@given(events=answers())
@settings(max_examples=examples(36, soak=1500), deadline=None)
def test_a_legal_stream_assembles_to_what_the_official_sdk_assembles(events: list[Event]) -> None:
    """R70. Whatever an official SDK accumulates, ours does too."""
    assert plainly(assemble(events)) == plainly(sdk_message(events))


@accepts("rule:R70")
@given(events=answers(), data=st.data())
@settings(max_examples=examples(36, soak=1500), deadline=None)
def test_a_stream_that_ends_early_holds_what_the_official_sdk_holds(events: list[Event], data: st.DataObject) -> None:
    """R70, R71: partial tool input included, at every event."""
    told = events[: data.draw(st.integers(1, len(events)))]

    assert plainly(assemble(told)) == plainly(sdk_message(told))


@accepts("rule:R70")
@given(first=st.text(max_size=5), second=st.text(max_size=5), words=st.text(max_size=5))
@settings(max_examples=examples(18, soak=600), deadline=None)
def test_tolerated_orders_assemble_as_in_the_official_sdk(first: str, second: str, words: str) -> None:
    """Two signatures, text behind a signature, a tool call without its stop: legal for readers only."""
    events: list[Event] = [
        streams.opening(),
        streams.start_thinking(0),
        streams.signature(0, first),
        streams.signature(0, second),
        streams.thinking(0, words),
        streams.unknown_delta(0),
        BlockStop(0),
        streams.start_tool(1),
        streams.json_piece(1, '{"a": 1, "b": "cu'),
        streams.ending("max_tokens"),
        streams.DONE,
    ]

    assert plainly(assemble(events)) == plainly(sdk_message(events))


@given(events=answers(), chunk=st.integers(1, 20))
@settings(max_examples=examples(36, soak=1500), deadline=None)
def test_a_message_unfolds_into_a_stream_that_folds_back(events: list[Event], chunk: int) -> None:
    """assemble(events_of(m)) == m, by the strict table and in the official SDK's eyes."""
    message = assemble(events)
    unfolded = list(events_of(message, chunk=chunk))
    writer = Assembler(STRICT)
    for event in unfolded:
        writer.feed(event)

    assert writer.message() == message
    assert plainly(sdk_message(unfolded)) == plainly(message)


@given(events=answers())
@settings(max_examples=examples(24, soak=2000), deadline=None)
def test_what_is_written_is_read_back_event_by_event(events: list[Event]) -> None:
    assert [decode_event(sse) for sse in SseReader().feed(wire_bytes(events))] == events


@pytest.mark.parametrize("broken", ['{"a": 1, b', '{"a":01}'])
def test_where_the_sdk_gives_up_on_tool_input_ours_keeps_the_text(broken: str) -> None:
    """The one place where we accept more: R66 says that eager streaming may end so."""
    events: list[Event] = [streams.opening(), streams.start_tool(0), streams.json_piece(0, broken), BlockStop(0)]
    with pytest.raises(ValueError, match="Unable to parse tool parameter JSON"):
        sdk_message(events)

    assembler = Assembler()
    assert [block.unparsed for event in events if (block := assembler.feed(event))] == [broken]
