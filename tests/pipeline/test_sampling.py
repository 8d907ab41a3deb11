"""Sampling parameters: removed where model, thinking or API version refuse them, and nowhere else."""

from typing import Any

import pytest

from clew.model.change import Change
from clew.pipeline.parameters import sampling
from tests.build import request, user
from tests.pipeline.targets import run

MANUAL = {"type": "enabled", "budget_tokens": 2000}
ADAPTIVE = {"type": "adaptive"}


@pytest.mark.parametrize(
    ("name", "fields", "left"),
    [
        # newer models take only the default (R14)
        ("claude-opus-5-5", {"temperature": 1}, {"temperature": 1}),
        ("claude-opus-5-5", {"temperature": 1.0, "top_p": 1}, {"temperature": 1.0, "top_p": 1}),
        ("claude-opus-5-5", {"temperature": 0.2}, {}),
        ("claude-opus-4-7", {"top_p": 0.99}, {}),
        ("claude-haiku-5-5", {"top_k": 5}, {}),
        ("claude-opus-5", {"temperature": 0, "top_p": 1, "top_k": 1}, {"top_p": 1}),
        # older ones are narrow while they think (R13)
        ("claude-haiku-4-5", {"temperature": 0.2}, {"temperature": 0.2}),
        ("claude-haiku-4-5", {"temperature": 0.2, "thinking": MANUAL}, {}),
        ("claude-haiku-4-5", {"temperature": 1, "thinking": MANUAL}, {"temperature": 1}),
        ("claude-haiku-4-5", {"top_p": 0.95, "thinking": MANUAL}, {"top_p": 0.95}),
        ("claude-haiku-4-5", {"top_p": 0.9, "thinking": MANUAL}, {}),
        ("claude-haiku-4-5", {"top_k": 40, "thinking": MANUAL}, {}),
        ("claude-haiku-4-5", {"top_k": 40, "thinking": {"type": "disabled"}}, {"top_k": 40}),
        ("claude-opus-4-6", {"temperature": 0.2, "thinking": ADAPTIVE}, {}),
        # one or the other (R14)
        ("claude-sonnet-4-6", {"temperature": 0.2, "top_p": 0.9}, {"temperature": 0.2}),
        ("claude-sonnet-4-5", {"top_p": 0.9}, {"top_p": 0.9}),
        ("claude-sonnet-4-6", {"temperature": 0.2, "top_p": 0.96, "thinking": ADAPTIVE}, {"top_p": 0.96}),
        ("claude-opus-4-1", {"temperature": 0.2, "top_p": 0.9}, {"temperature": 0.2, "top_p": 0.9}),
        # other vendors take what they take
        ("qwen3-32b", {"temperature": 0.2, "top_p": 0.9, "top_k": 3}, {"temperature": 0.2, "top_p": 0.9, "top_k": 3}),
        # no number: not ours to guess
        ("claude-opus-5-5", {"temperature": None, "top_k": "x"}, {"temperature": None, "top_k": "x"}),
    ],
)
def test_what_the_model_refuses_is_left_out(name: str, fields: dict[str, Any], left: dict[str, Any]) -> None:
    """R13, R14 under version 2023-06-01."""
    body, changes = run(sampling, request(user("hi"), **fields), name)
    assert {key: body[key] for key in ("temperature", "top_p", "top_k") if key in body} == left
    assert {change.path for change in changes} == {key for key in fields if key != "thinking" and key not in left}


@pytest.mark.parametrize("name", ["claude-opus-5-5", "claude-haiku-4-5", "qwen3-32b"])
def test_the_newer_api_version_has_none(name: str) -> None:
    """R2: even the default value, on every model."""
    body, changes = run(sampling, request(user("hi"), temperature=1, top_p=None, top_k=3), name, version="2026-10-21")
    assert body.keys().isdisjoint({"temperature", "top_p", "top_k"})
    why = "anthropic-version 2026-10-21 has no sampling parameters (R2)"
    assert changes == tuple(Change("sampling", key, "removed", why) for key in ("temperature", "top_p", "top_k"))


def test_each_reason_is_named() -> None:
    """Law 6."""
    _, deprecated = run(sampling, request(user("hi"), temperature=0), "claude-opus-5-5")
    _, thinks = run(sampling, request(user("hi"), temperature=0, thinking=MANUAL), "claude-haiku-4-5")
    _, both = run(sampling, request(user("hi"), temperature=0, top_p=1), "claude-haiku-4-5")
    assert deprecated == (Change("sampling", "temperature", "removed", "deprecated for this model (R14)"),)
    assert thinks == (Change("sampling", "temperature", "removed", "not with thinking (R13)"),)
    assert both == (Change("sampling", "top_p", "removed", "this model takes temperature or top_p, not both (R14)"),)
