"""Content parts, as they go out in a user message or a tool message."""

from __future__ import annotations

from typing import TypeAlias

__all__ = ["Part", "is_text", "text_part"]

Part: TypeAlias = dict[str, object]


def text_part(text: str) -> Part:
    return {"type": "text", "text": text}


def is_text(part: Part) -> bool:
    return part["type"] == "text"
