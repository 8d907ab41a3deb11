"""Requests of the Responses API with anything in them: they are read or refused with a path, and what is read can be
sent."""

import json
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from clew.dialects.openai_responses.options import ResponsesOptions
from clew.dialects.openai_responses.requests import read_request, references_in, write_request
from clew.errors import BodyTooLarge, RequestInvalid, Unrepresentable
from clew.pipeline.project import project
from tests.build import GLM, OPUS, target
from tests.counts import examples

Json = dict[str, Any]
CAPTURES = [
    json.loads(path.read_text())["body"]
    for path in sorted((Path(__file__).parents[1] / "fixtures" / "responses").glob("*.json"))
]
OPTIONS = (
    ResponsesOptions(),
    ResponsesOptions(own_items=True, namespaces=True, custom_tools=True, phases=True, knob="responses", summary="auto"),
    ResponsesOptions(
        thought_text="content", missing="space", encrypted=False, system="developer", tool_images=False, ids=False
    ),
)
WORDS = ("", "message", "reasoning", "function_call", "custom_tool_call_output", "input_text", "compaction", "clew2.x", "{")
values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 99) | st.sampled_from(WORDS) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(("type", "id", "content", "x")), inner, max_size=3)
    ),
    max_leaves=6,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every value in it."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *[each for key, child in children for each in places(child, (*path, key))]]


def damaged(body: Json, path: tuple[Any, ...], value: Any, drop: bool) -> Any:
    if not path:
        return value
    holder: Any = body
    for key in path[:-1]:
        holder = holder[key]
    if drop:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    return body


@st.composite
def requests(draw: st.DrawFn) -> bytes:
    """What a real client sent, with some of it left out or replaced."""
    body: Any = deepcopy(draw(st.sampled_from(CAPTURES)))
    for _ in range(draw(st.integers(0, 3))):
        if isinstance(body, dict):
            path = draw(st.sampled_from(places(body)))
            body = damaged(body, path, draw(values), draw(st.booleans()))
    return json.dumps(body).encode()


@settings(max_examples=examples(90, soak=5000), deadline=None)
@given(raw=requests())
def test_a_request_is_read_or_refused_and_what_is_read_is_sent_the_same_each_time(raw: bytes) -> None:
    references_in(raw)
    try:
        request = read_request(raw, {})
    except (RequestInvalid, BodyTooLarge):
        return
    assert project(request, target(OPUS)).body
    going = project(request, target(GLM, dialect="openai-responses")).request
    for options in OPTIONS:
        try:
            sent = write_request(going, options).body
        except (RequestInvalid, Unrepresentable):
            continue
        assert write_request(going, options).body == sent
        assert isinstance(json.loads(sent)["input"], list)


@settings(max_examples=examples(60, soak=5000), deadline=None)
@given(raw=st.binary(max_size=60) | values.map(lambda value: json.dumps({"model": "m", "input": value}).encode()))
def test_any_bytes_are_read_or_refused(raw: bytes) -> None:
    references_in(raw)
    with suppress(RequestInvalid):
        read_request(raw, {})
