"""Builds a request from a client's own history, as Claude Code's request builder does, for code that has no request yet.

The order is fixed and visible in the trace: budget → normalise → cache → build → send. Nothing is logged: events, warnings
and changes come back with the request. Messages may be bare, or in the envelopes in which Claude Code keeps them
(`trailing_thinking`); the inner ones are sent.

Cache marks on the plain messages stand in the places that `cache_marks` has for a request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar, overload

from msgspec import Struct

from clew.errors import RequestInvalid
from clew.model.change import Change
from clew.model.facts import ModelFacts, profile_for
from clew.model.facts.shapes import CONTEXT_BETA
from clew.model.json import JsonObject, JsonValue, object_of, text_of
from clew.pipeline.cache_marks import fitting_ttl, mark_of, places_to_mark, room_for_marks
from clew.pipeline.context_edits import context_management
from clew.pipeline.mark_limit import STEP, SURPLUS, can_carry
from clew.pipeline.step import CacheRules
from clew.pipeline.thinking_modes import ThinkingSetting, fit_to_model, mode_of
from clew.pipeline.trailing_thinking import TrailingThinking, bare, normalise_messages
from clew.thinking.budgets import ANSWER, BudgetEvent, BudgetRules, budget_for

T = TypeVar("T")

_ROLES = ("user", "assistant", "system")


class RequestParts(Struct, frozen=True, kw_only=True):
    """The parts that a request is built from.

    >>> parts = RequestParts(model="claude-opus-5-5", max_tokens=64000, messages=[{"role": "user", "content": "Hi"}])
    >>> parts.budget.scope, parts.cache.ttl
    ('last_user_turn', '5m')
    """

    model: str
    """Its name; what is known of it decides how thinking is asked for."""
    messages: Sequence[JsonObject]
    """The history: bare messages, or a client's envelopes around them. It is never altered."""
    max_tokens: int
    """The longest answer, with its thinking."""
    system: JsonValue = ""
    """A text, or a list of blocks."""
    tools: Sequence[JsonObject] = ()
    """Those that the model may call."""
    budget: BudgetRules = BudgetRules()
    """Where a thinking budget may come from."""
    cache: CacheRules = CacheRules()
    """Where cache marks go."""
    preserve_thinking: bool = False
    """Ask the server to keep all old thinking, by a context edit."""
    edits: Sequence[JsonObject] = ()
    """Context edits besides the one that keeps thinking."""
    profile: ModelFacts | None = None
    """The facts about the model; looked up by its name if they are not given."""


class BuiltRequest(Struct, Generic[T], frozen=True, kw_only=True):
    """The request, how it was built, and what the sender returned.

    >>> history = [{"role": "user", "content": "ultrathink about it"}]
    >>> built = build_request(RequestParts(model="claude-sonnet-4-5", max_tokens=8000, messages=history))
    >>> built.body["thinking"]["budget_tokens"], built.trace
    (6976, ('budget', 'normalise', 'cache', 'build'))
    >>> built.changes[0].why
    'a budget is at least 1024 and leaves 1024 of max_tokens (8000) for the answer (R11)'
    """

    body: JsonObject
    """What to post to `/v1/messages`. `thinking` and `context_management` are there only if they say something."""
    betas: tuple[str, ...]
    """For the header `anthropic-beta`."""
    trace: tuple[str, ...]
    """The steps, in the order in which they ran."""
    events: tuple[BudgetEvent | TrailingThinking, ...]
    """What Claude Code logs: the budget of a variable, thinking that was removed from the end."""
    warnings: tuple[str, ...]
    """What a person should know: a variable that is no number."""
    changes: tuple[Change, ...]
    """What was asked for and could not be, with the reason: a budget that had to fit, a mark too many."""
    answer: T
    """What `send` returned; None without one."""


@overload
def build_request(parts: RequestParts) -> BuiltRequest[None]: ...


@overload
def build_request(parts: RequestParts, send: Callable[[JsonObject], T]) -> BuiltRequest[T]: ...


def build_request(parts: RequestParts, send: Callable[[JsonObject], Any] | None = None) -> BuiltRequest[Any]:
    """Build a request from a history, and hand its body to `send`, if there is one.

    Raises RequestInvalid for parts of which no request can be made.

    >>> thought = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    >>> history = [
    ...     {"role": "user", "content": "Hello"},
    ...     {"role": "assistant", "content": [thought, {"type": "text", "text": "Hi."}]},
    ...     {"role": "user", "content": "ultrathink about it"},
    ... ]
    >>> parts = RequestParts(model="claude-opus-5-5", max_tokens=64000, messages=history, preserve_thinking=True)
    >>> body = build_request(parts).body
    >>> body["thinking"], body["output_config"], body["context_management"]["edits"][0]["keep"]
    ({'type': 'adaptive'}, {'effort': 'high'}, 'all')
    >>> body["messages"][1]["content"][0] == thought, "cache_control" in body["messages"][1]["content"][1]
    (True, True)
    """
    for path, problem in _problems(parts):
        raise RequestInvalid(f"{path}: {problem}", path=path)
    profile = parts.profile or profile_for(parts.model)
    trace = ["budget"]
    budget = budget_for(parts.messages, parts.budget)
    trace.append("normalise")
    messages, removed = normalise_messages(parts.messages)
    trace.append("cache")
    fixed = limit_marks(parts.tools, parts.system, parts.cache, line=profile.line)
    messages = mark_messages([bare(each) for each in messages], parts.cache, line=profile.line, fixed=fixed.marks)
    trace.append("build")
    # The thinking to ask for, as the model takes it
    asked: JsonObject | None = {"type": "enabled", "budget_tokens": budget.tokens} if budget.tokens > 0 else None
    most = min(parts.max_tokens, profile.max_tokens or parts.max_tokens)
    setting = fit_to_model(ThinkingSetting(thinking=asked, max_tokens=most, answer=ANSWER), profile)
    body = _body_of(parts, fixed, messages, setting)
    if send is not None:
        trace.append("send")
    return BuiltRequest(
        body=body,
        betas=(CONTEXT_BETA,) if "context_management" in body else (),
        trace=tuple(trace),
        events=tuple(event for event in (budget.event, removed) if event is not None),
        warnings=(budget.warning,) if budget.warning else (),
        changes=(*fixed.changes, *setting.changes),
        answer=None if send is None else send(body),
    )


def _problems(parts: RequestParts) -> Iterator[tuple[str, str]]:
    """The first thing that makes a request impossible, with its path."""
    if not parts.model:
        yield "model", "a request needs the name of a model"
    if parts.max_tokens < 1:
        yield "max_tokens", f"expected a number above 0, got {parts.max_tokens}"
    for index, message in enumerate(parts.messages):
        role = bare(object_of(message))["role"]
        if role not in _ROLES:
            yield f"messages.{index}", f"expected a message of {', '.join(_ROLES)}, got {role!r}; leave out other entries"


def _body_of(
    parts: RequestParts, fixed: MarkedParts, messages: Sequence[JsonObject], setting: ThinkingSetting
) -> JsonObject:
    has_thinking = mode_of(setting.thinking) in ("enabled", "adaptive")
    optional: JsonObject = {
        "tools": fixed.tools or None,
        "thinking": setting.thinking,
        "output_config": {"effort": setting.effort} if setting.effort else None,
        "context_management": context_management(
            preserve=parts.preserve_thinking, has_thinking=has_thinking, others=parts.edits
        ),
    }
    return {
        "model": parts.model,
        "system": fixed.system,
        "messages": [*messages],
        "max_tokens": parts.max_tokens,
        **{name: value for name, value in optional.items() if value is not None},
    }


OFF = "cache marks are switched off"


def mark_messages(
    messages: Sequence[JsonObject], rules: CacheRules | None = None, *, line: str = "", fixed: Sequence[JsonObject] = ()
) -> list[JsonObject]:
    """Return plain messages with cache marks on the last blocks of the last two messages, and nowhere else.

    `line` is the model's (haiku, sonnet, opus), for rules that switch marks off for one. `fixed` are the marks in tools and
    system: there are four at most in a request. The messages given are not altered, and one that needs no other marks is
    returned as it is.

    >>> mark_messages([{"role": "user", "content": "Hi"}])
    [{'role': 'user', 'content': [{'type': 'text', 'text': 'Hi', 'cache_control': {'type': 'ephemeral'}}]}]
    >>> mark_messages([{"role": "user", "content": "Hi"}], CacheRules(off=True))
    [{'role': 'user', 'content': 'Hi'}]
    """
    rules = rules or CacheRules()
    markable: list[list[bool]] = []
    for message in messages:
        kinds = [(text_of(block.get("type")), block) for block in map(object_of, _blocks(message))]
        markable.append([can_carry(kind) and not (kind == "text" and not block.get("text")) for kind, block in kinds])
    marked = set(places_to_mark(markable, nearest=rules.nearest, room=room_for_marks(rules, line, fixed)))
    mark = mark_of(fitting_ttl(rules.ttl, fixed))
    out: list[JsonObject] = []
    for index, message in enumerate(messages):
        before = _blocks(message)
        after = [_with_mark(block, mark if (index, j) in marked else None) for j, block in enumerate(before)]
        is_plain_text = isinstance(message.get("content"), str) and not any((index, j) in marked for j in range(len(before)))
        same = is_plain_text or all(new is old for new, old in zip(after, before, strict=True))
        out.append(message if same else {**message, "content": after})
    return out


class MarkedParts(Struct, frozen=True):
    """The parts ahead of the messages, with four marks of the prompt cache at most; these marks; and the changes that
    removed others."""

    tools: list[JsonValue]
    system: JsonValue
    marks: tuple[JsonObject, ...]
    changes: tuple[Change, ...] = ()


def limit_marks(tools: Sequence[JsonObject], system: JsonValue, rules: CacheRules, *, line: str = "") -> MarkedParts:
    """The tools and the system prompt with the last four of their marks; with none if the rules switch marks off."""
    parts: dict[str, list[JsonValue]] = {"tools": [*tools], "system": [*system] if isinstance(system, list) else []}
    entries = [(name, at, object_of(entry)) for name, part in parts.items() for at, entry in enumerate(part)]
    marked = [(name, at, entry) for name, at, entry in entries if isinstance(entry.get("cache_control"), dict)]
    most = max(0, room_for_marks(rules, line, ()))
    surplus = marked[: max(0, len(marked) - most)]
    for name, at, entry in surplus:
        parts[name][at] = _with_mark(entry, None)
    why = SURPLUS if most else OFF
    return MarkedParts(
        parts["tools"],
        parts["system"] if isinstance(system, list) else system,
        tuple(object_of(entry["cache_control"]) for _, _, entry in marked[len(surplus) :]),
        tuple(Change(STEP, f"{name}.{at}.cache_control", "removed", why) for name, at, _ in surplus),
    )


def _blocks(message: JsonObject) -> list[JsonValue]:
    content = message.get("content")
    return content if isinstance(content, list) else [{"type": "text", "text": content}] if content else []


def _with_mark(block: JsonValue, mark: JsonObject | None) -> JsonValue:
    """The block with this mark, or with none. It covers what the block holds, so marks inside a tool result go."""
    if not isinstance(block, dict):
        return block
    held = block.get("content") if block.get("type") == "tool_result" else None
    if isinstance(held, list) and any("cache_control" in object_of(each) for each in held):
        block = {**block, "content": [_with_mark(each, None) for each in held]}
    if block.get("cache_control") == mark:
        return block
    plain = {key: value for key, value in block.items() if key != "cache_control"}
    return plain if mark is None else {**plain, "cache_control": mark}
