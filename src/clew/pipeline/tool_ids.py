"""Tool ids as their maker gave them.

A client sees a safe id wherever a maker's own may not be unique; the recording knows both. A maker gets its own back, in the
calls and in their results; every other backend gets the safe one, which is legal everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from clew.model.blocks import Block, is_signed, made
from clew.model.change import Change
from clew.model.origin import Target
from clew.model.recording import Recording
from clew.model.request import Request, blocks_of, with_blocks
from clew.pipeline.step import Facts
from clew.wire.requests import raw_of
from clew.wire.splice import set_key


def maker_ids(request: Request, target: Target, facts: Facts) -> tuple[Request, tuple[Change, ...]]:
    """The step. No Change: a safe id is put on for the client's sake, and comes off again (law 1)."""
    if target.binding:
        return request, ()
    own: dict[str, str] = {}  # the maker's own id by the safe one, for calls that this realm made
    for message in request.messages:
        for block in blocks_of(message) if message.role == "assistant" else ():
            if block.type != "tool_use" or not is_signed(block.id):
                continue
            for recording in facts.recordings.by_tool(block.id):
                if recording.principal == facts.context.principal and recording.origin.realm == target.realm:
                    own.update(_own_ids(recording))
    if not own:
        return request, ()
    messages = [
        with_blocks(message, tuple([_with_own_id(request, block, own) for block in blocks_of(message)]))
        for message in request.messages
    ]
    return request.with_messages(tuple(messages)), ()


def _own_ids(recording: Recording) -> dict[str, str]:
    """The maker's own tool ids by the ids that the client holds, where the two differ."""
    made_ids = [block.id for raw in recording.blocks if (block := made(raw)).type.endswith("tool_use")]
    pairs = zip(recording.said.ids, made_ids, strict=False)
    return {held: own for held, own in pairs if is_signed(own) and own != held}


def _with_own_id(request: Request, block: Block, own: Mapping[str, str]) -> Block:
    key, id = ("tool_use_id", block.tool_use_id) if block.type == "tool_result" else ("id", block.id)
    if block.type not in ("tool_use", "tool_result") or not is_signed(id) or id not in own:
        return block
    return made(set_key(raw_of(request, block), key, msgspec.json.encode(own[id])))
