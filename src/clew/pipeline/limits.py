"""Limits of the target that a client for another model cannot know: how long an answer may be, which tools may be forced.

A longer answer than the model gives is asked for as its longest (R7). A forced tool that the model refuses (R49) is the
vendor's to refuse, in its own words, unless the config says to let the model choose instead.
"""

from __future__ import annotations

import msgspec
from msgspec import UNSET, Raw

from clew.model.change import Change
from clew.model.facts import ModelFacts
from clew.model.json import JsonObject
from clew.model.request import Request
from clew.model.target import Target
from clew.pipeline.modes import mode_of
from clew.pipeline.step import Facts
from clew.pipeline.values import changed_fields, number_of, object_of, rewritten

__all__ = ["answer_length", "forced_tools"]

STEP = "limits"


def answer_length(request: Request, target: Target, facts: Facts) -> tuple[Request, tuple[Change, ...]]:
    """The step: `max_tokens` within the model's cap."""
    asked, cap = number_of(request.body.max_tokens), target.profile.max_tokens
    if not cap or asked is None or asked <= cap:
        return request, ()
    why = f"{asked} is more than this model gives ({cap}) (R7)"
    return request.with_fields(max_tokens=Raw(msgspec.json.encode(cap))), (Change(STEP, "max_tokens", "set", why),)


def forced_tools(request: Request, target: Target, facts: Facts) -> tuple[Request, tuple[Change, ...]]:
    """The step: `auto` instead of a forced tool that is refused, if the config asks for it."""
    choice = object_of(request.body.tool_choice)
    if facts.options.forced_tools == "keep" or choice is None or request.body.tool_choice is UNSET:
        return request, ()
    manual = mode_of(object_of(request.body.thinking)) == "enabled"
    if choice.get("type") not in ("any", "tool") or not _is_refused(target.profile, manual=manual):
        return request, ()
    free: JsonObject = {**{key: value for key, value in choice.items() if key != "name"}, "type": "auto"}
    new = rewritten(request.body.tool_choice, free, path="tool_choice")
    why = "not with thinking.type enabled (R49)" if manual else "this model refuses forced tools (R49)"
    return changed_fields(request, tool_choice=new), (Change(STEP, "tool_choice", "set", why),)


def _is_refused(profile: ModelFacts, *, manual: bool) -> bool:
    return profile.forced_tools == "reject" or manual
