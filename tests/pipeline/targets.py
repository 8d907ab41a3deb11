"""Targets by model name, and one step at a time."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from clew.model.change import Change
from clew.model.facts import models, profile_for
from clew.model.origin import Target
from clew.model.request import Request
from clew.pipeline.step import Facts, Options
from clew.wire.requests import encode

Step = Callable[[Request, Target, Facts], tuple[Request, tuple[Change, ...]]]


def model(name: str = "claude-opus-5-5") -> Target:
    """A first-party Claude model as target."""
    return Target(backend="claude", model=name, profile=profile_for(name))


def current_models() -> list[str]:
    """The names of all models of the table that can be asked."""
    return [name for name, row in models().items() if row.known and not row.retired]


def run(
    step: Step, request: Request, name: str = "claude-opus-5-5", *, version: str = "2023-06-01", **options: Any
) -> tuple[dict[str, Any], tuple[Change, ...]]:
    """The body that goes out after one step, and the changes. Every step is idempotent, and silent only if it does nothing."""
    facts = Facts(options=Options(**options), version=version)
    before = encode(request)
    once, changes = step(request, model(name), facts)
    twice, again = step(once, model(name), facts)
    assert encode(request) == before
    assert (once is request) == (not changes)
    assert twice is once
    assert not again
    return json.loads(encode(once)), changes
