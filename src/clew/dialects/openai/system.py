"""The system prompt, as texts for a backend that is not Anthropic's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from clew.dialects.openai.fields import RawObject, RequestChanges, blocks_in

BILLING: Final = "x-anthropic-billing-header:"
"""How the line begins that Claude Code puts before its system prompt: for Anthropic, and another in each conversation."""

NOT_OURS = "this line is for Anthropic's billing, and it would make this backend's prefix cache miss"
NOT_TEXT = "a system message holds only text"
AS_USER = "this backend takes a system message only at the start"


def prompt_blocks(parameters: RawObject, changes: RequestChanges) -> list[RawObject]:
    """The blocks of the system prompt, without the line that is not for this backend."""
    blocks: list[RawObject] = []
    for block in blocks_in(parameters.fields.get("system"), "system"):
        if block.string("text").startswith(BILLING):
            changes.leave_out(block.path, NOT_OURS)
        else:
            blocks.append(block)
    return blocks


def text_blocks(blocks: Iterable[RawObject], changes: RequestChanges) -> list[RawObject]:
    """Those of the blocks that are text."""
    texts: list[RawObject] = []
    for block in blocks:
        if block.type == "text":
            texts.append(block)
        else:
            changes.leave_out(block.path, NOT_TEXT)
    return texts


def joined_text(blocks: Iterable[RawObject], changes: RequestChanges) -> str:
    """The texts of these blocks, one paragraph each."""
    texts: list[str] = []
    for block in text_blocks(blocks, changes):
        changes.leave_out_unknown(block.path, block.fields, {"type", "text"})
        texts.append(block.string("text"))
    return "\n\n".join(text for text in texts if text)


def as_user_text(text: str) -> str:
    """A system message where it can only be said by the user."""
    return f"<system-message>\n{text}\n</system-message>"
