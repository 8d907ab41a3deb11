"""Models and prices that stand elsewhere in a request than in its own model."""

import json
from typing import Any

import pytest

from clew.errors import BodyTooLarge, RequestInvalid
from clew.wire.other_models import dearer_field, named_models


@pytest.mark.parametrize(
    ("fields", "models", "dearer"),
    [
        ({}, [], ""),
        ({"fallbacks": [{"model": "b"}, {"model": "c", "max_tokens": 5}]}, ["b", "c"], "fallbacks"),
        ({"fallbacks": "b"}, ["b"], "fallbacks"),
        ({"fallbacks": []}, [], ""),
        ({"models": ["b", "c"]}, ["b", "c"], "models"),
        ({"tools": [{"name": "x"}, {"type": "advisor_20260301", "model": "b"}]}, ["b"], "tools"),
        ({"tools": [{"name": "model", "input_schema": {"model": "b"}}]}, [], ""),
        ({"speed": "standard", "service_tier": "auto", "inference_geo": "global"}, [], ""),
        ({"speed": "fast"}, [], "speed"),
        ({"service_tier": "priority"}, [], "service_tier"),
        ({"inference_geo": "us"}, [], "inference_geo"),
        ({"models": None, "fallbacks": None, "tools": "x", "speed": ["fast"]}, [], ""),
        ({"messages": [{"role": "user", "content": '"fallbacks":[{"model":"b"}]'}]}, [], ""),
    ],
)
def test_other_models_and_dearer_fields_are_found(fields: dict[str, Any], models: list[str], dearer: str) -> None:
    raw = json.dumps({"model": "a", **fields}).encode()
    assert named_models(raw) == ["a", *models]
    assert dearer_field(raw) == dearer


def test_every_value_of_a_doubled_key_counts() -> None:
    raw = b'{"model":"b","mod\\u0065l":"c","model":"a","fallbacks":[{"model":"d"}],"fallbacks":null}'
    assert named_models(raw) == ["b", "c", "a", "d"]
    assert dearer_field(raw) == "fallbacks"


def test_what_cannot_be_read_is_refused() -> None:
    assert named_models(b'{"model":"a","tools":[{"x":1e400,"model":"b"}]}') == ["a", "b"]
    with pytest.raises((RequestInvalid, BodyTooLarge)):
        named_models(b'{"model":"a","tools":' + b"[" * 100_000 + b"]" * 100_000 + b"}")
