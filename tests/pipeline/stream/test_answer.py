"""What a maker said in all: folded at once, it is what the fold gives event by event."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.errors import StreamIllegal
from clew.model.events import Event
from clew.model.json import JsonObject
from clew.model.unfold import events_of
from clew.pipeline.stream.answer import answer_of_message
from clew.pipeline.stream.client_view import ClientView, ViewOptions
from clew.wire.events import encode_event
from clew.wire.sse import sse_bytes
from tests.counts import examples
from tests.manifest import proves
from tests.model import streams
from tests.model.test_unfold import WHOLE
from tests.pipeline.stream.wearing import (
    FOREIGN,
    PLAIN,
    Passed,
    accumulated,
    answer_of,
    completed,
    events_in,
    odd_answers,
    passed_answer,
    whole_events,
)
from tests.properties.stream_strategies import answers, cut, wire_bytes

HEAD = b"event: content_block_delta\ndata: "


TWICE = b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"B"}}'


def delta(index: int, **members: object) -> bytes:
    return sse_bytes(b"content_block_delta", json.dumps({"type": "content_block_delta", "index": index, **members}).encode())


def wired(*events: Event) -> bytes:
    return b"".join(map(encode_event, events))


OPEN = wired(streams.opening(), streams.start_text(0))
CLOSE = wired(streams.stop(0), streams.ending(), streams.DONE)


@given(events=answers() | odd_answers(), data=st.data())
@settings(max_examples=examples(19, soak=3000), deadline=None)
def test_folded_at_once_is_folded_event_by_event(events: list[Event], data: st.DataObject) -> None:
    """Law 1, in any spelling: BOM, line ends, comments, padding; several signatures, citations, unknown deltas."""
    stream = whole_events(wire_bytes(events, data.draw))
    client = accumulated(stream)

    answer = answer_of(stream)

    assert list(answer.blocks) == completed(client)
    assert answer.message == client.message()
    assert answer.illegal is None


@pytest.mark.parametrize("worn", [PLAIN, *FOREIGN])
@given(events=answers() | odd_answers(), data=st.data())
@settings(max_examples=examples(24, soak=1200), deadline=None)
def test_what_was_read_on_the_way_folds_like_what_came(worn: ViewOptions, events: list[Event], data: st.DataObject) -> None:
    """Law 1: nobody reads a stream twice, and it makes no difference; wherever it was cut, whatever it wore."""
    stream = wire_bytes(events, data.draw)
    chunks = cut(stream, data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    relay, brief = Passed(chunks, worn).relay, passed_answer(ClientView(worn), blocks=False)
    for chunk in chunks:
        brief.feed(chunk)

    read, came = relay.answer(), answer_of(relay.raw)
    short = brief.answer()

    assert (read.blocks, read.message, read.illegal) == (came.blocks, came.message, came.illegal)
    assert (short.blocks, short.usage, short.stop_reason) == ((), came.usage, came.stop_reason)


@given(events=odd_answers(), data=st.data())
@settings(max_examples=examples(19, soak=3000), deadline=None)
def test_an_answer_that_is_cut_gives_the_blocks_that_came_to_their_stop(events: list[Event], data: st.DataObject) -> None:
    """C8, S1-8: a block counts from its stop event."""
    stream = wire_bytes(events)
    cut = whole_events(stream[: data.draw(st.integers(0, len(stream)))])
    client = accumulated(cut)

    answer = answer_of(cut)

    assert list(answer.blocks) == completed(client)
    if events_in(cut):
        assert (answer.message, answer.illegal) == (client.message(), None)
    else:
        assert isinstance(answer.illegal, StreamIllegal)


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param(delta(0, delta={"type": "text_delta", "text": "B"}), id="spaces after colons"),
        pytest.param(
            HEAD + b'{"delta":{"type":"text_delta","text":"B"},"index":0,"type":"content_block_delta"}\n\n', id="order"
        ),
        pytest.param(
            b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"B"}}\n\n', id="no name"
        ),
        pytest.param(
            b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,\n'
            b'data: "delta":{"type":"text_delta","text":"B"}}\n\n',
            id="data in two lines",
        ),
        pytest.param(
            HEAD + b'{"type":"content_block_delta","index":0,"delta":{"text":"B","type":"text_delta","more":{"x":1}}}\n\n',
            id="unknown members",
        ),
        pytest.param(
            HEAD + b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\\u0042"}}\n\n',
            id="escapes",
        ),
    ],
)
def test_an_unusual_spelling_between_usual_ones_is_not_missed(odd: bytes) -> None:
    stream = OPEN + wired(streams.text(0, "A")) + odd + wired(streams.text(0, "C")) + CLOSE
    assert [block["text"] for block in answer_of(stream).blocks] == ["ABC"]


def usual(text: str, index: int = 0) -> bytes:
    """A delta as the vendor spells it; `text` as JSON writes it."""
    members = b'"index":%d,"delta":{"type":"text_delta","text":"%b"}' % (index, text.encode("utf-8", "surrogateescape"))
    return HEAD + b'{"type":"content_block_delta",' + members + b"}\n\n"


@pytest.mark.parametrize(
    ("strings", "said"),
    [
        pytest.param(("a\x7f", "b"), "a\x7fb", id="the mark"),
        pytest.param(("a", "\\u007f", "b"), "a\x7fb", id="the mark, escaped"),
        pytest.param(("\\ud83d", "\\ude00"), "\U0001f600", id="halves of a character"),
        pytest.param(("a\\\\", "nb"), "a\\nb", id="a backslash at the end"),
        pytest.param(('\\"}}', "\\n\\nevent: x"), '"}}\n\nevent: x', id="what closes a delta"),
        pytest.param(("", "", "a", ""), "a", id="nothing"),
    ],
)
def test_deltas_spelled_alike_say_what_each_says_by_itself(strings: tuple[str, ...], said: str) -> None:
    """Law 1: joined before they are read, or after."""
    stream = OPEN + b"".join(map(usual, strings)) + CLOSE
    assert [block["text"] for block in answer_of(stream).blocks] == [said]


@pytest.mark.parametrize(
    "strings",
    [
        pytest.param(("a\\", "nb"), id="an escape without its letter"),
        pytest.param(("a\udcc3", "\udca9b"), id="half of a character's bytes"),
        pytest.param(("a\tb",), id="a control character"),
    ],
)
def test_deltas_that_are_no_json_by_themselves_do_not_become_it_together(strings: tuple[str, ...]) -> None:
    """U14: the stream is illegal, though its bytes would make sense with the deltas run together."""
    assert isinstance(answer_of(OPEN + b"".join(map(usual, strings)) + CLOSE).illegal, StreamIllegal)


def test_a_delta_of_another_block_between_two_is_not_taken_for_one_of_theirs() -> None:
    """The openings differ in one digit."""
    stream = OPEN + usual("A") + usual("B", 1) + usual("C") + usual("D") + CLOSE
    assert isinstance(answer_of(stream).illegal, StreamIllegal)


def test_short_deltas_between_usual_ones_are_read_where_they_stand() -> None:
    """An event that ends like a delta but is too short to be one must not shift what comes after it."""
    short = HEAD + b'{"type":"content_block_delta","index":0,"delta":{"type":"new","x":"y"}}\n\n'
    stream = OPEN + usual("A") + short + usual("B") + wired(streams.thinking(0, "C"))
    answer = answer_of(stream + CLOSE)
    assert isinstance(answer.illegal, StreamIllegal)
    assert [block["text"] for block in answer_of(OPEN + usual("A") + short + usual("B") + CLOSE).blocks] == ["AB"]


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(
            HEAD + b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"B"}\n\n', id="cut"
        ),
        pytest.param(HEAD + TWICE + b"," + TWICE + b"\n\n", id="two values"),
        pytest.param(HEAD + b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta"}}\n\n', id="no text"),
        pytest.param(
            HEAD + b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":1}}\n\n', id="no string"
        ),
        pytest.param(wired(streams.text(1, "B")), id="another block"),
        pytest.param(wired(streams.thinking(0, "B")), id="another type"),
        pytest.param(
            HEAD + b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\xff"}}\n\n', id="bytes"
        ),
    ],
)
def test_what_breaks_the_grammar_is_reported_after_all_that_came_whole_before(bad: bytes) -> None:
    """U14."""
    before = wired(streams.opening(), streams.start_text(0), streams.text(0, "A"), streams.stop(0), streams.start_text(1))
    bad = bad.replace(b'"index":0', b'"index":1') if b'"index":1' not in bad else bad.replace(b'"index":1', b'"index":2')
    answer = answer_of(before + bad + wired(streams.stop(1), streams.ending(), streams.DONE))
    assert [block["text"] for block in answer.blocks] == ["A"]
    assert isinstance(answer.illegal, StreamIllegal)


@proves("req:C5")
def test_empty_thinking_with_a_signature_is_a_block_like_any_other() -> None:
    """W7, C5: the usual shape of new models."""
    stream = wired(streams.opening(), streams.start_thinking(0), streams.signature(0, "SIG"), streams.stop(0))
    assert answer_of(stream).blocks == ({"type": "thinking", "thinking": "", "signature": "SIG"},)


def test_an_answer_in_one_piece_is_the_same_answer() -> None:
    """Streamed or not, the store gets the same."""
    streamed = answer_of(b"".join(map(encode_event, events_of(WHOLE, chunk=3))))
    whole = answer_of_message(WHOLE)

    assert (streamed.blocks, streamed.message) == (whole.blocks, whole.message)
    assert (streamed.stop_reason, streamed.usage) == (whole.stop_reason, whole.usage)


def test_what_came_so_far_stays_as_it_is_while_more_comes() -> None:
    """A thread puts it together, as an open turn, and does not stop the stream for that."""
    relay = passed_answer(ClientView(PLAIN))
    relay.feed(OPEN + wired(streams.text(0, "One")) + wired(streams.stop(0), streams.start_text(1), streams.text(1, "Tw")))
    begun = relay.so_far()
    relay.feed(wired(streams.text(1, "o")))
    longer = relay.so_far()
    relay.feed(wired(streams.stop(1), streams.ending(), streams.DONE))

    texts = [[block["text"] for block in (*each.blocks, *each.cut)] for each in (begun(), longer(), relay.answer())]
    assert texts == [["One", "Tw"], ["One", "Two"], ["One", "Two"]]
    assert [len(each.blocks) for each in (begun(), longer(), relay.answer())] == [1, 1, 2]


def test_deltas_that_cannot_be_read_break_the_stream_at_the_next_event() -> None:
    """U14: also where somebody looked at them before."""
    relay = passed_answer(ClientView(PLAIN))
    relay.feed(OPEN)
    assert relay.feed(usual("A") + usual("\\q")) != b""
    assert relay.so_far()().illegal is not None

    with pytest.raises(StreamIllegal):
        relay.feed(CLOSE)
    assert (relay.answer().blocks, relay.ended) == ((), False)
    assert relay.answer().illegal is not None


def test_without_blocks_only_what_is_said_about_the_answer_is_read() -> None:
    """A gateway without a store: usage and stop reason are for the log."""
    relay = passed_answer(ClientView(PLAIN), blocks=False)
    relay.feed(b"".join(map(encode_event, events_of(WHOLE, chunk=3))))
    answer = relay.answer()
    assert answer.blocks == ()
    assert (answer.stop_reason, answer.usage) == ("tool_use", WHOLE["usage"])


@pytest.mark.parametrize(
    ("told", "dropped"),
    [
        (None, ()),
        ("odd", ()),
        ([1, {"type": "other", "path": "messages.1.content.0"}], ()),
        (
            [
                {"type": "thinking_dropped", "path": "messages.1.content.0", "reason": "prefix_binding_mismatch"},
                {"type": "thinking_dropped", "path": "messages.3.content.0", "reason": "model_binding_mismatch"},
                {"type": "thinking_dropped"},
            ],
            (
                ("messages.1.content.0", "prefix_binding_mismatch"),
                ("messages.3.content.0", "model_binding_mismatch"),
                ("", ""),
            ),
        ),
    ],
)
def test_what_the_vendor_says_that_it_did_not_read(told: object, dropped: tuple[tuple[str, str], ...]) -> None:
    """R46, law 6."""
    message: JsonObject = json.loads(json.dumps({"content": [], "input_transformations": told}))
    assert answer_of_message(message).dropped == dropped
