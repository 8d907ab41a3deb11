"""Golden requests: what a client sends, and what goes to the backend for it, with each change."""

from __future__ import annotations

import json

import pytest

from tests.golden.asking import fields_for, sent_for
from tests.golden.cases import Scene, scenes
from tests.manifest import proves

ASKED = scenes("asks")
TABLES = scenes("asking")


def shown(body: object) -> str:
    return json.dumps(body, ensure_ascii=False, indent=1)


@pytest.mark.parametrize(
    "scene", [pytest.param(scene, id=scene.id, marks=proves(f"case:{case.number}")) for case, scene in ASKED]
)
def test_the_request_goes_out_as_its_golden_says(scene: Scene) -> None:
    """The whole body, as values; every change, by path; or the whole error."""
    sent = sent_for(scene)

    assert sent.error == scene.sections.get("refused", b"").decode()
    assert shown(sent.body) == shown(json.loads(scene.sections.get("sends", b"null")))
    assert sent.lines == scene.sections.get("changes", b"").decode()


@pytest.mark.parametrize("scene", [scene for _, scene in ASKED], ids=lambda scene: scene.id)
def test_a_golden_request_says_what_comes_of_it(scene: Scene) -> None:
    assert "row" in scene.sections
    assert ("sends" in scene.sections) is not ("refused" in scene.sections)


@pytest.mark.parametrize("scene", [scene for _, scene in ASKED], ids=lambda scene: scene.id)
def test_what_was_sent_once_is_sent_again(scene: Scene) -> None:
    """Case 57b, for every golden: a conversation that goes on is a list that goes on, to the value."""
    asks, sends = json.loads(scene.sections["asks"]), json.loads(scene.sections.get("sends", b"{}"))
    for end, message in enumerate(asks["messages"], 1):
        if message["role"] != "user" or "sends" not in scene.sections:
            continue
        begun = {**asks, "messages": asks["messages"][:end]}
        sent = sent_for(Scene(scene.case, scene.title, {**scene.sections, "asks": json.dumps(begun).encode()}))
        assert sent.body["messages"] == sends["messages"][: len(sent.body["messages"])]


@pytest.mark.parametrize(
    "scene", [pytest.param(scene, id=scene.id, marks=proves(f"case:{case.number}")) for case, scene in TABLES]
)
def test_thinking_is_asked_for_in_the_backends_words(scene: Scene) -> None:
    """The client's fields, and what becomes of them; one line each."""
    lines = [line.split(" => ") for line in scene.text("asking").splitlines()]

    assert [[asks, shown(fields_for(scene, json.loads(asks)))] for asks, _ in lines] == [
        [asks, shown(json.loads(fields))] for asks, fields in lines
    ]
