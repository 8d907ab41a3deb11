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
from clew.model.request import Request, blocks_of, with_blocks
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
        thinking = [block for block in blocks_of(message) if is_thinking(block)]
        others = [block for block in blocks_of(message) if not is_thinking(block)]
        calls = message.role == "assistant" and any(block.type == "tool_use" for block in others)
        if not calls or is_thinking(blocks_of(message)[0]) or not thinking or any(map(proof_of, thinking)):
            continue  # in order already, or not to be moved
        messages[index] = with_blocks(message, (*thinking, *others))
        changes += [Change(STEP, block_path(request, index, block), "moved", FIRST) for block in thinking]
    return request.with_messages(tuple(messages)) if changes else request, tuple(changes)
