"""Golden streams of OpenAI-style backends: their bytes, the canonical events, the client's bytes. And any cut of them."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.model.assemble import assemble
from clew.model.events import StreamFailed
from clew.wire.events import decode_event, encode_event
from clew.wire.sse import SseReader
from tests.counts import SOAK, examples
from tests.golden.cases import Case, Scene, scenes
from tests.golden.driving import MODEL, client_of, events_of
from tests.golden.legal import check, problems
from tests.manifest import proves
from tests.model.streams import joined, reads
from tests.properties.stream_strategies import plainly, sdk_message

STREAMS = scenes("backend", "events", "client")
EACH = [pytest.param(scene, id=scene.id, marks=proves(f"case:{case.number}")) for case, scene in STREAMS]
SCENES = [scene for _, scene in STREAMS]
JOINED = {scene.id: events_of(scene, reads(scene.sections["backend"]), join=True) for scene in SCENES}
SOME = 100_000 if SOAK else 15
"""How many places of a stream are tried, evenly spread. Streams are shorter than the larger number: the soak tries all."""
STRIDE = 1 if SOAK else 16
"""Of the places of a stream each so many-th is one to cut at. Where that begins differs from stream to stream."""
TELLING = re.compile(rb"[\r\n\\<\x80-\xff]")
"""And behind each of these: ends of lines, escapes, tags, parts of a character."""


@pytest.mark.parametrize("scene", EACH)
def test_the_stream_becomes_what_its_golden_says(scene: Scene) -> None:
    """Events and client bytes are compared whole, where each event of the backend comes in a read of its own."""
    backend = reads(scene.sections["backend"])

    assert events_of(scene, backend) == scene.text("events")
    assert client_of(scene, backend).decode() == scene.text("client")


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.id)
def test_every_client_can_read_it(scene: Scene) -> None:
    """The golden itself is held to what clients need, so that no wrong expectation is ever met."""
    if not scene.text("client").startswith("HTTP "):
        check(scene.sections["client"], model=MODEL)


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.id)
def test_the_official_sdk_reads_the_same_blocks(scene: Scene) -> None:
    """What its accumulator holds at the end, or when the stream fails, is what ours does; but for the mark of an estimate, since
    it takes no member of usage that it does not know."""
    if scene.text("client").startswith("HTTP "):
        return
    events = [decode_event(event) for event in SseReader().feed(scene.sections["client"])]
    told = [event for event in events if not isinstance(event, StreamFailed)]

    ours = plainly(assemble(told))
    ours["usage"].pop("output_tokens_estimated", None)
    assert plainly(sdk_message(told)) == ours


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.id)
def test_no_cut_of_the_bytes_matters(scene: Scene) -> None:
    """Byte by byte, in one piece, and in two, at some places."""
    backend = scene.sections["backend"]
    _check_pieces(scene, [backend])
    _check_pieces(scene, [backend[at : at + 1] for at in range(len(backend))])
    for at in _places(len(backend)):
        _check_pieces(scene, [backend[:at], backend[at:]])


@pytest.mark.slow
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.id)
def test_no_single_cut_of_the_bytes_matters(scene: Scene) -> None:
    """In two pieces, wherever something could be torn apart, and at a part of all places; in the soak at every place."""
    backend = scene.sections["backend"]
    for at in {*range(len(scene.id) % STRIDE, len(backend), STRIDE), *(each.end() for each in TELLING.finditer(backend))}:
        _check_pieces(scene, [backend[:at], backend[at:]])


@settings(max_examples=examples(48, soak=4000), deadline=None)
@given(st.sampled_from(SCENES), st.lists(st.integers(0, 5000), max_size=6))
def test_no_cuts_of_the_bytes_matter(scene: Scene, cuts: list[int]) -> None:
    """In any pieces."""
    backend = scene.sections["backend"]
    places = [0, *sorted(cut % (len(backend) + 1) for cut in cuts), len(backend)]
    _check_pieces(scene, [backend[start:end] for start, end in pairwise(places)])


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.id)
def test_a_stream_that_breaks_off_never_looks_whole(scene: Scene) -> None:
    """Truncated anywhere: legal, and an error unless the backend had said that it was finished."""
    backend = scene.sections["backend"]
    for at in _places(len(backend)):
        _check_broken(scene, backend[:at])


@settings(max_examples=examples(48, soak=4000), deadline=None)
@given(st.sampled_from(SCENES), st.integers(0, 5000), st.binary(max_size=6), st.integers(0, 8))
def test_bytes_that_are_spoilt_break_nothing(scene: Scene, at: int, new: bytes, lost: int) -> None:
    """Some bytes replaced by others: whatever comes of it, a client can read it."""
    backend = scene.sections["backend"]
    at %= len(backend) + 1
    client = client_of(scene, [backend[:at] + new + backend[at + lost :]])

    assert client.startswith(b"HTTP ") or problems(client, model=MODEL) == []


def _places(size: int) -> list[int]:
    return sorted({at * size // SOME for at in range(SOME)} if size > SOME else range(size))


def _check_pieces(scene: Scene, pieces: list[bytes]) -> None:
    """The same as event by event, but for how many deltas a text is told in."""
    assert events_of(scene, pieces, join=True) == JOINED[scene.id]
    assert _joined(client_of(scene, pieces)) == _joined(scene.sections["client"])


def _joined(client: bytes) -> bytes:
    if client.startswith(b"HTTP "):
        return client
    events = [decode_event(event) for event in SseReader().feed(client)]
    return b"".join(map(encode_event, joined(events)))


def _check_broken(scene: Scene, begun: bytes) -> None:
    client = client_of(scene, [begun])
    if client.startswith(b"HTTP "):
        return
    assert problems(client, model=MODEL) == []
    ended = client.endswith(b'event: message_stop\ndata: {"type":"message_stop"}\n\n')
    assert not ended or _is_finished(begun) or scene.table("speech").get("cut_is_end")


def _is_finished(begun: bytes) -> bool:
    """Whether the backend said so, in a line that is whole but for its end."""
    lines = begun.replace(b"\r", b"\n").split(b"\n")
    said = (line for line in lines if b'"finish_reason":"' in line or b"[DONE]" in line)
    return any(line.endswith((b"}", b"[DONE]")) for line in said)


def test_each_scene_has_all_it_needs() -> None:
    found: list[tuple[Case, Scene]] = [pair for pair in scenes("backend") if pair not in STREAMS]
    assert [scene.id for _, scene in found] == []
