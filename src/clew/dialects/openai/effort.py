"""How much a backend is asked to think: what the client wants, whichever form it used, in the words of the backend.

The client's forms rank: `disabled`, then the lowest setting (`between_tools`), then an effort (the newest one: a system
message may change it on the way), then a budget, then "as you see fit"; and nothing at all is the backend's own default.
What another form overrides is a change, and so is what the backend's knob (`efforts.toml`) has to round.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from msgspec import Struct

from clew.dialects.openai.fields import INTEGER, RawMessage, RawObject, RawRequest, RequestChanges
from clew.model.facts.chat_backends import RANKED, Knob, Level, knob, level_of_budget
from clew.model.json import JsonObject

RESERVE = 1024
"""Tokens that a budget leaves for the answer itself."""

UNKNOWN = "this is not a known effort"
UNKNOWN_FORM = "this is not a known form of thinking; the backend's default is used"
NOT_USED = "the thinking setting is used instead"
EFFORT_FIRST = "the effort is used instead of the budget"
LOWEST = "only some Claude models think between tools; this backend gets its lowest level"
WHOLE = "this backend takes one effort for the whole request: the newest one is used"
OLDER = "this backend takes one effort for the whole request: a newer one is used"
NO_BUDGET = "a budget of 0 means no thinking"
SHOWN = "the backend decides what it shows of its thinking"
NO_KNOB = "this backend has no setting for the amount of thinking"
LOST = "the reasoning of a tool call is lost, and this backend needs it: this request is sent without thinking"
FORCED = "this backend refuses a forced tool together with thinking: this request is sent without thinking"

_BY_NAME: Final[dict[str, Level]] = {"none": "off", **{level: level for level in RANKED}}
_FORMS: Final = frozenset({"", "adaptive", "enabled", "disabled", "between_tools"})


class EffortOptions(Protocol):
    """What a dialect's options say about thinking; they explain themselves there."""

    @property
    def knob(self) -> str: ...
    @property
    def thinks(self) -> bool: ...
    @property
    def levels(self) -> tuple[Level, ...]: ...
    @property
    def budgets(self) -> bool: ...
    @property
    def forced(self) -> str: ...


class EffortWish(Struct, frozen=True):
    """A level, or None for the backend's default; a budget if the client gave one and no effort; and the path of either."""

    level: Level | None = None
    budget: int | None = None
    path: str = "thinking"


class EffortFields(Struct, frozen=True):
    """The fields to send, and whether the backend will think if it obeys them (None: its default decides)."""

    fields: JsonObject
    thinks: bool | None = None


def effort_wish(given: RawRequest, changes: RequestChanges, *, is_shown: bool = False) -> EffortWish:
    """What the client wants. `is_shown`: what it wants to be shown is said to the backend elsewhere."""
    thinking = given.parameters.object("thinking")
    effort = _effort(given.parameters, given.messages, changes)
    changes.leave_out_unknown("thinking", thinking.fields, {"type", "budget_tokens", "display"})
    if "display" in thinking.fields and not is_shown:
        changes.leave_out("thinking.display", SHOWN)
    if thinking.type not in _FORMS:
        changes.leave_out("thinking.type", UNKNOWN_FORM)
    if thinking.type == "between_tools":
        changes.add("thinking", "replaced", LOWEST)
    if thinking.type in ("disabled", "between_tools"):
        if effort is not None:
            changes.leave_out(effort.path, NOT_USED)
        _leave_out_budget(thinking, NOT_USED, changes)
        return EffortWish("off" if thinking.type == "disabled" else "minimal")
    if effort is not None:
        _leave_out_budget(thinking, EFFORT_FIRST, changes)
        return effort
    tokens = thinking.value("budget_tokens", INTEGER)
    if tokens is None:
        return EffortWish("auto" if thinking.type in ("adaptive", "enabled") else None)
    if tokens > 0:
        return EffortWish(level_of_budget(tokens), tokens, "thinking.budget_tokens")
    changes.add("thinking.budget_tokens", "replaced", NO_BUDGET)
    return EffortWish("off", path="thinking.budget_tokens")


def _leave_out_budget(thinking: RawObject, why: str, changes: RequestChanges) -> None:
    if thinking.value("budget_tokens", INTEGER) is not None:
        changes.leave_out("thinking.budget_tokens", why)


def _effort(parameters: RawObject, messages: Sequence[RawMessage], changes: RequestChanges) -> EffortWish | None:
    """The newest effort that there is a word for. Of each one that was named it is noted, the newest first, whether it moved
    to where it holds for all, or another holds."""
    configs = [RawObject(each.path, each.fields).object("output_config") for each in reversed(messages)]
    for config in configs:
        changes.leave_out_unknown(config.path, config.fields, {"effort"})
    top = parameters.object("output_config")
    named = [(each, effort) for each in (*configs, top) if (effort := each.string("effort"))]
    holds, word = next(((each, effort) for each, effort in named if effort in _BY_NAME), (None, ""))
    if holds is not None and holds.path != top.path and top.string("effort") != word:
        changes.add(f"{holds.path}.effort", "moved", WHOLE)
    for config, effort in named:
        if effort != word:
            changes.leave_out(f"{config.path}.effort", OLDER if effort in _BY_NAME else UNKNOWN)
    return None if holds is None else EffortWish(_BY_NAME[word], path=f"{holds.path}.effort")


def with_thinking_off(
    wish: EffortWish, *, lost: bool, forced: bool, options: EffortOptions, changes: RequestChanges
) -> EffortWish:
    """The same wish, or off: where reasoning is `lost`, where a tool is `forced` and that goes first, or after a repair."""
    forced = forced and options.forced == "thinking off"
    if wish.level == "off" or not (lost or forced or not options.thinks):
        return wish
    if not options.knob or _rounded("off", knob(options.knob), options) != "off":
        return wish  # this backend has no word for no thinking at all
    if options.thinks:
        changes.add("thinking", "set", LOST if lost else FORCED)
    return EffortWish("off")


def effort_fields(wish: EffortWish, max_tokens: int | None, options: EffortOptions, changes: RequestChanges) -> EffortFields:
    """The fields for what the client wants."""
    if wish.level is None:
        return EffortFields({})
    if not options.knob:
        changes.leave_out(wish.path, NO_KNOB)
        return EffortFields({})
    row = knob(options.knob)
    budget = _budget_that_fits(row, wish.budget, max_tokens) if options.budgets else None
    if budget is not None:
        if budget != wish.budget:
            changes.add(
                wish.path, "set", f"{budget} tokens, to stay within the backend's limits and to leave room for the answer"
            )
        field: JsonObject = {row.budget[-1]: budget}
        for key in reversed(row.budget[:-1]):
            field = {key: field}
        return EffortFields(field if row.alone else merged(row.says["auto"], field), True)
    level = _rounded(wish.level, row, options)
    if wish.budget is not None:
        changes.add(wish.path, "replaced", f"{wish.budget} tokens are level {level!r} to this backend")
    elif level != wish.level:
        changes.add(wish.path, "replaced", f"this backend has no level {wish.level!r}; {level!r} is the nearest")
    return EffortFields(row.says[level], level != "off")


def _budget_that_fits(row: Knob, given: int | None, max_tokens: int | None) -> int | None:
    """The client's own number within the bounds; None where there is none, no field for it, or no room."""
    if given is None or not row.budget:
        return None
    limits = [row.ceiling, None if max_tokens is None else max_tokens - RESERVE]
    fitting = min([max(given, row.floor), *(limit for limit in limits if limit is not None)])
    return fitting if fitting >= row.floor else None


def _rounded(level: Level, row: Knob, options: EffortOptions) -> Level:
    """The level as the knob rounds it, and then as this model's own list does: the next lower one, else the lowest."""
    level = row.meant(level)
    ranked: list[Level] = [each for each in RANKED if each in options.levels]
    if ranked and level not in options.levels and level != "auto":  # "as you see fit" names no level, so it is allowed
        lower: list[Level] = [each for each in ranked if level != "off" and RANKED.index(each) < RANKED.index(level)]
        level = lower[-1] if lower else ranked[0]
    return row.meant(level)


def merged(below: JsonObject, above: JsonObject) -> JsonObject:
    """Both objects, without altering either; where they differ, `above` holds."""
    done = dict(below)
    for key, value in above.items():
        own = done.get(key)
        done[key] = merged(own, value) if isinstance(own, dict) and isinstance(value, dict) else value
    return done
