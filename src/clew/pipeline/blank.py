"""What counts as nothing: empty and white-space texts (R22, R16).

These run over every text of every request, so they look at the raw bytes and decode only what may be blank.
"""

from __future__ import annotations

from msgspec import UNSET, Raw, UnsetType

from clew.model.blocks import Block, string_of
from clew.model.request import Content

__all__ = ["MAY_BE_BLANK", "is_blank_text", "is_empty_text", "is_nothing_but_blank"]

MAY_BE_BLANK = frozenset(b' \\"') | frozenset(range(0x80, 0x100))
"""What a blank text can begin with, after its quote: a space, an escape, its end, or a character beyond ASCII."""


_QUOTE = ord('"')


def is_empty_text(block: Block) -> bool:
    return block.type == "text" and block.text is not UNSET and _is_empty(memoryview(block.text))


def _is_empty(text: memoryview) -> bool:
    return len(text) == 2 and text[0] == _QUOTE


def is_blank_text(block: Block) -> bool:
    """A text block of white space, and of some."""
    return block.type == "text" and _is_blank(block.text)


def is_nothing_but_blank(content: Content) -> bool:
    """White space as a whole: a string of it, or texts of it and nothing else. Content that is empty is not."""
    if isinstance(content, str):
        return content.isspace()
    return bool(content) and all(is_blank_text(block) for block in content or ())


def _is_blank(raw: Raw | UnsetType) -> bool:
    if raw is UNSET:
        return False
    text = memoryview(raw)
    return len(text) > 2 and text[1] in MAY_BE_BLANK and string_of(raw).isspace()
