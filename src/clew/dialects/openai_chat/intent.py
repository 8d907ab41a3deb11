"""What the client wants in the way of thinking, whichever of its forms it used.

The forms rank: `disabled`, then the lowest setting (`between_tools`), then an effort (the newest one: a system message may
change it on the way), then a budget, then "as you see fit"; and nothing at all is the backend's own default.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from clew.dialects.openai_chat.notes import Notes
from clew.dialects.openai_chat.reading import INTEGER, OBJECT, Fields, Piece, Said, decoded
from clew.model.facts.efforts import RANKED, Level, level_of_budget

__all__ = ["Intent", "intent_of"]

UNKNOWN = "no backend knows this effort"
OUTRANKED = "the thinking setting outranks it"
LOWEST = "only some Claude models think between tools; here it is the lowest level"
WHOLE = "here an effort holds for the whole request; the newest one does"
NO_BUDGET = "a budget of nothing is no thinking"
SHOWN = "what is shown of its thoughts is for the backend to say"

_BY_NAME: Final[dict[str, Level]] = {"none": "off", **{level: level for level in RANKED}}
_KNOWN = frozenset({"type", "budget_tokens", "display"})


class Intent(Struct, frozen=True):
    """A level, or None for the backend's default; a budget if the client gave one and no effort; and where it said so."""

    level: Level | None = None
    budget: int | None = None
    path: str = "thinking"


def intent_of(fields: Fields, said: Sequence[Said], notes: Notes) -> Intent:
    thinking = _object(fields, "thinking")
    effort = _effort(fields, said, notes)
    _note(thinking, notes)
    if thinking.type not in ("disabled", "between_tools"):
        return effort or _budget(thinking, notes) or _free(thinking)
    if effort is not None:
        notes.left_out(effort.path, OUTRANKED)
    return Intent("off" if thinking.type == "disabled" else "minimal")


def _note(thinking: Piece, notes: Notes) -> None:
    notes.unsaid("thinking", thinking.fields, _KNOWN)
    if "display" in thinking.fields:
        notes.left_out("thinking.display", SHOWN)
    if thinking.type == "between_tools":
        notes.add("thinking", "replaced", LOWEST)


def _effort(fields: Fields, said: Sequence[Said], notes: Notes) -> Intent | None:
    """The newest effort that there is a word for."""
    configs = [_object(each.fields, "output_config", f"{each.path}.output_config") for each in reversed(said)]
    for config in (*configs, _object(fields, "output_config")):
        name = config.string("effort")
        if name in _BY_NAME:
            _note_newer(config, name, _object(fields, "output_config"), notes)
            return Intent(_BY_NAME[name], path=f"{config.path}.effort")
        if name:
            notes.left_out(f"{config.path}.effort", UNKNOWN)
    return None


def _note_newer(config: Piece, name: str, top: Piece, notes: Notes) -> None:
    if config.path != top.path and top.string("effort") != name:
        notes.add(f"{config.path}.effort", "moved", WHOLE)


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
    empty = raw is None or bytes(raw) == b"null"
    return Piece(path or key, {} if empty else decoded(fields[key], OBJECT, path or key))
