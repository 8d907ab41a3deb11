"""Anthropic's own safeguard settings go to Anthropic alone: to everybody else they are an unknown field."""

from __future__ import annotations

from msgspec import UNSET

from clew.model.change import Change
from clew.model.origin import ANTHROPIC
from clew.model.request import Request
from clew.model.target import Target
from clew.pipeline.step import Facts

__all__ = ["safeguards"]


def safeguards(request: Request, target: Target, facts: Facts) -> tuple[Request, tuple[Change, ...]]:
    """The step."""
    if target.realm == ANTHROPIC or request.body.safeguards is UNSET:
        return request, ()
    change = Change("safeguards", "safeguards", "removed", f"only Anthropic knows them, not {target.backend}")
    return request.with_fields(safeguards=UNSET), (change,)
