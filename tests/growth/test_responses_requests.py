"""Requests of the Responses API with n and 4n of each thing, read, projected, and written for either side."""

import json
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from msgspec import Raw

from clew.dialects.openai_responses.detail import client_path
from clew.dialects.openai_responses.options import ResponsesOptions
from clew.dialects.openai_responses.requests import read_request, read_request_with, references_in, write_request
from clew.dialects.optional import StoredItems
from clew.errors import BodyTooLarge, ClewError
from clew.model.origin import Target
from clew.model.request import ALWAYS
from clew.pipeline.project import project
from clew.pipeline.step import Facts
from tests.build import GLM, OPUS, target
from tests.growth.work import check_growth, each_with

Json = dict[str, Any]
N = 32
USER: Json = {"role": "user", "content": "Hi"}
PLAIN = ResponsesOptions(thought_text="content", missing="space")
OPENAI = ResponsesOptions(own_items=True, namespaces=True, custom_tools=True, phases=True)

pytestmark = pytest.mark.slow


def _call(i: int) -> Json:
    return {"type": "function_call", "id": f"fc_{i}", "call_id": f"c{i}", "name": "f", "arguments": '{"a": 1}'}


def _output(i: int) -> Json:
    return {"type": "function_call_output", "call_id": f"c{i}", "output": "ok"}


def _thought(i: int) -> Json:
    return {
        "type": "reasoning",
        "id": f"rs_{i}",
        "summary": [{"type": "summary_text", "text": "Hm."}],
        "encrypted_content": f"g{i}",
    }


def _said(i: int) -> Json:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": f"So {i}."}]}


def _search(i: int) -> Json:
    return {"type": "web_search_call", "id": f"ws_{i}", "status": "completed"}


def _input(*makers: Callable[[int], Json], apart: bool = False) -> Callable[[int], bytes]:
    """All of the first kind, then all of the next; or one of each in turns."""

    def made(n: int) -> bytes:
        turns = [[make(i) for make in makers] for i in range(n)]
        rows = turns if not apart else [list(row) for row in zip(*turns, strict=True)]
        return json.dumps({"model": "m", "input": [USER, *[item for row in rows for item in row], USER]}).encode()

    return made


def _tools(n: int) -> bytes:
    inner = [{"type": "function", "name": f"f{i}", "parameters": {"type": "object", "properties": {}}} for i in range(n)]
    tools = [{"type": "namespace", "name": "ns", "tools": inner}, *inner]
    calls = [{**_call(i), "name": f"f{i}", "namespace": "ns"} for i in range(n)]
    return json.dumps({"model": "m", "input": [USER, *calls], "tools": tools}).encode()


def _parts(n: int) -> bytes:
    parts = [{"type": "input_text", "text": "x"}] * n
    return json.dumps({"model": "m", "input": [{"role": "user", "content": parts}]}).encode()


REPEATED: dict[str, Callable[[int], bytes]] = {
    "rounds": _input(_thought, _call, _output),
    "parallel calls": _input(_call, _output, apart=True),
    "answers": _input(_thought, _said, lambda i: USER),
    "thoughts": _input(_thought),
    "searches in one answer": _input(_said, _search),
    "searches behind an answer": _input(_said, _search, apart=True),
    "developer messages": _input(lambda i: {"role": "developer", "content": "Mind."}),
    "outputs of nothing": _input(_output),
    "references": _input(lambda i: {"type": "compaction", "encrypted_content": f"s{i}"}),
    "tools": _tools,
    "parts": _parts,
}


def _sent(raw: bytes, to: Target, options: ResponsesOptions | None) -> None:
    with suppress(ClewError):
        projection = project(read_request(raw, {}), to, Facts())
        assert projection.body if options is None else write_request(projection.request, options).body


WAYS: dict[str, Callable[[bytes], object]] = {
    "Claude": partial(_sent, to=target(OPUS), options=None),
    "OpenAI": partial(_sent, to=target(GLM, dialect="openai-responses"), options=OPENAI),
    "a plain server": partial(_sent, to=target(GLM, dialect="openai-responses"), options=PLAIN),
    "names": references_in,
}


@pytest.mark.parametrize(("repeated", "way"), each_with(REPEATED, WAYS))
def test_a_request_costs_work_in_proportion(repeated: str, way: str) -> None:
    check_growth(REPEATED[repeated], WAYS[way], N)


@pytest.mark.parametrize("repeated", ["outputs of nothing", "thoughts"])
def test_the_places_of_changes_cost_work_in_proportion(repeated: str) -> None:
    """Changes are told with their places in the client's own request."""

    def find_places(raw: bytes) -> None:
        native = read_request(raw, {}).source.native
        assert native is not None
        for block in range(raw.count(b'"type": "') - 1):
            assert client_path(native, f"messages.1.content.{block}").startswith("input.")

    check_growth(REPEATED[repeated], find_places, N)


def test_a_long_item_that_is_named_very_often_is_refused_before_it_is_put_together() -> None:
    """A request of 100 KB must not become gigabytes."""
    item = Raw(b'{"type":"message","role":"assistant","content":"' + b"w" * 1_000_000 + b'"}')
    raw = json.dumps({"model": "m", "input": [{"type": "item_reference", "id": "msg_1"}] * 2000}).encode()
    tracemalloc.start()
    try:
        with pytest.raises(BodyTooLarge):
            read_request_with(raw, {}, ALWAYS, StoredItems(by_id={"msg_1": item}))
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()
