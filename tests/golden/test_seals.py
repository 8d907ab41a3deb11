"""Seals on translated streams, minted and opened by the real sealer: every golden thought carries one that holds."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from clew.dialects.openai_chat.streams import ChatStreamReader
from clew.errors import SealInvalid
from clew.pipeline.stream.client_view import ClientView
from clew.thinking.seal import PREFIX, Sealer
from tests.golden.cases import Scene, scenes
from tests.golden.driving import ORIGIN, asked_of, options_of, wear
from tests.manifest import proves
from tests.pipeline.stream.wearing import translated_answer

SEALER = Sealer({"a": bytes(range(32))}, "a")


def thoughts(scene: Scene) -> Iterator[tuple[int, str, str]]:
    """Index, text and signature of each whole thinking block that a client accumulates."""
    relay = translated_answer(ClientView(wear(sealer=SEALER)), ChatStreamReader(asked_of(scene), options_of(scene)))
    out = relay.feed(scene.sections["backend"]) + relay.flush()
    text = ""
    for line in out.decode().splitlines():
        delta = json.loads(line.removeprefix("data: ")).get("delta", {}) if line.startswith("data: ") else {}
        text += delta.get("thinking", "")
        if signature := delta.get("signature"):
            yield json.loads(line.removeprefix("data: "))["index"], text, signature
            text = ""


def payloads(scene: Scene) -> list[tuple[int, str]]:
    """What the golden says behind the stop of each thought."""
    stops = [line.split(" ", 2) for line in scene.text("events").splitlines() if line.startswith("stop ")]
    return [(int(stop[1]), stop[2]) for stop in stops if len(stop) > 2]


THOUGHTS = [scene for _, scene in scenes("backend", "events") if payloads(scene)]


@proves("req:S3-32", "req:S3-33")
@pytest.mark.parametrize("scene", THOUGHTS, ids=lambda scene: scene.id)
def test_every_thought_has_a_seal_that_holds_and_says_whose_it_is(scene: Scene) -> None:
    """S3-33: it verifies with the local key, has version, origin and place, and carries what its maker needs back."""
    seals = [(index, SEALER.open(token, text, principal="local")) for index, text, token in thoughts(scene)]

    assert [(seal.index, seal.payload.decode()) for _, seal in seals] == payloads(scene)
    assert all((seal.origin, seal.exchange, seal.index) == (ORIGIN, "x1", index) for index, seal in seals)


@proves("req:S3-33")
@pytest.mark.parametrize("scene", THOUGHTS, ids=lambda scene: scene.id)
def test_a_changed_byte_of_text_or_seal_breaks_it(scene: Scene) -> None:
    """S3-33: and so does another version, or another principal."""
    for _, text, token in thoughts(scene):
        at = len(token) // 2
        changed = token[:at] + ("A" if token[at] != "A" else "B") + token[at + 1 :]
        for seal, words, who in (
            (changed, text, "local"),
            (token, text + " ", "local"),
            (token.replace(PREFIX, "clew9."), text, "local"),
            (token, text, "somebody"),
        ):
            with pytest.raises(SealInvalid):
                SEALER.open(seal, words, principal=who)
