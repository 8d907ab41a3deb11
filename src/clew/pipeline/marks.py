"""Where cache marks go: on the last block of each of the last two messages, and never more than four in all.

The rule is that of Claude Code's request builder, mended in two points: marks of an earlier pass are moved, not piled up;
and where a message ends in a block that cannot carry a mark (thinking above all), the nearest one before it does, so that
no breakpoint is lost. This module decides on plain values; `cache_marks` applies it to a request.
"""

from __future__ import annotations

from collections.abc import Sequence

from clew.model.blocks import THINKING_TYPES
from clew.model.facts import blocks as block_facts
from clew.model.json import JsonObject, JsonValue
from clew.pipeline.options import CacheRules, Ttl

__all__ = ["MOST", "can_carry", "fitting_ttl", "is_off", "mark_messages", "mark_of", "places", "window"]

MOST = 4
"""Marks in one request: tools, system and messages together (R58)."""


def window(count: int) -> range:
    """The messages that get a mark: the last two."""
    return range(max(0, count - 2), count)


def places(markable: Sequence[Sequence[bool]], *, nearest: bool, room: int = MOST) -> list[tuple[int, int]]:
    """The blocks to mark, as (message, block), the latest first; `markable` says of each block whether it can be."""
    found: dict[tuple[int, int], None] = {}
    for message in reversed(window(len(markable))):
        place = _last(markable, message, nearest=nearest)
        if place is not None:
            found[place] = None
    return list(found)[: max(0, room)]


def _last(markable: Sequence[Sequence[bool]], message: int, *, nearest: bool) -> tuple[int, int] | None:
    blocks = markable[message]
    if blocks and blocks[-1]:
        return message, len(blocks) - 1
    if not nearest:
        return None
    before = ((i, j) for i in range(message, -1, -1) for j in range(len(markable[i]) - 1, -1, -1) if markable[i][j])
    return next(before, None)


def can_carry(kind: str) -> bool:
    """Whether blocks of a type can carry a mark. Thinking cannot, and of unknown types nobody knows."""
    facts = block_facts().get(kind)
    return facts is not None and facts.cacheable and kind not in THINKING_TYPES


def mark_of(ttl: Ttl) -> JsonObject:
    """The value of `cache_control`. Five minutes is the default and goes without saying."""
    return {"type": "ephemeral"} if ttl == "5m" else {"type": "ephemeral", "ttl": ttl}


def fitting_ttl(ttl: Ttl, fixed: Sequence[JsonObject]) -> Ttl:
    """The time to live of marks in messages: an hour may not come after five minutes in tools or system (R58)."""
    return ttl if all(mark.get("ttl") == "1h" for mark in fixed) else "5m"


def is_off(rules: CacheRules, line: str) -> bool:
    return rules.off or line in rules.off_for


def mark_messages(
    messages: Sequence[JsonObject], rules: CacheRules, *, line: str = "", fixed: Sequence[JsonObject] = ()
) -> list[JsonObject]:
    """Plain messages with marks where they belong and nowhere else; `fixed` are the marks in tools and system.

    The messages given are not altered, and one that needs no other marks is returned as it is.
    """
    markable = [[_is_markable(block) for block in _blocks(message)] for message in messages]
    room = 0 if is_off(rules, line) else MOST - len(fixed)
    marked = set(places(markable, nearest=rules.nearest, room=room))
    mark = mark_of(fitting_ttl(rules.ttl, fixed))
    return [_marked(message, {j for i, j in marked if i == index}, mark) for index, message in enumerate(messages)]


def _blocks(message: JsonObject) -> list[JsonValue]:
    content = message.get("content")
    return content if isinstance(content, list) else [{"type": "text", "text": content}] if content else []


def _is_markable(block: JsonValue) -> bool:
    if not isinstance(block, dict):
        return False
    kind = block.get("type")
    return isinstance(kind, str) and can_carry(kind) and not (kind == "text" and not block.get("text"))


def _marked(message: JsonObject, marks: set[int], mark: JsonObject) -> JsonObject:
    if isinstance(message.get("content"), str) and not marks:
        return message
    before = _blocks(message)
    after = [_with_mark(block, mark if index in marks else None) for index, block in enumerate(before)]
    same = all(new is old for new, old in zip(after, before, strict=True))
    return message if same else {**message, "content": after}


def _with_mark(block: JsonValue, mark: JsonObject | None) -> JsonValue:
    if not isinstance(block, dict) or block.get("cache_control") == mark:
        return block
    plain = {key: value for key, value in block.items() if key != "cache_control"}
    return plain if mark is None else {**plain, "cache_control": mark}
