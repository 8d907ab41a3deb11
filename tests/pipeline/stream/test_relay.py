"""A stream on its way to the client: the same bytes, nothing before the first content, and the end only when it may go."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.errors import SseTooLarge, StreamIllegal
from clew.model.events import BlockStart, Event, MessageDelta, MessageStop
from clew.model.unfold import events_of
from clew.pipeline.stream.client_view import ClientView, ViewOptions
from clew.pipeline.stream.passthrough import PassedAnswer
from clew.wire.events import encode_event
from clew.wire.sse import PING, SseLimits
from tests.counts import SOAK, examples
from tests.manifest import proves
from tests.memory import left_by
from tests.model import streams
from tests.model.test_unfold import WHOLE
from tests.pipeline.stream.wearing import (
    ASKED,
    FOREIGN,
    PLAIN,
    SEALED,
    Passed,
    accumulated,
    completed,
    events_in,
    odd_answers,
    passed_answer,
    whole_events,
)
from tests.properties.stream_strategies import answers, cut, wire_bytes

OWN = b'"model":"claude-opus-5-5"'
"""How `streams.opening` names itself; only the message's start has it."""
NAMED = b'"model":"' + ASKED.encode() + b'"'


def wired(*events: Event) -> bytes:
    return b"".join(map(encode_event, events))


OPENING = wired(streams.opening())
BLOCK = wired(streams.start_text(0), streams.text(0, "Hello."), streams.stop(0))
END = wired(streams.ending(), streams.DONE)


def renamed(stream: bytes) -> bytes:
    return whole_events(stream).replace(OWN, NAMED, 1)


@given(events=answers() | odd_answers(), data=st.data())
@settings(max_examples=examples(19, soak=3000), deadline=None)
def test_the_bytes_that_came_go_on_but_for_the_models_name(events: list[Event], data: st.DataObject) -> None:
    """Untouched is untouched, at any cut of any spelling. Law 5, C11, C21."""
    stream = wire_bytes(events, data.draw)
    chunks = cut(stream, data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))

    passed = Passed(chunks)

    assert passed.all == renamed(stream)
    assert passed.relay.raw == whole_events(stream)
    assert passed.relay.ended


def passes(relay: PassedAnswer, read: bytes) -> bool:
    """Whether it goes on as it came, as a chunk of its own."""
    chunk = b"%x\r\n%b\r\n" % (len(read), read)
    return bool(read and relay.pass_chunk is not None and relay.pass_chunk(chunk, len(chunk)))


@pytest.mark.parametrize("worn", [PLAIN, SEALED], ids=["plain", "sealed"])
@given(events=answers() | odd_answers(), data=st.data())
@settings(max_examples=examples(24, soak=2000), deadline=None)
def test_a_chunk_that_may_pass_as_it_came_is_what_feeding_it_gives(
    worn: ViewOptions, events: list[Event], data: st.DataObject
) -> None:
    """The same goes on and the same is kept, whichever way each read took."""
    stream = wire_bytes(events, data.draw)
    places = data.draw(st.lists(st.integers(0, len(stream)), max_size=8))
    reads = data.draw(st.sampled_from([cut(stream, places), [encode_event(event) for event in events]]))
    fed, relay = passed_answer(ClientView(worn)), passed_answer(ClientView(worn))
    for read in reads:
        passed = read if passes(relay, read) else relay.feed(read)
        assert passed == fed.feed(read)
    assert (relay.raw, relay.size, relay.ended) == (fed.raw, fed.size, fed.ended)
    assert (relay.answer().blocks, relay.answer().message) == (fed.answer().blocks, fed.answer().message)


@given(events=answers() | odd_answers(), data=st.data())
@settings(max_examples=examples(24, soak=2000), deadline=None)
def test_where_nobody_notes_anything_the_same_goes_on(events: list[Event], data: st.DataObject) -> None:
    """Then a chunk is looked at by itself, whatever its relay."""
    stream = wire_bytes(events, data.draw)
    reads = data.draw(st.sampled_from([cut(stream, [50, 90, 120]), [encode_event(event) for event in events]]))
    fed, relay = passed_answer(ClientView(PLAIN)), passed_answer(ClientView(PLAIN), keep=False, blocks=False)
    for read in reads:
        passed = read if passes(relay, read) else relay.feed(read)
        assert passed == fed.feed(read)
    assert (relay.held, relay.ended) == (fed.held, fed.ended)


DELTA = wired(streams.text(0, "more"))


@pytest.mark.parametrize("size", [0, 1, 3, 60, 200, 3_900])
@pytest.mark.parametrize("worn", [PLAIN, SEALED], ids=["plain", "sealed"])
def test_a_delta_that_comes_alone_passes_as_it_came(worn: ViewOptions, size: int) -> None:
    relay = passed_answer(ClientView(worn))
    relay.feed(OPENING + wired(streams.start_text(0)))
    assert passes(relay, wired(streams.text(0, "x" * size)))


@pytest.mark.parametrize("worn", [PLAIN, SEALED], ids=["plain", "sealed"])
@pytest.mark.parametrize(
    "spoilt",
    [
        lambda chunk: chunk[:-1],
        lambda chunk: chunk + b"0",
        lambda chunk: b"0" + chunk,
        lambda chunk: chunk[1:],
        lambda chunk: chunk.upper(),
        lambda chunk: chunk.replace(b"\r\n", b";x\r\n", 1),
        lambda chunk: chunk.replace(b"more", b"m\nre"),
        lambda chunk: chunk.replace(b"more", b"m\rre"),
        lambda chunk: chunk.replace(b"}}\n", b"}\r\n"),
        lambda chunk: chunk.replace(b"content_block_delta", b"content_block_xelta", 1),
        lambda chunk: chunk.replace(b'"type"', b'"tpye"', 1),
        lambda chunk: chunk.replace(b"more", b"x" * 5000),
        lambda chunk: b"\n" * 5000 + chunk[4:],
    ],
)  # fmt: skip
def test_a_read_that_is_not_all_of_one_delta_does_not(worn: ViewOptions, spoilt: Callable[[bytes], bytes]) -> None:
    """It may begin or end elsewhere, tell another size or spell it otherwise, be another event, or be long."""
    relay = passed_answer(ClientView(worn))
    relay.feed(OPENING + wired(streams.start_text(0)))
    chunk = spoilt(b"%x\r\n%b\r\n" % (len(DELTA), DELTA))
    assert relay.pass_chunk is not None
    assert not relay.pass_chunk(chunk, len(chunk))


@pytest.mark.parametrize(
    ("before", "read"),
    [
        (OPENING, DELTA),
        (OPENING + BLOCK, DELTA),
        (OPENING + wired(streams.start_text(0)) + b"event: ping\nda", DELTA),
        (OPENING + wired(streams.start_text(0)), DELTA.replace(b"more", b"mo\rre")),
        (OPENING + wired(streams.start_text(0)), DELTA + wired(streams.stop(0))),
        (OPENING + BLOCK + END, DELTA),
    ],
    ids=["no block yet", "no block any more", "inside an event", "a line more", "a stop", "after the end"],
)
def test_a_chunk_that_is_no_delta_of_an_open_block_never_passes_as_it_came(before: bytes, read: bytes) -> None:
    relay = passed_answer(ClientView(PLAIN))
    relay.feed(before)
    size = relay.size
    assert not passes(relay, read)
    assert relay.size == size


@given(events=answers())
@settings(max_examples=examples(30, soak=2000), deadline=None)
def test_nothing_goes_on_before_the_first_content_and_the_end_is_held(events: list[Event]) -> None:
    """Failover is invisible until then; the end waits for the store (law 8)."""
    relay = passed_answer(ClientView(PLAIN))
    for place, event in enumerate(events):
        out = relay.feed(encode_event(event))
        content = [each for each in events[: place + 1] if isinstance(each, BlockStart)]
        assert bool(out) <= bool(content)
        ending = isinstance(event, MessageStop) or (isinstance(event, MessageDelta) and event.delta.get("stop_reason"))
        assert not (ending and out)
    held = events_in(b"".join(relay.held))
    assert isinstance(held[-1], MessageStop)
    assert any(isinstance(each, MessageDelta) for each in held)


def test_an_answer_without_any_block_is_whole_all_the_same() -> None:
    """`max_tokens` 0 and refusals: a start, and the end."""
    passed = Passed([OPENING + END])
    assert (passed.at_once, passed.held) == (b"", renamed(OPENING + END))
    assert (passed.relay.begun, passed.relay.ended) == (True, True)


@pytest.mark.parametrize("worn", [PLAIN, SEALED], ids=["plain", "sealed"])
def test_pings_that_came_before_the_first_content_go_on_in_their_place(worn: ViewOptions) -> None:
    before = OPENING + PING + b": a comment\n\n"
    assert Passed([before + BLOCK + END], worn).all == renamed(before + BLOCK + END)


def test_without_its_end_event_an_answer_has_not_ended() -> None:
    """U12: however complete it looks."""
    passed = Passed([OPENING + BLOCK + wired(streams.ending())])
    assert (passed.relay.begun, passed.relay.ended) == (True, False)
    assert passed.at_once == renamed(OPENING + BLOCK)


def test_an_end_event_without_its_empty_line_counts() -> None:
    passed = Passed([(OPENING + BLOCK + END)[:-1]])
    assert (passed.relay.ended, passed.all) == (True, renamed(OPENING + BLOCK + END))


@pytest.mark.parametrize("worn", [PLAIN, *FOREIGN], ids=["plain", "sealed", "reference", "hidden"])
def test_a_stream_cut_at_any_byte_never_looks_whole(worn: ViewOptions) -> None:
    """U11: no crash, no end before the end event, and what the client has is whole events, at every byte."""
    stream = b"".join(map(encode_event, events_of(WHOLE, chunk=2)))
    ended_at = len(stream)
    growing = passed_answer(ClientView(worn))
    assert len(stream) > 3_000
    for place in range(ended_at):
        assert not growing.ended, place
        out = growing.feed(stream[place : place + 1])
        assert out == b"" or out.endswith(b"\n\n"), place
    assert growing.ended
    for place in range(0, ended_at - 1, 1 if SOAK else 25):  # the last byte is the empty line's
        passed = Passed([stream[:place]], worn)
        assert not passed.relay.ended, place
        assert passed.all == b"" or passed.all.endswith(b"\n\n")


@proves("req:C8")
@given(events=odd_answers(), data=st.data())
@settings(max_examples=examples(30, soak=2000), deadline=None)
def test_of_a_cut_answer_the_client_holds_what_the_recording_says_that_it_holds(
    events: list[Event], data: st.DataObject
) -> None:
    """C8: whole blocks count, a half one does not."""
    stream = wire_bytes(events)
    worn = data.draw(st.sampled_from([PLAIN, *FOREIGN]))
    passed = Passed([stream[: data.draw(st.integers(0, len(stream)))]], worn)
    own = completed(accumulated(passed.relay.raw))
    held = [block.raw for block in passed.dress.held(own)]
    assert [ClientView(PLAIN).held([block])[0].raw for block in completed(accumulated(passed.all))] == held


def test_an_error_before_any_content_is_told_to_nobody_yet() -> None:
    """U7: the request can still go elsewhere."""
    relay = passed_answer(ClientView(PLAIN))
    assert relay.feed(OPENING + wired(streams.failed())) == b""
    assert (relay.begun, relay.ended) == (False, False)
    assert relay.failure == streams.failed()


def test_an_error_after_content_goes_on_in_the_vendors_words() -> None:
    stream = OPENING + BLOCK + wired(streams.failed())
    passed = Passed([stream])
    assert (passed.at_once, passed.held) == (renamed(stream), b"")
    assert (passed.relay.failure, passed.relay.ended) == (streams.failed(), False)


def test_an_error_after_the_stop_reason_goes_on_and_the_end_does_not() -> None:
    """The answer is not whole, so its end must not be told."""
    passed = Passed([OPENING + BLOCK + wired(streams.ending(), streams.failed())])
    assert passed.at_once == renamed(OPENING + BLOCK + wired(streams.failed()))
    assert passed.relay.ended is False


@pytest.mark.parametrize(
    "stream",
    [
        pytest.param(BLOCK, id="no start"),
        pytest.param(OPENING + OPENING, id="two starts"),
        pytest.param(OPENING + wired(streams.text(0, "x")), id="a delta without a block"),
        pytest.param(OPENING + wired(streams.start_text(1)), id="a gap"),
        pytest.param(OPENING + BLOCK + wired(streams.text(0, "x")), id="a delta after the stop"),
        pytest.param(OPENING + BLOCK + END + BLOCK, id="content after the end"),
        pytest.param(OPENING + b"event: content_block_start\ndata: {\n\n", id="bad JSON"),
    ],
)
def test_what_no_stream_may_do_is_refused(stream: bytes) -> None:
    """U14."""
    with pytest.raises(StreamIllegal):
        Passed([stream])


def test_events_and_blocks_that_nobody_knows_pass() -> None:
    """U14: the vendor may add some at any time."""
    odd = b'event: odd\ndata: {"type":"odd","x":[1, 2]}\n\n' + b"data: [DONE]\n\n"
    block = wired(streams.start(0, "novelty", x=1), streams.unknown_delta(0), streams.stop(0))
    stream = OPENING + block + odd + END
    assert [Passed([stream], worn).all for worn in (PLAIN, SEALED)] == [renamed(stream)] * 2


def test_an_event_without_bound_is_refused_while_it_grows() -> None:
    """U15."""
    relay = passed_answer(ClientView(PLAIN), SseLimits(line=1000, event=2000))
    relay.feed(b"data: " + b"x" * 900)
    with pytest.raises(SseTooLarge):
        relay.feed(b"x" * 200)


@pytest.mark.parametrize(
    ("named", "goes"),
    [
        (b'"model":"claude-opus-5-5"', NAMED),
        (b'"model" : "claude-opus-5-5-20261001"', b'"model" : "' + ASKED.encode() + b'"'),
        (b'"model":null', b'"model":"' + ASKED.encode() + b'"'),
        (b'"model":"\\u0041"', NAMED),
    ],
)
def test_the_name_is_replaced_as_a_value_and_nothing_else_is_touched(named: bytes, goes: bytes) -> None:
    """C11: dated names, odd spellings; the words may stand elsewhere too."""
    block = wired(streams.start_text(0), streams.text(0, '"model":"claude-opus-5-5"'), streams.stop(0))
    opening = OPENING.replace(OWN, named)
    assert Passed([opening + block + END]).all == opening.replace(named, goes, 1) + block + END


def test_a_start_that_names_no_model_passes_as_it_is() -> None:
    bare = wired(streams.opening()).replace(OWN + b",", b"")
    assert Passed([bare + BLOCK + END]).all == bare + BLOCK + END


MANY = 2000
"""Deltas of a hundred letters: twenty times as much as may be left."""


@pytest.mark.parametrize("worn", [PLAIN, FOREIGN[0]])
def test_a_stream_of_which_nobody_wants_the_words_takes_no_memory(worn: ViewOptions) -> None:
    """A gateway without a store: what was said about the answer is left at its end, and nothing of its megabytes."""
    opening, ending = OPENING + wired(streams.start_text(0)), wired(streams.stop(0)) + END
    delta, sent = encode_event(streams.text(0, "word " * 20)), list[int]()
    relays = [passed_answer(ClientView(worn), keep=False, blocks=False) for _ in range(3)]

    def begin() -> Callable[[], None]:
        relay = relays[len(sent)]
        relay.feed(opening)
        return lambda: sent.append(sum(len(relay.feed(delta)) for _ in range(MANY)))

    assert left_by(begin, enough=10_000) < 10_000
    assert set(sent) == {len(delta) * MANY}
    for relay in relays[: len(sent)]:
        relay.feed(ending)
        assert (relay.size, relay.raw) == (len(opening) + sent[0] + len(ending), b"")
        assert relay.answer().stop_reason == "end_turn"
