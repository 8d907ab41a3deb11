"""Requests and answers of clients that do not speak the Messages API: the golden cases of every front, with Claude behind it.

A case is a file in `fronts/DIALECT`, in the form that the README describes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clew.dialects import DIALECTS, anthropic
from clew.dialects.optional import StoredItems
from clew.dialects.shape import AnswerContext, Dialect
from clew.errors import RequestInvalid
from clew.model.change import Change
from clew.model.origin import Origin
from clew.model.request import ALWAYS, Request
from clew.pipeline.project import project
from clew.pipeline.stream.client_view import ClientView, ViewOptions
from clew.pipeline.stream.translation import TranslatedAnswer
from tests.build import target
from tests.golden.cases import Case, Scene, read_case
from tests.manifest import proves

WHOLE = 1 << 20
IDS = frozenset({"id", "object", "model"})
"""What is said with every chunk."""
FRONTS = Path(__file__).parent / "fronts"
CASES = [(path.parent.name, read_case(path)) for path in sorted(FRONTS.glob("*/*.txt"))]


def scenes(section: str) -> list[Any]:
    """The scenes that have this section, with their dialect."""
    return [
        pytest.param(DIALECTS[name], scene, id=f"{name} {scene.id}", marks=proves(f"case:{case.number}"))
        for name, case in CASES
        for scene in case.scenes
        if section in scene.sections
    ]


def read(front: Dialect[Any], scene: Scene) -> Request:
    """With what the store has of what it names, where the scene says so."""
    if "stored" not in scene.sections:
        return front.read_request(scene.sections["asks"], {}, ALWAYS)
    assert front.stored is not None
    assert front.stored.references_in(scene.sections["asks"]) is not None
    found = msgspec.json.decode(scene.sections["stored"], type=StoredItems)
    return front.stored.read_request_with(scene.sections["asks"], {}, ALWAYS, found)


def said_in(stream: bytes) -> dict[str, str]:
    """All texts of a stream, joined by where they stand."""
    found: dict[str, str] = {}

    def take(path: str, value: Any) -> None:
        if isinstance(value, dict):
            for name, each in value.items():
                take(f"{path}.{name}", each)
        elif isinstance(value, list):
            for each in value:
                take(path, each)
        elif isinstance(value, str) and path.partition(".")[2] not in IDS:
            found[path] = found.get(path, "") + value

    for line in stream.decode().splitlines():
        if line.startswith("data: {"):
            take("", json.loads(line[6:]))
    return found


def lines_of(changes: tuple[Change, ...]) -> list[str]:
    return [f"{change.path} {change.what}" for change in changes]


@pytest.mark.parametrize(("front", "scene"), scenes("canonical"))
def test_a_request_is_read(front: Dialect[Any], scene: Scene) -> None:
    """The client's bytes, and the canonical document that they are."""
    request = read(front, scene)
    assert json.loads(request.source.raw) == json.loads(scene.sections["canonical"])
    assert request.source.native is not None
    assert lines_of(request.source.native.changes) == scene.sections.get("unread", b"").decode().splitlines()


@pytest.mark.parametrize(("front", "scene"), scenes("sends"))
def test_a_request_goes_to_claude(front: Dialect[Any], scene: Scene) -> None:
    """The bytes that the backend gets, and what of the canonical request was altered for them."""
    projection = project(read(front, scene), target())
    assert json.loads(projection.body) == json.loads(scene.sections["sends"])
    assert lines_of(projection.changes) == scene.sections.get("changes", b"").decode().splitlines()


@pytest.mark.parametrize(("front", "scene"), scenes("refused"))
def test_a_request_that_cannot_be_said_is_refused(front: Dialect[Any], scene: Scene) -> None:
    with pytest.raises(RequestInvalid) as caught:
        read(front, scene)
    assert str(caught.value) == scene.text("refused")
    assert scene.text("refused").startswith(caught.value.path)


@pytest.mark.parametrize("size", [1, 7, WHOLE])
@pytest.mark.parametrize(("front", "scene"), scenes("client"))
def test_an_answer_reaches_the_client(front: Dialect[Any], scene: Scene, size: int) -> None:
    """A stream of Claude's, and what the client gets for it, byte for byte and wherever it was cut."""
    request = read(front, scene)
    native = request.source.native
    context = AnswerContext(model=request.body.model, message_id="msg_x1", created=1700000000, native=native)
    view = ViewOptions(model=request.body.model, exchange="x1", origin=Origin("anthropic", "claude", "m", "me"))
    reader = anthropic.DIALECT.stream_reader(context, anthropic.AnthropicOptions())
    answer = TranslatedAnswer(ClientView(view), reader, front.stream_writer(context))
    raw = scene.sections["backend"]
    told = b"".join([answer.feed(raw[at : at + size]) for at in range(0, len(raw), size)]) + answer.flush()
    told += b"".join(answer.held)
    if size == WHOLE:
        assert told == scene.sections["client"]
    else:  # the same, in smaller pieces
        assert said_in(told) == said_in(scene.sections["client"])


def test_every_case_is_in_the_folder_of_a_dialect() -> None:
    assert {name for name, _ in CASES} <= set(DIALECTS)
    assert all(isinstance(case, Case) and case.scenes for _, case in CASES)
