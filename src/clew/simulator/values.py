"""Reads JSON values without trusting their kind, and counts their tokens.

The schema is checked first, but a stance can switch rules off, and then a value of any kind gets past it. No later check may
fail on such a value: a value of the wrong kind reads as an empty one.

Four bytes of UTF-8 are one token, and a value that is not empty has at least one. A real tokenizer would not help: the count
must be the same on every machine, grow with the text, and be easy to work out by hand in a test. A prompt is a sequence of
segments: each loaded tool, each block of the system prompt, each block of a message. Content given as a string is one text
block. A plain text costs the tokens of its text, any other segment those of its compact JSON, without cache marks. An image
or a document costs a constant.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import msgspec

from clew.model.json import JsonObject, JsonValue


def as_dict(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def as_list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def as_str(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


def as_number(value: JsonValue) -> int | float | None:
    """The number, or None. A boolean is not a number."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def text_blocks(content: JsonValue) -> list[JsonValue]:
    """Content as a list: a string is one text block."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else as_list(content)


def is_blank(text: str) -> bool:
    """Whether a text is not empty and has nothing but white space."""
    return text != "" and text.strip() == ""


def objects_in(value: JsonValue) -> Iterator[JsonObject]:
    """Every object inside a value, the value included. Deep nesting needs no call stack."""
    pending: list[JsonValue] = [value]
    while pending:
        here = pending.pop()
        if isinstance(here, dict):
            yield here
            pending.extend(here.values())
        elif isinstance(here, list):
            pending.extend(here)


_KIND_NAMES: Final[dict[type, str]] = {
    type(None): "null",
    bool: "a boolean",
    int: "an integer",
    float: "a decimal",
    str: "a string",
    list: "an array",
    dict: "an object",
}


def kind_of(value: JsonValue) -> str:
    """The kind of a value, in the words of vendors' errors."""
    return _KIND_NAMES[type(value)]


# Tokens.

_BYTES_PER_TOKEN = 4
_TOKENS_PER_FILE = 1500


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a prompt that is counted and cached as one."""

    path: str
    """`tools.0`, `system.1`, `messages.3.content.0`."""
    role: str
    value: JsonObject
    """Without its cache mark."""
    mark: JsonObject | None
    """Its `cache_control`."""

    @property
    def tokens(self) -> int:
        return tokens_of_block(self.value)


def tokens_of_text(text: str) -> int:
    """Tokens of a text. A lone surrogate counts as the three bytes that it would be."""
    return _tokens(len(text.encode("utf-8", "surrogatepass")))


def tokens_of_block(block: JsonObject) -> int:
    """Tokens of a block or a tool without its cache mark."""
    text = block.get("text")
    plain = isinstance(text, str) and text and block.keys() <= {"type", "text"}
    return tokens_of_text(str(text)) if plain else tokens_of_json(block)


def tokens_of_json(value: JsonValue) -> int:
    """Tokens of a value in its compact JSON form."""
    light, files = _without_files(value)
    return _tokens(len(msgspec.json.encode(light))) + files * _TOKENS_PER_FILE


def segments(request: JsonObject) -> Iterator[Segment]:
    """The prompt in the order in which it is read and cached: tools, system, messages."""
    tools = _blocks(request.get("tools"), "tools", "tools")
    yield from (tool for tool in tools if tool.value.get("defer_loading") is not True)
    yield from _blocks(request.get("system"), "system", "system")
    messages = request.get("messages")
    for i, message in enumerate(messages if isinstance(messages, list) else []):
        if isinstance(message, dict):
            yield from _blocks(message.get("content"), f"messages.{i}.content", str(message.get("role")))


def _blocks(content: JsonValue, path: str, role: str) -> Iterator[Segment]:
    blocks: list[JsonValue] = [{"type": "text", "text": content}] if isinstance(content, str) else []
    if isinstance(content, list):
        blocks = content
    for j, block in enumerate(blocks):
        if isinstance(block, dict):
            mark = block.get("cache_control")
            bare = {key: value for key, value in block.items() if key != "cache_control"} if mark else block
            yield Segment(f"{path}.{j}", role, bare, mark if isinstance(mark, dict) else None)


def _tokens(size: int) -> int:
    return -(-size // _BYTES_PER_TOKEN)


def _without_files(value: JsonValue) -> tuple[JsonValue, int]:
    """A block without the bytes of its files, and how many it had."""
    if not isinstance(value, dict):
        return value, 0
    if value.get("type") in ("image", "document"):
        return {"type": value["type"]}, 1
    content = value.get("content")
    if value.get("type") != "tool_result" or not isinstance(content, list):
        return value, 0
    parts = [_without_files(part) for part in content]
    return {**value, "content": [part for part, _ in parts]}, sum(files for _, files in parts)
