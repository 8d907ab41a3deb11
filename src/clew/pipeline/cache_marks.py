"""Cache marks for clients that set none (R58).

Off unless the config asks. A client that marks anything knows what it wants and is left alone, unless the config says to
replace its marks; then those in its messages are moved to where ours belong. Marks in tools and system always stay, except
what would make more than four. A mark for an hour may not come after one for five minutes, so ours then say five minutes.
Requests that cache automatically (a top-level mark), or mark inside tool results, are never touched: such marks already move
with the conversation.
"""

from __future__ import annotations

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from clew.model.blocks import Block, is_thinking, made, text_block
from clew.model.change import Change
from clew.model.json import JsonObject
from clew.model.request import Message, Request, blocks_of, with_blocks, with_content
from clew.model.target import Target
from clew.pipeline.blank import is_empty_text
from clew.pipeline.marks import MOST, can_carry, fitting_ttl, is_off, mark_of, places
from clew.pipeline.places import block_path, message_path
from clew.pipeline.step import Facts
from clew.pipeline.values import bytes_of, changed_fields, value_of
from clew.wire.requests import raw_of
from clew.wire.splice import apply, drop_key, edit_array, elements, set_key

__all__ = ["cache_marks"]

STEP = "cache_marks"

WANTED = "the config asks for cache marks"
MOVED = "cache marks are moved, not piled up"
SURPLUS = f"at most {MOST} cache marks in all (R58)"


def cache_marks(request: Request, target: Target, facts: Facts) -> tuple[Request, tuple[Change, ...]]:
    """The step."""
    rules = facts.options.cache
    if rules is None or _marks_by_itself(request) or (_is_marked(request) and not rules.replace):
        return request, ()
    request, surplus = _within_limit(request)
    fixed = _fixed(request)
    room = 0 if is_off(rules, target.profile.line) else MOST - len(fixed)
    chosen = set(places([_markable(message) for message in request.messages], nearest=rules.nearest, room=room))
    request, moved = _placed(request, chosen, mark_of(fitting_ttl(rules.ttl, fixed)))
    return request, surplus + moved


class _Marked(Struct, frozen=True):
    """A tool or a system block, as far as marks go."""

    cache_control: JsonObject | UnsetType | None = UNSET


_marked_list = msgspec.json.Decoder(list[_Marked])


def _marks_by_itself(request: Request) -> bool:
    inside = (block for message in request.messages for block in blocks_of(message) if block.type == "tool_result")
    return request.body.cache_control is not UNSET or any(b'"cache_control"' in bytes_of(each.content) for each in inside)


def _is_marked(request: Request) -> bool:
    blocks = (block for message in request.messages for block in blocks_of(message))
    return bool(_fixed(request)) or any(block.cache_control is not UNSET for block in blocks)


def _fixed(request: Request) -> list[JsonObject]:
    """The marks in tools and system, in the order in which the API reads them."""
    return [mark for raw in (request.body.tools, request.body.system) for _, mark in _marks_in(raw)]


def _marks_in(raw: Raw | UnsetType) -> list[tuple[int, JsonObject]]:
    """The marks in a list, each with its index; none if it is no list (`system` may be a string)."""
    try:
        found = [] if raw is UNSET else _marked_list.decode(raw)
    except msgspec.DecodeError:
        return []
    return [(index, each.cache_control) for index, each in enumerate(found) if isinstance(each.cache_control, dict)]


def _markable(message: Message) -> list[bool]:
    if isinstance(message.content, str):
        return [bool(message.content)]
    return [can_carry(block.type) and not is_empty_text(block) for block in blocks_of(message)]


def _placed(request: Request, chosen: set[tuple[int, int]], mark: JsonObject) -> tuple[Request, tuple[Change, ...]]:
    """The marks in these places of the messages and in no other."""
    changes: list[Change] = []
    messages: list[Message] = []
    for index, message in enumerate(request.messages):
        wanted = {j for i, j in chosen if i == index}
        if isinstance(message.content, str) and wanted:
            changes.append(Change(STEP, f"{message_path(request, index)}.content", "set", WANTED))
            messages.append(with_content(message, (text_block(message.content, cache_control=mark),)))
            continue
        blocks = [
            _with_mark(request, index, block, mark if j in wanted else None, changes)
            for j, block in enumerate(blocks_of(message))
        ]
        messages.append(with_blocks(message, tuple(blocks)))
    return request.with_messages(tuple(messages)), tuple(changes)


def _with_mark(request: Request, index: int, block: Block, mark: JsonObject | None, changes: list[Change]) -> Block:
    if is_thinking(block) or value_of(block.cache_control) == mark:
        return block
    path = block_path(request, index, block)
    raw = raw_of(request, block)
    if mark is None:
        changes.append(Change(STEP, f"{path}.cache_control", "removed", MOVED))
        return made(drop_key(raw, "cache_control", path=path))
    changes.append(Change(STEP, f"{path}.cache_control", "set", WANTED))
    return made(set_key(raw, "cache_control", msgspec.json.encode(mark), path=path))


def _within_limit(request: Request) -> tuple[Request, tuple[Change, ...]]:
    """At most four marks in tools and system; the last ones cover the most, so the first ones go."""
    surplus = len(_fixed(request)) - MOST
    changes: tuple[Change, ...] = ()
    for name in ("tools", "system"):
        raw = getattr(request.body, name)
        out = [index for index, _ in _marks_in(raw)][: max(0, surplus)]
        surplus -= len(out)
        if out:
            request = changed_fields(request, **{name: _unmarked(bytes_of(raw), out)})
            changes += tuple(Change(STEP, f"{name}.{index}.cache_control", "removed", SURPLUS) for index in out)
    return request, changes


def _unmarked(raw: bytes, indices: list[int]) -> Raw:
    spans = elements(raw)
    plain = {index: drop_key(raw[slice(*spans[index])], "cache_control") for index in indices}
    return Raw(apply(raw, edit_array(raw, replace=plain)))
