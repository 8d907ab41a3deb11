"""Marks in what is said, by which a compaction is known: they go wherever the words go, into exports too."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from clew.model.json import JsonObject

__all__ = ["REQUEST", "asks_for_summary", "marked_request", "marked_summary", "summarised"]

_REQUEST: Final = "summary-request"
_SUMMARY: Final = "conversation-summary"
REQUEST: Final = _REQUEST.encode()
"""Bytes without which no message asks for a summary."""
_OF: Final = re.compile(rf'<{_SUMMARY} of="([^"]*)">')


def marked_request(words: str) -> str:
    """A question for a summary."""
    return f"<{_REQUEST}>\n{words}\n</{_REQUEST}>"


def marked_summary(words: str, turn: str) -> str:
    """A summary of all that was said up to a turn."""
    return f'<{_SUMMARY} of="{turn}">\n{words}\n</{_SUMMARY}>'


def asks_for_summary(asked: Iterable[JsonObject]) -> bool:
    return any(text.startswith(f"<{_REQUEST}>") for text in _texts(asked))


def summarised(asked: Iterable[JsonObject]) -> str:
    """The turn up to which a summary stands for what was said; "" where there is none."""
    return next((found[1] for text in _texts(asked) if (found := _OF.match(text))), "")


def _texts(asked: Iterable[JsonObject]) -> Iterable[str]:
    contents = (message.get("content") for message in asked)
    blocks = (block for content in contents if isinstance(content, list) for block in content if isinstance(block, dict))
    return (text for block in blocks if isinstance(text := block.get("text"), str))
