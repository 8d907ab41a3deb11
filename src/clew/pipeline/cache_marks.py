"""Cache marks for clients that set none (R58): on the last block of each of the last two messages, at most four in all.

Off unless the config asks. A client that marks anything knows what it wants and keeps its marks, the last four of them
(`mark_limit`), unless the config says to replace them; then those in its messages are moved to these places. A mark for an
hour may not come after one for five minutes, so the new marks then say five minutes. In requests that cache automatically (a
top-level mark), or mark inside tool results, no mark is moved: such marks already move with the conversation.

The places are those of Claude Code's request builder, with two points fixed: marks of an earlier pass are moved, not piled
up; and where a message ends in a block that cannot carry a mark (thinking above all), the nearest one before it does, so
that no breakpoint is lost. `builder` does the same on plain messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import msgspec
from msgspec import UNSET

from clew.model.blocks import Block, is_thinking, made, text_block
from clew.model.change import Change
from clew.model.json import JsonObject
from clew.model.origin import Target
from clew.model.request import Request, RequestMessage, blocks_of, with_blocks, with_content
from clew.pipeline.mark_limit import MOST_MARKS, STEP, can_carry, fixed_marks, within_limit
from clew.pipeline.step import CacheRules, Facts, Ttl
from clew.pipeline.values import block_path, bytes_of, is_empty_text, message_path, value_of
from clew.wire.requests import raw_of
from clew.wire.splice import drop_key, set_key

WANTED = "the config asks for cache marks"
MOVED = "old cache marks are removed when new ones are set"


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


def mark_of(ttl: Ttl) -> JsonObject:
    """The value of `cache_control`. Five minutes is the default and need not be written."""
    return {"type": "ephemeral"} if ttl == "5m" else {"type": "ephemeral", "ttl": ttl}


def fitting_ttl(ttl: Ttl, fixed: Sequence[JsonObject]) -> Ttl:
    """The time to live of marks in messages: an hour may not come after five minutes in tools or system (R58)."""
    return ttl if all(mark.get("ttl") == "1h" for mark in fixed) else "5m"


def room_for_marks(rules: CacheRules, line: str, fixed: Sequence[JsonObject]) -> int:
    """How many marks of the prompt cache the messages may have."""
    return 0 if rules.off or line in rules.off_for else MOST_MARKS - len(fixed)


# ── the step


def cache_marks(request: Request, target: Target, facts: Facts) -> tuple[Request, tuple[Change, ...]]:
    """The step: marks for the prompt cache are set as the rules of the target say."""
    rules = facts.options.cache
    if rules is None:
        return request, ()
    blocks = [block for message in request.messages for block in blocks_of(message)]
    moves = request.body.cache_control is not UNSET
    if moves or any(b'"cache_control"' in bytes_of(block.content) for block in blocks if block.type == "tool_result"):
        return within_limit(request)
    is_marked = bool(fixed_marks(request)) or any(block.cache_control is not UNSET for block in blocks)
    if is_marked and not rules.replace:
        return within_limit(request)
    request, surplus = within_limit(request, only_fixed=True)
    fixed = fixed_marks(request)
    markable: list[list[bool]] = []
    for message in request.messages:
        if isinstance(message.content, str):
            markable.append([bool(message.content)])
        else:
            markable.append([can_carry(block.type) and not is_empty_text(block) for block in blocks_of(message)])
    room = room_for_marks(rules, target.profile.line, fixed)
    chosen = set(places_to_mark(markable, nearest=rules.nearest, room=room))
    request, moved = _with_marks(request, chosen, mark_of(fitting_ttl(rules.ttl, fixed)))
    return request, surplus + moved


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
