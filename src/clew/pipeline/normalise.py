"""Content that is certain to be refused, and nothing else.

An assistant message that ends the request may not end in thinking (R37): it is cut there, and the filler stands in for one
that was nothing else. A text block without any text is refused wherever it stands, and so is a message, or a system prompt,
of nothing but white space (R22, R16); white space beside real content is legal and stays. A user message may not be empty;
an assistant message that came empty may. And thinking never carries `cache_control` (R33). Messages of one role in a row are
legal and left alone (R21).

Except for the first, which the documents tie to the last message, each decision is a function of the message alone, so that
a history that grows is normalised to one that grows.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET

from clew.model.blocks import Block, filler, is_thinking, made
from clew.model.change import Change
from clew.model.origin import Target
from clew.model.request import Request, RequestMessage, blocks_of, with_blocks, with_content
from clew.pipeline.findings import findings_in, is_marked_thought, is_without_content
from clew.pipeline.step import Facts
from clew.pipeline.system import tidy_prompt
from clew.pipeline.tool_calls import needs_filler, with_next
from clew.pipeline.values import block_path, is_empty_text, message_path
from clew.wire.requests import raw_of
from clew.wire.splice import drop_key

STEP = "normalise"

EMPTY_TEXT = "a text block must be non-empty (R22)"
BLANK = "a message must hold more than white space (R22)"
EMPTY_USER = "a user message must have content (R22)"
MARKED = "thinking cannot carry cache_control (R33)"
EMPTIED = "the message was empty without it"


def normalise(request: Request, target: Target, facts: Facts) -> tuple[Request, tuple[Change, ...]]:
    """The step."""
    changes: list[Change] = []
    messages = list(request.body.messages)
    for index in findings_in(request.body.messages).refused:
        messages[index] = _tidied(request, index, target, changes)
    if messages and messages[-1].role == "assistant":
        blocks = blocks_of(messages[-1])
        kept = without_trailing(blocks)
        if len(kept) < len(blocks):
            path, count = f"{message_path(request, len(messages) - 1)}.content", len(blocks) - len(kept)
            why = f"blocksRemoved={count}, remainingBlocks={len(kept)}: the last message ended in thinking (R37)"
            changes.append(Change(STEP, path, "removed", why))
            messages[-1] = with_blocks(messages[-1], kept or (filler(),))
    if changes:
        request = request.with_messages(tuple(messages))
    system = request.body.system
    if system is not UNSET and system is not request.source.in_order:
        # The prompt is long, and mostly the very one that came with the request before.
        tidied, more = tidy_prompt(system, step=STEP)
        if tidied is system:
            request.source.in_order = system
        else:
            request, changes = request.with_fields(system=tidied), [*changes, *more]
    return request, tuple(changes)


def without_trailing(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """The blocks up to the last that is not thinking."""
    end = len(blocks)
    while end and is_thinking(blocks[end - 1]):
        end -= 1
    return tuple(blocks[:end])


def _tidied(request: Request, index: int, target: Target, changes: list[Change]) -> RequestMessage:
    """The message without the parts that are refused."""
    message = request.messages[index]
    blocks: list[Block] = []
    for block in blocks_of(message):
        if is_marked_thought(block):
            # The mark goes; the proof and the text of the thinking stay as the bytes that came.
            path = block_path(request, index, block)
            changes.append(Change(STEP, f"{path}.cache_control", "removed", MARKED))
            block = made(drop_key(raw_of(request, block), "cache_control", path=path))
        blocks.append(block)
    kept: list[Block] = []
    for block, follows in with_next(blocks, lambda block: not is_empty_text(block)):
        if not is_empty_text(block):
            kept.append(block)
            continue
        # An empty text that must follow thinking becomes the filler; other dialects need none.
        needed = target.dialect == "anthropic" and needs_filler(kept, follows)
        changes.append(Change(STEP, block_path(request, index, block), "replaced" if needed else "removed", EMPTY_TEXT))
        if needed:
            kept.append(filler())
    message = with_blocks(message, tuple(kept))
    if blocks and not kept:
        why = EMPTIED
    elif is_without_content(message):
        why = BLANK if message.content else EMPTY_USER
    else:
        return message
    changes.append(Change(STEP, f"{message_path(request, index)}.content", "replaced", why))
    return with_content(message, (filler(),))
