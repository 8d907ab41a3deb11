"""Builds a request from a client's own history, as Claude Code's request builder does, for code that has no request yet.

The order is fixed and visible in the trace: budget → normalise → cache → build → send. Nothing is logged: events, warnings
and changes come back with the request.

Messages may be bare, or in the envelopes (`type`, `uuid`, `message`, …) in which Claude Code keeps them; the inner ones are
sent. Thinking at the end of a last assistant message, which the API refuses, is dropped before, and a constant text stands
where nothing else was. The copy that is worked on shares nothing with the history, so nothing done to a request can reach
back into it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from msgspec import Struct

from clew.errors import RequestInvalid
from clew.model.blocks import FILLER, THINKING_TYPES
from clew.model.change import Change
from clew.model.facts import ModelFacts, profile_for
from clew.model.facts.shapes import CONTEXT_BETA
from clew.model.json import JsonObject, JsonValue, objects_of
from clew.pipeline.cache_marks import mark_messages
from clew.pipeline.context_edits import context_management
from clew.pipeline.step import CacheRules
from clew.pipeline.thinking_modes import ThinkingSetting, fit_to_model, mode_of
from clew.thinking.budgets import BudgetEvent, BudgetRules, budget_for, human_input

T = TypeVar("T")


class RequestParts(Struct, frozen=True, kw_only=True):
    """The parts that a request is built from. `messages` may be bare or in the client's envelopes."""

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
    """The facts about the model; looked up by its name if they are not given."""


class BuiltRequest(Struct, Generic[T], frozen=True, kw_only=True):
    """The request, how it was built, and what the sender returned."""

    body: JsonObject
    betas: tuple[str, ...]
    trace: tuple[str, ...]
    events: tuple[BudgetEvent | TrailingThinking, ...]
    warnings: tuple[str, ...]
    changes: tuple[Change, ...]
    answer: T


def build_request(parts: RequestParts, send: Callable[[JsonObject], T]) -> BuiltRequest[T]:
    """Build the request and hand its body to `send`."""
    profile = parts.profile or profile_for(parts.model)
    budget = budget_for([found for message in parts.messages if (found := human_input(message))], parts.budget)
    kept, removed = normalise_messages(parts.messages)
    fixed = [block.get("cache_control") for block in (*parts.tools, *objects_of(parts.system))]
    marks = [mark for mark in fixed if isinstance(mark, dict)]
    messages = mark_messages([bare(message) for message in kept], parts.cache, line=profile.line, fixed=marks)
    asked: JsonObject | None = {"type": "enabled", "budget_tokens": budget.tokens} if budget.tokens > 0 else None
    setting = fit_to_model(ThinkingSetting(thinking=asked, max_tokens=parts.max_tokens), profile)
    body = _body_of(parts, messages, setting)
    return BuiltRequest(
        body=body,
        betas=(CONTEXT_BETA,) if "context_management" in body else (),
        trace=("budget", "normalise", "cache", "build", "send"),
        events=tuple(event for event in (budget.event, removed) if event is not None),
        warnings=(budget.warning,) if budget.warning else (),
        changes=setting.changes,
        answer=send(body),
    )


def _body_of(parts: RequestParts, messages: Sequence[JsonObject], setting: ThinkingSetting) -> JsonObject:
    has_thinking = mode_of(setting.thinking) in ("enabled", "adaptive")
    optional: JsonObject = {
        "tools": [*parts.tools] or None,
        "thinking": setting.thinking,
        "output_config": {"effort": setting.effort} if setting.effort else None,
        "context_management": context_management(
            preserve=parts.preserve_thinking, has_thinking=has_thinking, others=parts.edits
        ),
    }
    return {
        "model": parts.model,
        "system": parts.system,
        "messages": [*messages],
        "max_tokens": parts.max_tokens,
        **{name: value for name, value in optional.items() if value is not None},
    }


# ── plain messages of a client's history


class TrailingThinking(
    Struct,
    frozen=True,
    rename={"message_uuid": "messageUUID", "blocks_removed": "blocksRemoved", "remaining_blocks": "remainingBlocks"},
):
    """The last message ended in thinking, which was removed."""

    message_uuid: str | None
    blocks_removed: int
    remaining_blocks: int


def is_thinking_block(block: JsonValue) -> bool:
    """Whether a plain block is thinking, redacted or not. Any other value is not."""
    kind = block.get("type") if isinstance(block, dict) else None
    return isinstance(kind, str) and kind in THINKING_TYPES


def normalise_messages(messages: Sequence[JsonObject]) -> tuple[list[JsonObject], TrailingThinking | None]:
    """A copy that shares nothing with the history, without trailing thinking in its last message.

    Raises RequestInvalid if the history is nested too deeply to be copied.
    """
    try:
        return filter_trailing_thinking([copied(message) for message in messages])
    except RecursionError:
        raise RequestInvalid("the messages are nested too deeply", path="messages") from None


def filter_trailing_thinking(messages: list[JsonObject]) -> tuple[list[JsonObject], TrailingThinking | None]:
    """The messages without thinking at the end of the last one, if it is the assistant's, and what was removed.

    The very same list if there is nothing to remove. Every other field of the message is kept.
    """
    last = messages[-1] if messages else {}
    held = _inner(last).get("content")
    blocks = held if _role(last) == "assistant" and isinstance(held, list) else []
    kept = len(blocks)
    while kept and is_thinking_block(blocks[kept - 1]):
        kept -= 1
    if kept == len(blocks):
        return messages, None
    content = blocks[:kept] or [{"type": "text", "text": FILLER, "citations": []}]
    uuid = last.get("uuid")
    event = TrailingThinking(uuid if isinstance(uuid, str) else None, len(blocks) - kept, kept)
    inner = {**_inner(last), "content": content}
    return [*messages[:-1], {**last, "message": inner} if isinstance(last.get("message"), dict) else inner], event


def bare(message: JsonObject) -> JsonObject:
    """The message that the API gets: role and content, out of its envelope."""
    return {"role": _role(message), "content": _inner(message).get("content")}


def copied(value: JsonObject) -> JsonObject:
    """A copy that shares no list and no dictionary with the value."""
    return {key: _copied(each) for key, each in value.items()}


def _copied(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return copied(value)
    return [_copied(each) for each in value] if isinstance(value, list) else value


def _inner(message: JsonObject) -> JsonObject:
    """The message inside the client's envelope, or the bare message itself."""
    inner = message.get("message")
    return inner if isinstance(inner, dict) else message


def _role(message: JsonObject) -> JsonValue:
    return _inner(message).get("role") or message.get("type")
