"""Thinking in front of a message that calls tools: only if asked (`thinking_first = "reorder"`).

Some servers store an answer as text, reasoning, call, and send it with the reasoning first. This step does so with blocks
that have no signature. A message with a signed block stays as it is, because its maker may check what comes before the
block; and where there is no thinking, none is made up. The decision depends on the message alone, so a history that grows is
reordered to one that grows.
"""

from __future__ import annotations

from clew.model.blocks import is_thinking
from clew.model.change import Change
from clew.model.origin import Target
from clew.model.request import Request, RequestMessage, blocks_of, with_blocks
from clew.pipeline.step import Facts
from clew.pipeline.values import block_path
from clew.thinking.keys import proof_of

STEP = "thinking_first"

FIRST = '`thinking_first = "reorder"`: unsigned thinking comes first in a message that calls tools'


def thinking_first(request: Request, target: Target, facts: Facts) -> tuple[Request, tuple[Change, ...]]:
    """The step."""
    if facts.options.thinking_first != "reorder":
        return request, ()
    messages, changes = list(request.messages), list[Change]()
    for index, message in enumerate(messages):
        if not _is_out_of_order(message):
            continue
        thinking = [block for block in blocks_of(message) if is_thinking(block)]
        others = [block for block in blocks_of(message) if not is_thinking(block)]
        messages[index] = with_blocks(message, (*thinking, *others))
        changes += [Change(STEP, block_path(request, index, block), "moved", FIRST) for block in thinking]
    return request.with_messages(tuple(messages)) if changes else request, tuple(changes)


def _is_out_of_order(message: RequestMessage) -> bool:
    """Does the message call tools, and have thinking that is not first and may be moved?"""
    blocks = blocks_of(message)
    if message.role != "assistant" or not blocks or is_thinking(blocks[0]):
        return False
    proofs = [proof_of(block) for block in blocks if is_thinking(block)]
    return bool(proofs) and not any(proofs) and any(block.type == "tool_use" for block in blocks)
