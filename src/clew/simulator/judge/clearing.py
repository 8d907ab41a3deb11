"""What the server itself leaves out: old thinking, and on request old tool results (R39, R50, R52, R53).

A *turn* is what the model said after one user message that holds no tool_result, its whole tool loop included. Models that
see only the last turn's thinking lose the rest as soon as the next such message arrives, unless a `clear_thinking` edit says
how many turns to keep. With thinking off no thinking is read at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from clew.model.facts.dated import CLEAR_THINKING, CLEAR_TOOL_USES
from clew.model.json import JsonObject
from clew.simulator import tokens
from clew.simulator.interfaces import BlockFate
from clew.simulator.judge.case import Case
from clew.simulator.judge.history import Block
from clew.simulator.judge.values import array, inner, number, string

__all__ = ["Cleared", "clear_thinking", "clear_tool_uses", "edits_of"]

_TRIGGER, _KEPT_USES = 100_000, 3


@dataclass(frozen=True, slots=True)
class Cleared:
    """What an edit took out, as the answer reports it; `entry` is None if there was nothing to take."""

    fates: tuple[BlockFate, ...] = ()
    entry: JsonObject | None = None
    tokens: int = 0


def edits_of(case: Case) -> Mapping[str, JsonObject]:
    """The context edits by type."""
    edits = (inner(edit) for edit in array(case.option("context_management", "edits")))
    return {string(edit.get("type")): edit for edit in edits}


def clear_thinking(case: Case, fates: Sequence[BlockFate], sizes: Mapping[str, int], *, off: bool) -> Cleared:
    """The fates after the server's own clearing. `sizes` are the blocks' tokens, by path."""
    if off:
        return Cleared(tuple(_stripped(fate, "thinking is off") for fate in fates))
    edit = edits_of(case).get(CLEAR_THINKING)
    kept_from, reason = _first_kept_message(case, edit), "context edit" if edit else "an earlier turn"
    after = tuple(_stripped(fate, reason) if _message_of(fate.path) < kept_from else fate for fate in fates)
    gone = [new for old, new in zip(fates, after, strict=True) if old.fate != new.fate]
    if not edit or not gone:
        return Cleared(after)
    freed = sum(sizes.get(fate.path, 0) for fate in gone)
    turns = {max(start for start in _turns(case) if start <= _message_of(fate.path)) for fate in gone}
    entry: JsonObject = {"type": CLEAR_THINKING, "cleared_thinking_turns": len(turns), "cleared_input_tokens": freed}
    return Cleared(after, entry, freed)


def _stripped(fate: BlockFate, reason: str) -> BlockFate:
    return replace(fate, fate="stripped", reason=reason) if fate.fate == "kept" else fate


def _message_of(path: str) -> int:
    return int(path.split(".")[1])


def _first_kept_message(case: Case, edit: JsonObject | None) -> int:
    """The message from which on thinking is kept; 0 keeps all."""
    keep = edit.get("keep") if edit else None
    turns = number(inner(keep).get("value"))
    if turns is not None:
        answered = _turns(case)
        return answered[-int(turns)] if 0 < turns <= len(answered) else 0
    keeps_all = keep == "all" or inner(keep).get("type") == "all" or case.model.prior_thinking == "all"
    return 0 if keeps_all else max(_questions(case), default=0)


def _questions(case: Case) -> list[int]:
    return [message.index for message in case.messages if message.role == "user" and not message.has("tool_result")]


def _turns(case: Case) -> list[int]:
    """Where each turn that has an answer begins."""
    starts: list[int] = []
    questions = _questions(case)
    for message in case.messages:
        start = max((index for index in questions if index < message.index), default=0)
        if message.role == "assistant" and start not in starts[-1:]:
            starts.append(start)
    return starts


def clear_tool_uses(case: Case, input_tokens: int) -> Cleared:
    """Old tool results, once there is enough to clear."""
    edit = edits_of(case).get(CLEAR_TOOL_USES)
    if edit is None or not _is_triggered(case, edit, input_tokens):
        return Cleared()
    gone = _old_results(case, edit)
    freed = sum(tokens.of_json(result.value.get("content")) for result in gone)
    least = number(inner(edit.get("clear_at_least")).get("value")) or 0
    if not gone or freed < least:
        return Cleared()
    entry: JsonObject = {"type": CLEAR_TOOL_USES, "cleared_tool_uses": len(gone), "cleared_input_tokens": freed}
    return Cleared(entry=entry, tokens=freed)


def _is_triggered(case: Case, edit: JsonObject, input_tokens: int) -> bool:
    trigger = inner(edit.get("trigger"))
    limit = number(trigger.get("value"))
    if trigger.get("type") == "tool_uses" and limit is not None:
        return len(_results(case)) > limit
    return input_tokens > (_TRIGGER if limit is None else limit)


def _results(case: Case) -> list[Block]:
    return [block for message in case.messages for block in message.blocks if block.type == "tool_result"]


def _old_results(case: Case, edit: JsonObject) -> list[Block]:
    """All but the newest, and those of tools that are excluded."""
    kept = number(inner(edit.get("keep")).get("value"))
    keep = _KEPT_USES if kept is None else int(kept)
    excluded = {string(name) for name in array(edit.get("exclude_tools"))}
    results, names = _results(case), _tool_names(case)
    old = results[: max(len(results) - keep, 0)]
    return [result for result in old if names.get(string(result.value.get("tool_use_id"))) not in excluded]


def _tool_names(case: Case) -> Mapping[str, str]:
    calls = (block.value for message in case.messages for block in message.blocks if block.type == "tool_use")
    return {string(call.get("id")): string(call.get("name")) for call in calls}
