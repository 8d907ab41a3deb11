"""Streamed answers: blocks in pieces, interleaved, cut."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew import RegistryEntry, ThinkingRegistry, exact_block_key
from clew.thinking.registry.blocks import Registered, Registration
from clew.thinking.registry.table import Decision
from tests.counts import examples
from tests.manifest import proves, public
from tests.thinking.registry.builders import (
    Block,
    answer,
    delta,
    key,
    redacted,
    request,
    signature,
    start,
    stop,
    streamed,
    text,
    thinking,
)

EMPTY = thinking("", "")
NOTHING = Registration()


@proves("req:S1-6")
def test_a_streamed_block_is_registered_at_its_stop_with_its_whole_text() -> None:
    """Partial text is never registered by itself."""
    registry = ThinkingRegistry()

    registrations = streamed(
        registry, start(0, EMPTY), delta(0, "Let me "), delta(0, "see."), signature(0, "S"), stop(0), now=3.0
    )

    whole = Registered(key(thinking("Let me see.")), 0, "Let me see.")
    assert registrations == [NOTHING, NOTHING, NOTHING, NOTHING, Registration((whole,))]
    assert registry.entries == {whole.key: RegistryEntry(0, 3.0)}


@public("library")
@proves("req:S1-6")
@settings(max_examples=examples(24, soak=800))
@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=30), max_size=12), st.text("abc123", min_size=1, max_size=9))
def test_a_streamed_block_gets_the_key_of_the_same_block_sent_whole(pieces: list[str], proof: str) -> None:
    """However it was cut into deltas, and under either kind of key."""
    events = [start(0, EMPTY), *(delta(0, piece) for piece in pieces), signature(0, proof), stop(0)]
    for options in ({}, {"key_of": exact_block_key}):
        cut, whole = ThinkingRegistry(**options), ThinkingRegistry(**options)
        streamed(cut, *events)
        whole.register_response(answer(thinking("".join(pieces), proof)), 0.0)
        assert cut.entries == whole.entries


@public("library")
@proves("req:S1-6", "req:S1-11")
def test_the_last_of_several_signatures_names_a_block_without_text() -> None:
    """Clients assign a signature, they do not append it (S0-46)."""
    registry = ThinkingRegistry()

    streamed(registry, start(0, EMPTY), signature(0, "one"), signature(0, "two"), stop(0))

    assert list(registry.entries) == [key(thinking("", "two"))]


@proves("req:S1-7")
def test_a_redacted_block_is_registered_at_its_start() -> None:
    """It comes whole there, and has no deltas."""
    registry = ThinkingRegistry()

    registrations = streamed(registry, start(0, redacted("EmwK")), stop(0))

    assert registrations == [Registration((Registered(key(redacted("EmwK")), 0, "EmwK"),)), NOTHING]


@public("library")
@proves("req:S1-7")
def test_interleaved_blocks_are_registered_one_each() -> None:
    """Deltas go to the block of their index."""
    registry = ThinkingRegistry()

    streamed(
        registry,
        start(0, EMPTY),
        start(2, EMPTY),
        delta(2, "two"),
        delta(0, "ze"),
        start(1, text("")),
        delta(2, "!"),
        delta(0, "ro"),
        stop(2),
        stop(1),
        stop(0),
    )

    assert list(registry.entries) == [key(thinking("two!")), key(thinking("zero"))]


@proves("req:S1-8")
def test_a_block_cut_before_its_stop_is_registered_incomplete_and_never_sent_on() -> None:
    """Also if the client sends it back; the reason is the cut, not the session."""
    registry = ThinkingRegistry()
    watch = registry.watch()
    watch.event(start(0, EMPTY), 1.0)
    watch.event(delta(0, "Half a th"), 1.0)

    assert watch.end(2.0) == Registration((Registered(key(thinking("Half a th")), 0, "Half a th", complete=False),))
    assert registry.entries == {key(thinking("Half a th")): RegistryEntry(0, 2.0, complete=False)}

    filtered = registry.filter_request(request(thinking("Half a th")), 3.0)
    assert filtered.removed == 1
    assert filtered.decisions == (Decision("messages.1.content.0", key(thinking("Half a th")), False, "cut before its end"),)


@proves("req:S1-8")
def test_what_was_complete_before_the_cut_stays_complete() -> None:
    """The end of a stream touches only what is still open, and what comes after the end changes nothing."""
    registry = ThinkingRegistry()
    watch = registry.watch()
    for event in (start(0, EMPTY), delta(0, "whole"), stop(0), start(1, EMPTY), delta(1, "cut")):
        watch.event(event, 1.0)

    watch.end(2.0)

    assert [watch.event(stop(1), 3.0), watch.end(3.0)] == [NOTHING, NOTHING]
    assert registry.entries == {
        key(thinking("whole")): RegistryEntry(0, 1.0),
        key(thinking("cut")): RegistryEntry(0, 2.0, complete=False),
    }


@public("library")
@proves("req:S1-8", "req:S1-9")
def test_a_cut_block_that_comes_again_whole_is_complete_and_a_whole_one_stays_so() -> None:
    """A retry may repeat the same words to their end."""
    registry = ThinkingRegistry()

    registry.register_blocks([thinking("same")], 1.0, complete=False)
    registry.register_blocks([thinking("same")], 2.0)
    registry.register_blocks([thinking("same")], 3.0, complete=False)

    assert registry.entries == {key(thinking("same")): RegistryEntry(0, 1.0)}


@proves("req:S1-8")
@pytest.mark.parametrize(
    ("block", "more"),
    [(EMPTY, ()), (text(""), ()), (redacted("R"), (Registered(key(redacted("R")), 0, "R"),))],
    ids=["thinking", "text", "redacted"],
)
def test_an_index_that_begins_again_before_its_stop_was_cut_there(block: Block, more: tuple[Registered, ...]) -> None:
    """Some backends reuse an index (clients 1.9); the first block never ended."""
    registry = ThinkingRegistry()

    registrations = streamed(registry, start(0, EMPTY), delta(0, "lost"), start(0, block), stop(0))

    lost = Registered(key(thinking("lost")), 0, "lost", complete=False)
    assert registrations == [NOTHING, NOTHING, Registration((lost, *more)), NOTHING]
    assert registry.entries[lost.key] == RegistryEntry(0, 0.0, complete=False)


@proves("req:S1-8")
def test_a_block_cut_before_its_first_word_leaves_nothing() -> None:
    """Nothing names it."""
    registry = ThinkingRegistry()
    watch = registry.watch()
    watch.event(start(0, EMPTY), 1.0)

    assert watch.end(2.0) == NOTHING
    assert registry.entries == {}


@proves("req:S1-10")
@pytest.mark.parametrize(
    ("data", "note"),
    [
        (b"[DONE]", "the event is not JSON: JSON is malformed: invalid character (byte 1)"),
        (b"", "the event is not JSON: Input data was truncated"),
        (b"null", ""),
        (b'{"type":"ping"}', ""),
        (b'{"type":"content_block_start"}', ""),
        (b'{"type":"content_block_start","index":0}', ""),
        (b'{"type":"content_block_start","index":0,"content_block":[]}', ""),
        (b'{"type":"content_block_delta","index":9,"delta":{"type":"thinking_delta","thinking":"x"}}', ""),
        (b'{"type":"content_block_stop","index":9}', ""),
        (b'{"type":["content_block_stop"],"index":0}', ""),
    ],
)
def test_an_event_that_means_nothing_here_registers_nothing(data: bytes, note: str) -> None:
    """No exception; others judge whether a stream is legal."""
    registry = ThinkingRegistry()

    assert streamed(registry, data) == [Registration(note=note)]
    assert registry.entries == {}


def test_a_delta_of_another_kind_leaves_an_open_block_alone() -> None:
    """A text delta on a thinking block is somebody else's error."""
    registry = ThinkingRegistry()
    odd = b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}'

    streamed(registry, start(0, EMPTY), delta(0, "so"), odd, stop(0))

    assert list(registry.entries) == [key(thinking("so"))]
