"""The formats in which conversations are exported and imported: one table, and how to detect the format of a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from clew.chat.formats.claude_code import CLAUDE_CODE
from clew.chat.formats.clew_jsonl import CLEW_JSONL
from clew.chat.formats.codex import CODEX
from clew.chat.formats.documents import ANTHROPIC_JSON, OPENAI_JSON
from clew.chat.formats.format import (
    BrokenLine,
    Format,
    ImportContext,
    NumberedLine,
    ReadableFormat,
    ReadItem,
    Skipped,
    every_thread,
    turns_of,
)
from clew.chat.formats.pages import HTML, MARKDOWN

__all__ = [
    "FORMATS",
    "HEAD_BYTES",
    "READABLE",
    "BrokenLine",
    "Format",
    "ImportContext",
    "NumberedLine",
    "ReadItem",
    "ReadableFormat",
    "Skipped",
    "every_thread",
    "format_of",
    "turns_of",
]

FORMATS: Final[Mapping[str, Format]] = {
    each.name: each for each in (CLEW_JSONL, ANTHROPIC_JSON, OPENAI_JSON, CLAUDE_CODE, MARKDOWN, HTML)
}

READABLE: Final[Mapping[str, Format | ReadableFormat]] = {
    **{name: each for name, each in FORMATS.items() if each.read},
    CODEX.name: CODEX,
}
"""What can be imported."""

HEAD_BYTES: Final = 256 * 1024
"""How much of a file `format_of` needs: enough for the notes with which a Claude Code transcript begins."""

_ONLY_OPENAI: Final = (b'"tool_calls"', b'"tool_call_id"', b'"reasoning_content"', b'"role":"tool"', b'"role": "tool"')


def format_of(head: bytes) -> Format | ReadableFormat | None:
    """The format of a file with these first bytes; None if no reader takes it.

    A document with messages is OpenAI's if something in it exists only there, else Anthropic's.
    """
    for format in (CLEW_JSONL, CODEX, CLAUDE_CODE):
        if format.fits and format.fits(head):
            return format
    if head.lstrip()[:1] != b"{" or b'"messages"' not in head:
        return None
    return OPENAI_JSON if any(mark in head for mark in _ONLY_OPENAI) else ANTHROPIC_JSON
