"""The formats in which conversations go out and come in: one file each, and this table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from clew.chat.formats.anthropic import ANTHROPIC_JSON
from clew.chat.formats.claude_code_writing import CLAUDE_CODE
from clew.chat.formats.detect import format_of
from clew.chat.formats.html import HTML
from clew.chat.formats.markdown import MARKDOWN
from clew.chat.formats.openai import OPENAI_JSON
from clew.chat.formats.own import OWN
from clew.chat.formats.shape import Broken, Format, Found, Numbered, Passed, Reading
from clew.chat.formats.turns import every_thread, turns_of

__all__ = [
    "FORMATS",
    "Broken",
    "Format",
    "Found",
    "Numbered",
    "Passed",
    "Reading",
    "every_thread",
    "format_of",
    "turns_of",
]

FORMATS: Final[Mapping[str, Format]] = {
    each.name: each for each in (OWN, ANTHROPIC_JSON, OPENAI_JSON, CLAUDE_CODE, MARKDOWN, HTML)
}
