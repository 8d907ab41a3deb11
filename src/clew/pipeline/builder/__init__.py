"""Builds a request from a client's own history, as Claude Code's request builder does, for code that has no request yet.

The order is fixed and visible in the trace: budget → normalise → cache → build → send. Nothing is logged: events, warnings
and changes come back with the request.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from msgspec import Struct, structs

from clew.model.change import Change
from clew.model.facts import ModelFacts, model_facts
from clew.model.facts.dated import CONTEXT_BETA
from clew.model.json import JsonObject, JsonValue
from clew.pipeline.builder.history import (
    TrailingThinking,
    bare,
    filter_trailing_thinking,
    is_thinking_block,
    normalise_messages,
)
from clew.pipeline.context_edits import context_management
from clew.pipeline.marks import mark_messages
from clew.pipeline.modes import Setting, mode_of, settled
from clew.pipeline.options import CacheRules
from clew.thinking.budgets import Budget, BudgetEvent, BudgetRules, budget_for, human_input

__all__ = [
    "Built",
    "Call",
    "TrailingThinking",
    "build_request",
    "filter_trailing_thinking",
    "is_thinking_block",
    "normalise_messages",
]

T = TypeVar("T")


class Call(Struct, frozen=True, kw_only=True):
    """One request to be. `messages` may be bare or in the client's envelopes."""

    model: str
    messages: Sequence[JsonObject]
    max_tokens: int
    system: JsonValue = ""
    tools: Sequence[JsonObject] = ()
    budget: BudgetRules = BudgetRules()
    cache: CacheRules = CacheRules()
    preserve_thinking: bool = False
    edits: Sequence[JsonObject] = ()
    """Context edits besides the one that keeps thinking."""
    profile: ModelFacts | None = None
    """What is known of the model; looked up by its name if it is not given."""


class Built(Struct, Generic[T], frozen=True, kw_only=True):
    """The request, what it took to build it, and what the sender returned."""

    body: JsonObject
    betas: tuple[str, ...]
    trace: tuple[str, ...]
    events: tuple[BudgetEvent | TrailingThinking, ...]
    warnings: tuple[str, ...]
    changes: tuple[Change, ...]
    answer: T


class _Draft(Struct, frozen=True, kw_only=True):
    """The request as far as it is built."""

    call: Call
    profile: ModelFacts
    budget: Budget = Budget(0)
    messages: Sequence[JsonObject] = ()
    removed: TrailingThinking | None = None
    setting: Setting = Setting()
    body: JsonObject = {}


def build_request(call: Call, send: Callable[[JsonObject], T]) -> Built[T]:
    """Build the request and hand its body to `send`."""
    draft = _Draft(call=call, profile=call.profile or model_facts(call.model))
    trace: list[str] = []
    for name, step in _STEPS:
        draft = step(draft)
        trace.append(name)
    answer = send(draft.body)
    return Built(
        body=draft.body,
        betas=(CONTEXT_BETA,) if "context_management" in draft.body else (),
        trace=(*trace, "send"),
        events=tuple(event for event in (draft.budget.event, draft.removed) if event is not None),
        warnings=(draft.budget.warning,) if draft.budget.warning else (),
        changes=draft.setting.changes,
        answer=answer,
    )


def _budget(draft: _Draft) -> _Draft:
    said = [spoken for message in draft.call.messages if (spoken := human_input(message))]
    return structs.replace(draft, budget=budget_for(said, draft.call.budget))


def _normalise(draft: _Draft) -> _Draft:
    messages, removed = normalise_messages(draft.call.messages)
    return structs.replace(draft, messages=[bare(message) for message in messages], removed=removed)


def _cache(draft: _Draft) -> _Draft:
    call = draft.call
    fixed = [mark for block in (*call.tools, *_system_blocks(call)) if isinstance(mark := block.get("cache_control"), dict)]
    marked = mark_messages(draft.messages, call.cache, line=draft.profile.line, fixed=fixed)
    return structs.replace(draft, messages=marked)


def _system_blocks(call: Call) -> list[JsonObject]:
    return [block for block in call.system if isinstance(block, dict)] if isinstance(call.system, list) else []


def _build(draft: _Draft) -> _Draft:
    call, tokens = draft.call, draft.budget.tokens
    asked: JsonObject | None = {"type": "enabled", "budget_tokens": tokens} if tokens > 0 else None
    setting = settled(Setting(thinking=asked, max_tokens=call.max_tokens), draft.profile)
    body: JsonObject = {
        "model": call.model,
        "system": call.system,
        "messages": [*draft.messages],
        "max_tokens": call.max_tokens,
    }
    return structs.replace(draft, setting=setting, body={**body, **_defined(call, setting)})


def _defined(call: Call, setting: Setting) -> JsonObject:
    """The fields that are there only if there is something to say in them."""
    optional: JsonObject = {
        "tools": [*call.tools] or None,
        "thinking": setting.thinking,
        "output_config": {"effort": setting.effort} if setting.effort else None,
        "context_management": context_management(
            preserve=call.preserve_thinking,
            has_thinking=mode_of(setting.thinking) in ("enabled", "adaptive"),
            others=call.edits,
        ),
    }
    return {name: value for name, value in optional.items() if value is not None}


_STEPS: tuple[tuple[str, Callable[[_Draft], _Draft]], ...] = (
    ("budget", _budget),
    ("normalise", _normalise),
    ("cache", _cache),
    ("build", _build),
)
