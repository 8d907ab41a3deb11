"""What the public Translator does for each delta, and what it holds, however long an answer is."""

import json
import tracemalloc

import pytest

from clew import Translator
from tests.growth.work import FACTOR, check_growth
from tests.manifest import proves, public

pytestmark = pytest.mark.slow

DELTAS = 64
LITTLE = 4096
"""Bytes that may come and go."""


def delta(kind: str) -> bytes:
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": {kind: "some words " * 20}}]}).encode() + b"\n\n"


def translate(chunks: list[bytes]) -> Translator:
    translator = Translator(backend="deepseek", served="deepseek-v4-pro")
    for chunk in chunks:
        assert translator.feed(chunk)
    return translator


def held(chunks: list[bytes]) -> int:
    """The bytes that a translator holds after these, while its last block is open."""
    tracemalloc.start()
    translator = translate(chunks)
    found, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert translator.changes == []
    return found


@public("library")
@proves("req:S3-38")
@pytest.mark.parametrize("kind", ["content", "reasoning_content"])
def test_a_delta_costs_the_same_however_many_came_before_it(kind: str) -> None:
    """S3-38: counted in lines and bytes, not in seconds."""
    check_growth(lambda n: [delta(kind)] * n, translate, DELTAS)


@public("library")
@proves("req:S3-38")
def test_text_that_was_passed_on_is_not_held() -> None:
    """S3-38: a thought is, while it runs: its maker may want it back whole."""
    translate([delta("content")])
    few, many = (held([delta("content")] * n) for n in (DELTAS, FACTOR * DELTAS))
    assert many <= few + LITTLE
