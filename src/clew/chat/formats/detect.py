"""Which format a file is in, by its first bytes. A document of messages is OpenAI's if something in it is only OpenAI's."""

from __future__ import annotations

from typing import Final

from clew.chat.formats.anthropic import ANTHROPIC_JSON
from clew.chat.formats.claude_code_writing import CLAUDE_CODE
from clew.chat.formats.openai import OPENAI_JSON
from clew.chat.formats.own import OWN
from clew.chat.formats.shape import Format

__all__ = ["HEAD_BYTES", "format_of"]

HEAD_BYTES: Final = 256 * 1024
"""Enough for the notes with which a transcript begins."""

_CHAT_ALONE: Final = (b'"tool_calls"', b'"tool_call_id"', b'"reasoning_content"', b'"role":"tool"', b'"role": "tool"')


def format_of(head: bytes) -> Format | None:
    """The format of a file that begins so; None if it is none that can be read."""
    for format in (OWN, CLAUDE_CODE):
        if format.fits and format.fits(head):
            return format
    if head.lstrip()[:1] != b"{" or b'"messages"' not in head:
        return None
    return OPENAI_JSON if any(mark in head for mark in _CHAT_ALONE) else ANTHROPIC_JSON
