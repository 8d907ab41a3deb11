"""Unfinished JSON, as the official SDK's reader reads it."""

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jiter import from_json

from clew.model.json import read_partial
from tests.counts import examples
from tests.manifest import accepts
from tests.wire.json_texts import objects, spelled

INPUT = (
    '{"path": "o.py", "edits": [{"line": 12, "text": "a\\"b\\n\\u20ac\\ud83d\\ude00"}, true], "n": -1.5, "o": {"x": null}}'
)


@accepts("rule:R70")
def test_every_prefix_reads_as_in_the_official_sdk() -> None:
    """R70: the SDK parses tool input with jiter's partial mode at every delta."""
    for end in range(1, len(INPUT) + 1):
        assert read_partial(INPUT[:end]) == from_json(INPUT[:end].encode(), partial_mode=True)


def test_every_prefix_reads_as_in_the_sdk_when_strings_are_kept() -> None:
    """The beta accumulator keeps unfinished strings for fine-grained tool streaming."""
    for end in range(1, len(INPUT) + 1):
        assert read_partial(INPUT[:end], strings=True) == from_json(INPUT[:end].encode(), partial_mode="trailing-strings")


@pytest.mark.slow
@given(tree=objects(unique=False), data=st.data())
@settings(max_examples=examples(36, soak=1500), deadline=None)
def test_any_prefix_of_any_object_reads_as_in_the_official_sdk(tree: Any, data: st.DataObject) -> None:
    text = spelled(tree, data.draw).decode()
    prefix = text[: data.draw(st.integers(1, len(text)))]

    assert read_partial(prefix) == from_json(prefix.encode(), partial_mode=True)
    assert read_partial(prefix, strings=True) == from_json(prefix.encode(), partial_mode="trailing-strings")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", {}),
        ("   ", {}),
        ("tru", {}),
        ('"abc', {}),
        ("12", 12),
        ('{"a":1]', {"a": 1}),
        ('{"a":[1,}', {"a": [1]}),
        ('{"a":1,}', {"a": 1}),
        ('{"a":1 "b":2}', {"a": 1}),
        ('{"a":01}', {}),
        ('{"a":1, b:2}', {"a": 1}),
        ('{"a":"\\ud800", "b', {}),
    ],
)
def test_nonsense_is_read_as_far_as_it_makes_sense(text: str, value: object) -> None:
    """R66: with eager input streaming the fragments may end as invalid JSON."""
    assert read_partial(text) == value


@pytest.mark.parametrize("text", ["[" * 200_000, '{"a":' * 100_000, "[" * 100_000 + "]" * 100_000])
def test_depth_neither_crashes_nor_hangs(text: str) -> None:
    started = time.thread_time()

    assert json.dumps(read_partial(text)).count("[") <= 128
    assert time.thread_time() - started < 10
