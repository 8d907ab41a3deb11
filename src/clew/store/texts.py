"""What a person said: the texts of the messages that a client sent, without reminders and tool results."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from clew.model.blocks import Block, made
from clew.model.json import JsonObject
from clew.thinking.keys import question_content

__all__ = ["texts_asked"]


def texts_asked(asked: Iterable[bytes]) -> tuple[str, ...]:
    """What a person said in these messages."""
    messages = [msgspec.json.decode(raw, type=JsonObject) for raw in asked]
    return question_content(_content(message) for message in messages if message.get("role") == "user").texts


def _content(message: JsonObject) -> tuple[Block, ...] | str | None:
    content = message.get("content")
    if isinstance(content, list):
        return tuple(made(msgspec.json.encode(block)) for block in content if isinstance(block, dict))
    return content if isinstance(content, str) else None
