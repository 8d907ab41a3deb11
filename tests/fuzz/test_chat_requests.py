"""Requests of Chat Completions with anything in them: they are read or refused with a path, and what is read can be sent."""

import json
from contextlib import suppress
from copy import deepcopy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from clew.dialects.openai_chat.options import ChatOptions
from clew.dialects.openai_chat.requests import read_request, write_request
from clew.errors import BodyTooLarge, RequestInvalid, Unrepresentable
from clew.pipeline.project import project
from tests.build import GLM, OPUS, target
from tests.counts import examples
from tests.fuzz.test_responses_requests import damaged, places, values
from tests.golden.test_fronts import CASES

GOLDEN: list[Any] = [
    json.loads(scene.sections["asks"])
    for dialect, case in CASES
    for scene in case.scenes
    if dialect == "openai-chat" and "asks" in scene.sections
]


@st.composite
def requests(draw: st.DrawFn) -> bytes:
    """What a client asks, with some of it left out or replaced."""
    body: Any = deepcopy(draw(st.sampled_from(GOLDEN)))
    for _ in range(draw(st.integers(0, 3))):
        if isinstance(body, dict):
            body = damaged(body, draw(st.sampled_from(places(body))), draw(values), draw(st.booleans()))
    return json.dumps(body).encode()


@settings(max_examples=examples(90, soak=20_000))
@given(requests())
def test_a_request_is_read_or_refused_and_never_a_traceback(raw: bytes) -> None:
    with suppress(RequestInvalid, BodyTooLarge, Unrepresentable):
        request = read_request(raw, {})
        assert request.source.native is not None
        assert json.loads(project(request, target(OPUS)).body)
        write_request(project(request, target(GLM, dialect="openai-chat")).request, ChatOptions())
