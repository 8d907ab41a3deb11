"""The thinking in an answer, as much of it as can be shown."""

from __future__ import annotations

from typing import Literal, TypedDict

from clew.chat.plain import objects_from
from clew.model.blocks import THINKING_TYPES
from clew.model.json import JsonObject

__all__ = ["ThinkingBlock", "extract_thinking_blocks"]


class ThinkingBlock(TypedDict, total=False):
    """What there is to show of one thinking block. It is never sent anywhere: it has no signature."""

    type: Literal["thinking", "redacted_thinking"]
    content: str
    hidden: bool
    """Its maker thought, signed it, and keeps the words to itself."""


def extract_thinking_blocks(raw_content: object) -> list[ThinkingBlock]:
    """The thinking blocks among these blocks, in order. What is no list of blocks has none.

    Takes `Message.raw_content`, the content of an answer, or the SDK's blocks. Redacted thinking has nothing to read; a
    block that its maker signed and left empty is `hidden`.

    >>> extract_thinking_blocks([
    ...     {"type": "thinking", "thinking": "Blue scatters most.", "signature": "c2ln"},
    ...     {"type": "redacted_thinking", "data": "ZGF0YQ"},
    ...     {"type": "text", "text": "Because of scattering."},
    ... ])
    [{'type': 'thinking', 'content': 'Blue scatters most.'}, {'type': 'redacted_thinking'}]
    """
    return [_shown(block) for block in objects_from(raw_content) if block.get("type") in THINKING_TYPES]


def _shown(block: JsonObject) -> ThinkingBlock:
    if block["type"] == "redacted_thinking":
        return {"type": "redacted_thinking"}
    text = block.get("thinking")
    if not isinstance(text, str):
        return {"type": "thinking"}
    shown: ThinkingBlock = {"type": "thinking", "content": text}
    return {**shown, "hidden": True} if not text and block.get("signature") else shown
