"""What the client wants in the way of thinking, whichever of its forms it used.

The forms rank: `disabled`, then the lowest setting (`between_tools`), then an effort (the newest one: a system message may
change it on the way), then a budget, then "as you see fit"; and nothing at all is the backend's own default. What another
form outranks is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from clew.dialects.openai_chat.request.notes import Notes
from clew.dialects.openai_chat.request.reading import INTEGER, NULL, OBJECT, Fields, Piece, Said, decoded
from clew.model.facts.efforts import RANKED, Level, level_of_budget

__all__ = ["Intent", "intent_of"]

UNKNOWN = "no backend knows this effort"
UNKNOWN_FORM = "no backend knows this form of thinking; its own default holds"
OUTRANKED = "the thinking setting outranks it"
EFFORT_FIRST = "an effort outranks a budget"
LOWEST = "only some Claude models think between tools; here it is the lowest level"
WHOLE = "here an effort holds for the whole request; the newest one does"
OLDER = "here an effort holds for the whole request, and a newer one does"
NO_BUDGET = "a budget of nothing is no thinking"
SHOWN = "what is shown of its thoughts is for the backend to say"

_BY_NAME: Final[dict[str, Level]] = {"none": "off", **{level: level for level in RANKED}}
_KNOWN = frozenset({"type", "budget_tokens", "display"})
_FORMS = frozenset({"", "adaptive", "enabled", "disabled", "between_tools"})


class Intent(Struct, frozen=True):
    """A level, or None for the backend's default; a budget if the client gave one and no effort; and where it said so."""

    level: Level | None = None
    budget: int | None = None
    path: str = "thinking"


def intent_of(fields: Fields, said: Sequence[Said], notes: Notes) -> Intent:
    thinking = _object(fields, "thinking")
    effort = _effort(fields, said, notes)
    _note(thinking, notes)
    if thinking.type in ("disabled", "between_tools"):
        _outranked([effort.path] if effort else [], thinking, OUTRANKED, notes)
        return Intent("off" if thinking.type == "disabled" else "minimal")
    if effort is not None:
        _outranked([], thinking, EFFORT_FIRST, notes)
        return effort
    return _budget(thinking, notes) or _free(thinking)


def _outranked(paths: Sequence[str], thinking: Piece, why: str, notes: Notes) -> None:
    budget = ["thinking.budget_tokens"] if thinking.value("budget_tokens", INTEGER) is not None else []
    for path in (*paths, *budget):
        notes.left_out(path, why)


def _note(thinking: Piece, notes: Notes) -> None:
    notes.unsaid("thinking", thinking.fields, _KNOWN)
    if "display" in thinking.fields:
        notes.left_out("thinking.display", SHOWN)
    if thinking.type == "between_tools":
        notes.add("thinking", "replaced", LOWEST)
    if thinking.type not in _FORMS:
        notes.left_out("thinking.type", UNKNOWN_FORM)


def _effort(fields: Fields, said: Sequence[Said], notes: Notes) -> Intent | None:
    """The newest effort that there is a word for."""
    configs = [_object(each.fields, "output_config", f"{each.path}.output_config") for each in reversed(said)]
    for config in configs:
        notes.unsaid(config.path, config.fields, {"effort"})
    top = _object(fields, "output_config")
    named = [each for each in (*configs, top) if each.string("effort")]
    holds = next((each for each in named if each.string("effort") in _BY_NAME), None)
    _note_efforts(named, holds, top, notes)
    return None if holds is None else Intent(_BY_NAME[holds.string("effort")], path=f"{holds.path}.effort")


def _note_efforts(named: Sequence[Piece], holds: Piece | None, top: Piece, notes: Notes) -> None:
    """What became of each, the newest first: it moved to where it holds for all, or another holds."""
    word = "" if holds is None else holds.string("effort")
    if holds is not None and holds.path != top.path and top.string("effort") != word:
        notes.add(f"{holds.path}.effort", "moved", WHOLE)
    for config in named:
        effort = config.string("effort")
        if effort != word:
            notes.left_out(f"{config.path}.effort", OLDER if effort in _BY_NAME else UNKNOWN)


def _budget(thinking: Piece, notes: Notes) -> Intent | None:
    tokens = thinking.value("budget_tokens", INTEGER)
    if tokens is None:
        return None
    if tokens <= 0:
        notes.add("thinking.budget_tokens", "replaced", NO_BUDGET)
        return Intent("off", path="thinking.budget_tokens")
    return Intent(level_of_budget(tokens), tokens, "thinking.budget_tokens")


def _free(thinking: Piece) -> Intent:
    return Intent("auto" if thinking.type in ("adaptive", "enabled") else None)


def _object(fields: Fields, key: str, path: str = "") -> Piece:
    raw = fields.get(key)
    return Piece(path or key, {} if raw is None or raw == NULL else decoded(raw, OBJECT, path or key))
