"""Cache marks for clients that set none (R58): on the last block of each of the last two messages, at most four in all.

Off unless the config asks. A client that marks anything knows what it wants and is left alone, unless the config says to
replace its marks; then those in its messages are moved to these places. Marks in tools and system always stay, except those
that would make more than four. A mark for an hour may not come after one for five minutes, so the new marks then say five
minutes. Requests that cache automatically (a top-level mark), or mark inside tool results, are never touched: such marks
already move with the conversation.

The places are those of Claude Code's request builder, with two points fixed: marks of an earlier pass are moved, not piled
up; and where a message ends in a block that cannot carry a mark (thinking above all), the nearest one before it does, so
that no breakpoint is lost. `mark_messages` does the same on plain messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from clew.model.blocks import THINKING_TYPES, Block, is_thinking, made, text_block
from clew.model.change import Change
from clew.model.facts import blocks as block_facts
from clew.model.json import JsonObject, JsonValue, object_of, text_of
from clew.model.origin import Target
from clew.model.request import Request, RequestMessage, blocks_of, with_blocks, with_content
from clew.pipeline.step import CacheRules, Facts, Ttl
from clew.pipeline.values import block_path, bytes_of, is_empty_text, message_path, value_of, with_changed_fields
from clew.wire.requests import raw_of
from clew.wire.splice import apply, drop_key, edit_array, elements, set_key

STEP = "cache_marks"
MOST_MARKS = 4
"""Marks in one request: tools, system and messages together (R58)."""

WANTED = "the config asks for cache marks"
MOVED = "cache marks are moved, not piled up"
SURPLUS = f"at most {MOST_MARKS} cache marks in all (R58)"


# ── which blocks get a mark, decided on plain values


def window(count: int) -> range:
    """The messages that get a mark: the last two."""
    return range(max(0, count - 2), count)


def places_to_mark(markable: Sequence[Sequence[bool]], *, nearest: bool, room: int = MOST_MARKS) -> list[tuple[int, int]]:
    """The blocks to mark, as (message, block), the latest first; `markable` says of each block whether it can be."""
    found: dict[tuple[int, int], None] = {}
    for message in reversed(window(len(markable))):
        blocks = markable[message]
        if blocks and blocks[-1]:
            found[message, len(blocks) - 1] = None
        elif nearest:
            before = ((i, j) for i in range(message, -1, -1) for j in range(len(markable[i]) - 1, -1, -1) if markable[i][j])
            found |= dict.fromkeys(islice(before, 1))
    return list(found)[: max(0, room)]


def can_carry(kind: str) -> bool:
    """Whether blocks of a type can carry a mark. Thinking cannot, nor can unknown types."""
    facts = block_facts().get(kind)
    return facts is not None and facts.cacheable and kind not in THINKING_TYPES


def mark_of(ttl: Ttl) -> JsonObject:
    """The value of `cache_control`. Five minutes is the default and need not be written."""
    return {"type": "ephemeral"} if ttl == "5m" else {"type": "ephemeral", "ttl": ttl}


def fitting_ttl(ttl: Ttl, fixed: Sequence[JsonObject]) -> Ttl:
    """The time to live of marks in messages: an hour may not come after five minutes in tools or system (R58)."""
    return ttl if all(mark.get("ttl") == "1h" for mark in fixed) else "5m"


def _room(rules: CacheRules, line: str, fixed: Sequence[JsonObject]) -> int:
    """How many marks the messages may have."""
    return 0 if rules.off or line in rules.off_for else MOST_MARKS - len(fixed)


# ── the step


def cache_marks(request: Request, target: Target, facts: Facts) -> tuple[Request, tuple[Change, ...]]:
    """The step."""
    rules = facts.options.cache
    if rules is None or request.body.cache_control is not UNSET:
        return request, ()
    blocks = [block for message in request.messages for block in blocks_of(message)]
    if any(b'"cache_control"' in bytes_of(block.content) for block in blocks if block.type == "tool_result"):
        return request, ()
    is_marked = bool(_fixed_marks(request)) or any(block.cache_control is not UNSET for block in blocks)
    if is_marked and not rules.replace:
        return request, ()
    request, surplus = _without_surplus(request)
    fixed = _fixed_marks(request)
    markable: list[list[bool]] = []
    for message in request.messages:
        if isinstance(message.content, str):
            markable.append([bool(message.content)])
        else:
            markable.append([can_carry(block.type) and not is_empty_text(block) for block in blocks_of(message)])
    room = _room(rules, target.profile.line, fixed)
    chosen = set(places_to_mark(markable, nearest=rules.nearest, room=room))
    request, moved = _with_marks(request, chosen, mark_of(fitting_ttl(rules.ttl, fixed)))
    return request, surplus + moved


class _Marked(Struct, frozen=True):
    """A tool or a system block, as far as marks go."""

    cache_control: JsonObject | UnsetType | None = UNSET


_marked_list = msgspec.json.Decoder(list[_Marked])


def _fixed_marks(request: Request) -> list[JsonObject]:
    """The marks in tools and system, in the order in which the API reads them."""
    return [mark for raw in (request.body.tools, request.body.system) for _, mark in _marks_in(raw)]


def _marks_in(raw: Raw | UnsetType) -> list[tuple[int, JsonObject]]:
    """The marks in a list, each with its index; none if the value is no list (`system` may be a string)."""
    try:
        found = [] if raw is UNSET else _marked_list.decode(raw)
    except msgspec.DecodeError:
        return []
    return [(index, each.cache_control) for index, each in enumerate(found) if isinstance(each.cache_control, dict)]


def _without_surplus(request: Request) -> tuple[Request, tuple[Change, ...]]:
    """At most four marks in tools and system; the last ones cover the most, so the first ones go."""
    surplus = len(_fixed_marks(request)) - MOST_MARKS
    changes: tuple[Change, ...] = ()
    for name in ("tools", "system"):
        value = getattr(request.body, name)
        out = [index for index, _ in _marks_in(value)][: max(0, surplus)]
        surplus -= len(out)
        if out:
            raw = bytes_of(value)
            spans = elements(raw)
            plain = {index: drop_key(raw[slice(*spans[index])], "cache_control") for index in out}
            request = with_changed_fields(request, **{name: Raw(apply(raw, edit_array(raw, replace=plain)))})
            changes += tuple(Change(STEP, f"{name}.{index}.cache_control", "removed", SURPLUS) for index in out)
    return request, changes


def _with_marks(request: Request, chosen: set[tuple[int, int]], mark: JsonObject) -> tuple[Request, tuple[Change, ...]]:
    """The request with marks in these places of the messages and in no other."""
    changes: list[Change] = []
    messages: list[RequestMessage] = []
    for index, message in enumerate(request.messages):
        wanted = {j for i, j in chosen if i == index}
        if isinstance(message.content, str) and wanted:
            changes.append(Change(STEP, f"{message_path(request, index)}.content", "set", WANTED))
            messages.append(with_content(message, (text_block(message.content, cache_control=mark),)))
            continue
        blocks: list[Block] = []
        for j, block in enumerate(blocks_of(message)):
            if not is_thinking(block) and value_of(block.cache_control) != (mark if j in wanted else None):
                path, raw = block_path(request, index, block), raw_of(request, block)
                if j in wanted:
                    changes.append(Change(STEP, f"{path}.cache_control", "set", WANTED))
                    block = made(set_key(raw, "cache_control", msgspec.json.encode(mark), path=path))
                else:
                    changes.append(Change(STEP, f"{path}.cache_control", "removed", MOVED))
                    block = made(drop_key(raw, "cache_control", path=path))
            blocks.append(block)
        messages.append(with_blocks(message, tuple(blocks)))
    return request.with_messages(tuple(messages)), tuple(changes)


# ── plain messages


def mark_messages(
    messages: Sequence[JsonObject], rules: CacheRules, *, line: str = "", fixed: Sequence[JsonObject] = ()
) -> list[JsonObject]:
    """Plain messages with marks where they belong and nowhere else; `fixed` are the marks in tools and system.

    The messages given are not altered, and one that needs no other marks is returned as it is.
    """
    markable: list[list[bool]] = []
    for message in messages:
        kinds = [(text_of(block.get("type")), block) for block in map(object_of, _plain_blocks(message))]
        markable.append([can_carry(kind) and not (kind == "text" and not block.get("text")) for kind, block in kinds])
    marked = set(places_to_mark(markable, nearest=rules.nearest, room=_room(rules, line, fixed)))
    mark = mark_of(fitting_ttl(rules.ttl, fixed))
    out: list[JsonObject] = []
    for index, message in enumerate(messages):
        before = _plain_blocks(message)
        after = [_plain_with_mark(block, mark if (index, j) in marked else None) for j, block in enumerate(before)]
        is_plain_text = isinstance(message.get("content"), str) and not any((index, j) in marked for j in range(len(before)))
        same = is_plain_text or all(new is old for new, old in zip(after, before, strict=True))
        out.append(message if same else {**message, "content": after})
    return out


def _plain_blocks(message: JsonObject) -> list[JsonValue]:
    content = message.get("content")
    return content if isinstance(content, list) else [{"type": "text", "text": content}] if content else []


def _plain_with_mark(block: JsonValue, mark: JsonObject | None) -> JsonValue:
    if not isinstance(block, dict) or block.get("cache_control") == mark:
        return block
    plain = {key: value for key, value in block.items() if key != "cache_control"}
    return plain if mark is None else {**plain, "cache_control": mark}
