"""Asks for thinking in the words of one backend, by its knob. What is rounded is noted."""

from __future__ import annotations

from msgspec import Struct

from clew.dialects.openai_chat.request.intent import Intent
from clew.dialects.openai_chat.request.merging import merged, nested
from clew.dialects.openai_chat.request.notes import Notes
from clew.dialects.openai_chat.wire import Wire
from clew.model.facts.efforts import RANKED, Knob, Level, knob
from clew.model.json import JsonObject

__all__ = ["RESERVE", "Asked", "ask", "settled"]

RESERVE = 1024
"""Tokens that a budget leaves for the answer itself."""

NO_KNOB = "this backend is not told how much to think"
LOST = "a tool call's reasoning is lost, and this backend refuses it without: no thinking this time"
FORCED = "this backend refuses a forced tool while it thinks: no thinking this time"


class Asked(Struct, frozen=True):
    """The fields to send, and whether the backend will think if it heeds them (None: its default decides)."""

    fields: JsonObject
    thinks: bool | None = None


def settled(intent: Intent, *, lost: bool, forced: bool, wire: Wire, notes: Notes) -> Intent:
    """The same, or off: where reasoning is `lost`, where a tool is `forced` and that goes first, or after a repair."""
    forced = forced and wire.forced == "thinking off"
    if intent.level == "off" or not (lost or forced or not wire.thinks) or not _can_stop(wire):
        return intent
    if wire.thinks:
        notes.add("thinking", "set", LOST if lost else FORCED)
    return Intent("off")


def ask(intent: Intent, max_tokens: int | None, wire: Wire, notes: Notes) -> Asked:
    """The fields for what the client wants."""
    if intent.level is None:
        return Asked({})
    if not wire.knob:
        notes.left_out(intent.path, NO_KNOB)
        return Asked({})
    row = knob(wire.knob)
    budget = _budget(row, intent.budget, max_tokens) if wire.budgets else None
    if budget is not None:
        if budget != intent.budget:
            notes.add(intent.path, "set", f"{budget} tokens: the backend's bounds, and room for the answer")
        return Asked(_with_budget(row, budget), True)
    level = _level(row, intent, wire, notes)
    return Asked(row.says[level], level != "off")


def _can_stop(wire: Wire) -> bool:
    """Whether this backend has a word for no thinking at all."""
    return bool(wire.knob) and _rounded("off", knob(wire.knob), wire) == "off"


def _budget(row: Knob, given: int | None, max_tokens: int | None) -> int | None:
    """The client's own number within the bounds; None where there is none, no field for it, or no room."""
    if given is None or not row.budget:
        return None
    limits = [row.ceiling, None if max_tokens is None else max_tokens - RESERVE]
    fitting = min([max(given, row.floor), *(limit for limit in limits if limit is not None)])
    return fitting if fitting >= row.floor else None


def _with_budget(row: Knob, budget: int) -> JsonObject:
    field = nested(row.budget, budget)
    return field if row.alone else merged(row.says["auto"], field)


def _level(row: Knob, intent: Intent, wire: Wire, notes: Notes) -> Level:
    """The level that is said: as the knob rounds it, and then as this model's own list does."""
    assert intent.level is not None
    level = _rounded(intent.level, row, wire)
    if intent.budget is not None:
        notes.add(intent.path, "replaced", f"{intent.budget} tokens are level {level!r} to this backend")
    elif level != intent.level:
        notes.add(intent.path, "replaced", f"this backend has no level {intent.level!r}; {level!r} is the nearest")
    return level


def _rounded(level: Level, row: Knob, wire: Wire) -> Level:
    return row.meant(_snapped(row.meant(level), wire.levels))


def _snapped(level: Level, allowed: tuple[Level, ...]) -> Level:
    """The nearest allowed level: the next lower, else the lowest. "As you see fit" names no level, so it is allowed."""
    ranked: list[Level] = [each for each in RANKED if each in allowed]
    if not ranked or level in allowed or level == "auto":
        return level
    lower: list[Level] = [each for each in ranked if level != "off" and RANKED.index(each) < RANKED.index(level)]
    return lower[-1] if lower else ranked[0]
