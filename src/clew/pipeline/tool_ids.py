"""Tool ids as their maker gave them.

A client sees a safe id wherever a maker's own may not be unique; the recording knows both. A maker gets its own back, in the
calls and in their results; every other backend gets the safe one, which is legal everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from clew.model.blocks import Block, is_signed, made
from clew.model.change import Change
from clew.model.recording import Recording
from clew.model.request import Message, Request, blocks_of, with_content
from clew.model.target import Target
from clew.pipeline.step import Facts
from clew.wire.requests import raw_of
from clew.wire.splice import set_key

__all__ = ["maker_ids"]


def maker_ids(request: Request, target: Target, facts: Facts) -> tuple[Request, tuple[Change, ...]]:
    """The step. No Change: a safe id is put on for the client's sake, and comes off again (law 1)."""
    if target.binding:
        return request, ()
    own = _own_ids(request, target, facts)
    if not own:
        return request, ()
    return request.with_messages(tuple(_renamed(request, message, own) for message in request.messages)), ()


def _own_ids(request: Request, target: Target, facts: Facts) -> dict[str, str]:
    """The maker's own id by the safe one, for calls that this realm made."""
    own: dict[str, str] = {}
    for id in _calls(request):
        for recording in facts.recordings.by_tool(id):
            if recording.principal == facts.context.principal and recording.origin.realm == target.realm:
                own.update(_pairs(recording))
    return own


def _calls(request: Request) -> Iterable[str]:
    for message in request.messages:
        for block in blocks_of(message) if message.role == "assistant" else ():
            if block.type == "tool_use" and is_signed(block.id):
                yield block.id


def _pairs(recording: Recording) -> Iterable[tuple[str, str]]:
    made_ids = [block.id for raw in recording.blocks if (block := made(raw)).type.endswith("tool_use")]
    for held, own in zip(recording.said.ids, made_ids, strict=False):
        if is_signed(own) and own != held:
            yield held, own


def _renamed(request: Request, message: Message, own: Mapping[str, str]) -> Message:
    blocks = blocks_of(message)
    now = tuple(_with_own(request, block, own) for block in blocks)
    return message if all(a is b for a, b in zip(now, blocks, strict=True)) else with_content(message, now)


def _with_own(request: Request, block: Block, own: Mapping[str, str]) -> Block:
    key, id = ("tool_use_id", block.tool_use_id) if block.type == "tool_result" else ("id", block.id)
    if block.type not in ("tool_use", "tool_result") or not is_signed(id) or id not in own:
        return block
    return made(set_key(raw_of(request, block), key, msgspec.json.encode(own[id])))
