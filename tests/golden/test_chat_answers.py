"""Golden answers that are no stream of Chat Completions: bodies, refusals, and streams that are Messages already."""

from __future__ import annotations

import pytest

from tests.golden.cases import Case, Scene, scenes
from tests.golden.driving import MODEL, client_of_body, client_of_messages, client_of_refusal
from tests.golden.legal import check
from tests.manifest import proves


def each(pairs: list[tuple[Case, Scene]]) -> list[object]:
    return [pytest.param(scene, id=scene.id, marks=proves(f"case:{case.number}")) for case, scene in pairs]


@pytest.mark.parametrize("scene", each(scenes("body")))
def test_a_body_becomes_what_its_golden_says(scene: Scene) -> None:
    """A stream was asked for, and came in one piece."""
    assert client_of_body(scene).decode() == scene.text("client")
    if not scene.text("client").startswith("HTTP "):
        check(scene.sections["client"], model=MODEL)


@pytest.mark.parametrize("scene", each(scenes("refusal")))
def test_a_refusal_is_told_as_its_golden_says(scene: Scene) -> None:
    """In the words and with the status that clients act on."""
    assert client_of_refusal(scene).decode() == scene.text("client")


@pytest.mark.parametrize("scene", each(scenes("messages")))
def test_a_stream_of_messages_passes_as_its_golden_says(scene: Scene) -> None:
    """In one piece and byte by byte; sealed ones are what every client can read."""
    stream = scene.sections["messages"]
    expected = (scene.text("client"), scene.sections.get("illegal", b"").decode())

    for pieces in ([stream], [stream[at : at + 1] for at in range(len(stream))]):
        client, illegal = client_of_messages(scene, pieces)
        assert (client.decode(), illegal) == expected
    if scene.table("wear").get("sealed", True) and not expected[1]:
        check(scene.sections["client"], model=MODEL)
