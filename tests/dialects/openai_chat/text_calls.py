"""Answers of models that write their calls as text, and what the reader makes of them."""

from __future__ import annotations

import json
from typing import Any

from clew.dialects.openai_chat.options import ChatAnswerOptions
from clew.dialects.shape import AnswerContext
from clew.model.change import Change
from clew.model.json import JsonObject, JsonValue
from tests.dialects.openai_chat.chat import Told, stream

FAMILIES = ("grok", "qwen", "hermes", "glm", "gpt-oss", "seed")

PROPERTIES: dict[str, Any] = {
    "command": {"type": "string"},
    "timeout": {"type": "integer"},
    "ratio": {"type": "number"},
    "background": {"type": "boolean"},
    "files": {"type": "array", "items": {"type": "string"}},
    "options": {"type": "object"},
    "mode": {"enum": ["fast", "7"]},
    "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    "referred": {"$ref": "#/$defs/level"},
    "anything": {},
}
SCHEMA = {"type": "object", "properties": PROPERTIES, "$defs": {"level": {"type": "integer"}}}
TOOLS: list[Any] = [{"name": "Bash", "input_schema": SCHEMA}, {"name": "Write", "input_schema": {"type": "object"}}]


def asked(tools: list[Any] | None = None, changes: list[Change] | None = None, **more: Any) -> AnswerContext:
    """What an answer knows of a request that offers these tools."""
    document: dict[str, Any] = {"tools": TOOLS if tools is None else tools, **more}
    report = changes.append if changes is not None else str
    return AnswerContext(model="claude-x", message_id="msg_1", document=json.dumps(document).encode(), report=report)


def answered(family: str, text: str, *, size: int = 0, finish: str = "stop", context: AnswerContext | None = None) -> Told:
    """The answer in pieces of `size` characters, or in one."""
    parts = [text[at : at + size] for at in range(0, len(text), size)] if size else [text]
    deltas: list[JsonValue] = [{"content": part} for part in parts]
    return Told(stream(*deltas, finish=finish), speech=ChatAnswerOptions(text_calls=family), asked=context or asked())


def blocks(told: Told) -> list[JsonValue]:
    """Texts as they are, calls as [name, input]."""
    content = told.message["content"]
    assert isinstance(content, list)
    return [_short(block) for block in content if isinstance(block, dict)]


def _short(block: JsonObject) -> JsonValue:
    return block["text"] if block["type"] == "text" else [block["name"], block["input"]]
