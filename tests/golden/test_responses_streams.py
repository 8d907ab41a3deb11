"""Golden streams of the Responses API: backends' bytes and the Messages client's, Messages bytes and its clients'. And any cut."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.wire.events import decode_event, encode_event
from clew.wire.sse import SseReader
from tests.counts import examples
from tests.dialects.openai_responses.accumulate import accumulated
from tests.golden.cases import Scene, read_case
from tests.golden.driving import MODEL
from tests.golden.legal import check
from tests.golden.responses_driving import messages_client, responses_client
from tests.manifest import proves
from tests.model.streams import joined, reads

CASES = [read_case(path) for path in sorted((Path(__file__).parent / "responses_streams").glob("*.txt"))]
ALL = [(case, scene) for case in CASES for scene in case.scenes]
BACKS = [scene for _, scene in ALL if "backend" in scene.sections]
FRONTS = [scene for _, scene in ALL if "messages" in scene.sections]
EACH = [pytest.param(scene, id=scene.id, marks=proves(f"case:{case.number}")) for case, scene in ALL]


@pytest.mark.parametrize("scene", EACH)
def test_the_stream_becomes_what_its_golden_says(scene: Scene) -> None:
    """Whole, where the backend's bytes come in one read."""
    assert _client_of(scene, scene.sections.get("backend") or scene.sections["messages"]) == scene.sections["client"]


def _client_of(scene: Scene, *pieces: bytes) -> bytes:
    return messages_client(*pieces) if "backend" in scene.sections else responses_client(scene.table("asked"), *pieces)


@pytest.mark.parametrize("scene", BACKS, ids=lambda scene: scene.id)
def test_every_client_of_messages_can_read_it(scene: Scene) -> None:
    if not scene.text("client").startswith("HTTP "):
        check(scene.sections["client"], model=MODEL)


@pytest.mark.parametrize("scene", FRONTS, ids=lambda scene: scene.id)
def test_every_client_of_responses_can_read_it(scene: Scene) -> None:
    assert accumulated(scene.sections["client"])["status"] in ("completed", "incomplete")


@settings(max_examples=examples(36, soak=4000), deadline=None)
@given(st.sampled_from(BACKS), st.lists(st.integers(0, 5000), max_size=6))
def test_no_cuts_of_the_bytes_matter(scene: Scene, cuts: list[int]) -> None:
    """The same as event by event, but for how many deltas a text is told in."""
    backend = scene.sections["backend"]
    places = [0, *sorted(cut % (len(backend) + 1) for cut in cuts), len(backend)]
    pieces = [backend[start:end] for start, end in pairwise(places)]

    assert (
        _joined(messages_client(*pieces)) == _joined(messages_client(*reads(backend))) == _joined(scene.sections["client"])
    )


def _joined(client: bytes) -> bytes:
    if client.startswith(b"HTTP "):
        return client
    return b"".join(map(encode_event, joined([decode_event(event) for event in SseReader().feed(client)])))
