"""Golden requests of the Responses API: a client's bytes, the canonical request, and what goes to a backend for it."""

from __future__ import annotations

import json

import pytest

from tests.golden.asking import canonical_for, sent_for
from tests.golden.cases import RESPONSES, Scene, read_cases
from tests.manifest import proves

ASKED = [(case, scene) for case in read_cases(RESPONSES) for scene in case.scenes if "row" in scene.sections]
EACH = pytest.mark.parametrize(
    "scene", [pytest.param(scene, id=scene.id, marks=proves(f"case:{case.number}")) for case, scene in ASKED]
)


def shown(body: object) -> str:
    return json.dumps(body, ensure_ascii=False, indent=1)


@EACH
def test_the_request_goes_out_as_its_golden_says(scene: Scene) -> None:
    """The whole body, as values; every change, by path; or the whole error."""
    sent = sent_for(scene)

    assert sent.error == scene.sections.get("refused", b"").decode()
    assert shown(sent.body) == shown(json.loads(scene.sections.get("sends", b"null")))
    assert sent.lines == scene.sections.get("changes", b"").decode()


@EACH
def test_the_canonical_request_is_as_its_golden_says(scene: Scene) -> None:
    """Of a client of this dialect; one of Anthropic's sends it."""
    if "canonical" in scene.sections:
        document, unsaid = canonical_for(scene)
        assert shown(document) == shown(json.loads(scene.sections["canonical"]))
        assert unsaid == scene.sections.get("unsaid", b"").decode()


@EACH
def test_what_was_sent_once_is_sent_again(scene: Scene) -> None:
    """A conversation that goes on is a list that goes on, to the value."""
    asks, sends = json.loads(scene.sections["asks"]), json.loads(scene.sections.get("sends", b"{}"))
    name = "messages" if "messages" in sends else "input"
    for end, message in enumerate(asks.get("messages", []), 1):
        if message["role"] == "user":
            begun = {**asks, "messages": asks["messages"][:end]}
            sent = sent_for(Scene(scene.case, scene.title, {**scene.sections, "asks": json.dumps(begun).encode()}))
            assert sent.body[name] == sends[name][: len(sent.body[name])]
