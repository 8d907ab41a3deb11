"""Calls of server tools that a target cannot be given, left out of answers; and tool ids as their maker gave them.

*Abandoned* calls (R29): an answer that paused, or that the user stopped while the server searched, ends in a call without a
result. Sent back alone it goes on; once the user has written something else it is refused, in every request from then on.
Nobody can give that result, so the call is left out.

*Foreign* calls (R24): a tool that another vendor's server ran, on the way to Claude. They stand in the answer with results
that only their maker can read, and Anthropic takes no id but its own: every request from then on would be refused. So both
are left out; the text that the model made of them stays.

The filler stands in for a block where a message would end in thinking, or two thoughts would be joined (R34, R37).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import msgspec

from clew.model.blocks import Block, filler, is_signed, is_thinking, made
from clew.model.change import Change
from clew.model.facts.shapes import blocks
from clew.model.origin import Target
from clew.model.request import Request, RequestMessage, blocks_of, with_blocks
from clew.pipeline.step import Facts
from clew.pipeline.values import block_path, or_filler
from clew.wire.requests import raw_of
from clew.wire.splice import set_key


def without_blocks(
    request: Request, places: Sequence[tuple[int, Block]], *, step: str, why: str
) -> tuple[Request, tuple[Change, ...]]:
    """The request without these blocks, each given with the index of its message; the very same if there are none."""
    if not places:
        return request, ()
    gone, messages = {id(block) for _, block in places}, list(request.messages)
    for index in {index for index, _ in places}:
        kept: list[Block] = []
        for block, follows in with_next(blocks_of(messages[index]), lambda block: id(block) not in gone):
            if id(block) not in gone:
                kept.append(block)
            elif needs_filler(kept, follows):
                kept.append(filler())
        messages[index] = with_blocks(messages[index], or_filler(tuple(kept)))
    changes = [Change(step, block_path(request, index, block), "left out", why) for index, block in places]
    return request.with_messages(tuple(messages)), tuple(changes)


def with_next(blocks: Sequence[Block], stays: Callable[[Block], bool]) -> list[tuple[Block, Block | None]]:
    """Each block with the next one behind it that stays, if there is one."""
    pairs: list[tuple[Block, Block | None]] = []
    follows: Block | None = None
    for block in reversed(blocks):
        pairs.append((block, follows))
        if stays(block):
            follows = block
    return pairs[::-1]


def needs_filler(before: Sequence[Block], follows: Block | None) -> bool:
    """Whether the filler must stand in for a block that goes: without it, two thinking blocks would be joined, which counts
    as modified (R34), or the message would end in one."""
    return bool(before) and is_thinking(before[-1]) and (follows is None or is_thinking(follows))


ABANDONED = "the server's tool never gave a result, and the user continued (R29)"
OTHERS = "its id is of another vendor's server, and this vendor accepts only its own (R24)"


def without_abandoned(request: Request, *, step: str) -> tuple[Request, tuple[Change, ...]]:
    """The request without abandoned calls: open when the user says anything but the results of the client's own tools."""
    abandoned: list[tuple[int, Block]] = []
    waiting: dict[object, tuple[int, Block]] = {}
    before = ""
    for index, message in enumerate(request.messages):
        if message.role == "assistant":
            waiting = {} if before == "user" else waiting
            for block in blocks_of(message):
                waiting.pop(block.tool_use_id, None)
                if block.type == "server_tool_use":
                    waiting[block.id] = (index, block)
        elif message.role == "user" and (
            isinstance(message.content, str) or any(block.type != "tool_result" for block in blocks_of(message))
        ):
            abandoned += waiting.values()
            waiting = {}
        before = before if message.role == "system" else message.role
    return without_blocks(request, abandoned, step=step, why=ABANDONED)


def is_servers_id(id: object) -> bool:
    """Whether Anthropic takes the id for a call of its own server."""
    return isinstance(id, str) and re.fullmatch(blocks()["server_tool_use"].fields["id"].pattern, id) is not None


def without_others(request: Request, *, step: str) -> tuple[Request, tuple[Change, ...]]:
    """The request without foreign calls and their results; the very same if there are none."""
    calls: set[object] = set()
    found: list[tuple[int, Block]] = []
    for index, message in enumerate(request.messages):
        for block in blocks_of(message) if message.role == "assistant" else ():
            if block.type == "server_tool_use" and not is_servers_id(block.id):
                calls.add(block.id)
                found.append((index, block))
            elif isinstance(block.tool_use_id, str) and block.tool_use_id in calls:
                found.append((index, block))
    return without_blocks(request, found, step=step, why=OTHERS)


# ── ids


def maker_ids(request: Request, target: Target, facts: Facts) -> tuple[Request, tuple[Change, ...]]:
    """The step: tool ids as their maker gave them.

    A client sees a safe id wherever a maker's own may not be unique; the recording knows both. A maker gets its own back, in
    the calls and in their results; every other backend gets the safe one, which is legal everywhere. No Change: a safe id is
    put on for the client, and comes off again (law 1). Clients of the Messages API have Claude's own ids.
    """
    has_own = target.binding and request.source.native is None
    own = {} if has_own else _own_ids(request, target, facts)
    if not own:
        return request, ()
    messages: list[RequestMessage] = []
    for message in request.messages:
        blocks = list(blocks_of(message))
        for at, block in enumerate(blocks):
            key, id = ("tool_use_id", block.tool_use_id) if block.type == "tool_result" else ("id", block.id)
            if block.type in ("tool_use", "tool_result") and is_signed(id) and id in own:
                blocks[at] = made(set_key(raw_of(request, block), key, msgspec.json.encode(own[id])))
        messages.append(with_blocks(message, tuple(blocks)))
    return request.with_messages(tuple(messages)), ()


def _own_ids(request: Request, target: Target, facts: Facts) -> dict[str, str]:
    """The maker's own ids by the safe ones, for the calls that this realm made."""
    own: dict[str, str] = {}
    for message in request.messages:
        for block in blocks_of(message) if message.role == "assistant" else ():
            if block.type != "tool_use" or not is_signed(block.id):
                continue
            for recording in facts.recordings.by_tool(block.id):
                if recording.principal == facts.context.principal and recording.origin.realm == target.realm:
                    given = [block.id for raw in recording.blocks if (block := made(raw)).type.endswith("tool_use")]
                    pairs = zip(recording.said.ids, given, strict=False)
                    own |= {held: id for held, id in pairs if is_signed(id) and id != held}
    return own
