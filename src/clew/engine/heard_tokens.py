"""About how many tokens were heard of an answer that is not whole: its last count came with its first event."""

from __future__ import annotations

import msgspec

from clew.model.json import JsonObject, JsonValue
from clew.pipeline.tokens import tokens_of


def heard_tokens(message: JsonObject) -> int:
    """Of all blocks as far as they came: what they think, say and call."""
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    return round(sum(tokens_of(_words_of(block).encode("utf-8", "replace")) for block in blocks))


def _words_of(block: JsonValue) -> str:
    match block:
        case {"type": "text", "text": str(words)} | {"type": "thinking", "thinking": str(words)}:
            return words
        case {"name": str(name), "input": given}:
            return f"{name} {msgspec.json.encode(given).decode()}"
        case _:
            return ""
