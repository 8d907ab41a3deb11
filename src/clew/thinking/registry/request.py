"""A request's thinking blocks: where they stand, and the request without some of them.

The body is plain JSON that a client sent, so anything may be missing or of another kind; what is not a list of messages
with lists of blocks simply has no thinking in it. Nothing is edited in place.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TypeAlias

from clew.model.blocks import FILLER
from clew.model.json import JsonArray, JsonObject, JsonValue
from clew.thinking.registry.blocks import claims_thinking

__all__ = ["Place", "has_answer", "objects_in", "path_of", "thinking_in", "without"]

Place: TypeAlias = tuple[int, int]
"""Message and block index."""


def thinking_in(body: JsonValue) -> Iterator[tuple[Place, JsonObject]]:
    """Every thinking block of every message, malformed ones too."""
    for i, message in enumerate(_messages_of(body)):
        for j, block in enumerate(_content_of(message)):
            if isinstance(block, dict) and claims_thinking(block):
                yield (i, j), block


def has_answer(body: JsonValue) -> bool:
    """Whether the request holds anything that a model said."""
    return any(message.get("role") == "assistant" for message in objects_in(_messages_of(body)))


def path_of(place: Place) -> str:
    return f"messages.{place[0]}.content.{place[1]}"


def without(body: JsonValue, gone: Iterable[Place]) -> JsonValue:
    """A copy along the path of what is removed; everything else is shared with the client's body."""
    places: dict[int, set[int]] = {}
    for i, j in gone:
        places.setdefault(i, set()).add(j)
    if not places or not isinstance(body, dict):
        return body
    messages = list(_messages_of(body))
    for i, blocks in places.items():
        message = messages[i]
        assert isinstance(message, dict), "only an object has blocks"
        messages[i] = {**message, "content": _remaining(message, blocks)}
    return {**body, "messages": messages}


def objects_in(values: JsonArray) -> Iterator[JsonObject]:
    return (value for value in values if isinstance(value, dict))


def _messages_of(body: JsonValue) -> JsonArray:
    messages = body.get("messages") if isinstance(body, dict) else None
    return messages if isinstance(messages, list) else []


def _content_of(message: JsonValue) -> JsonArray:
    content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, list) else []


def _remaining(message: JsonObject, gone: Collection[int]) -> JsonArray:
    """Never empty: vendors refuse that."""
    kept = [block for j, block in enumerate(_content_of(message)) if j not in gone]
    return kept or [{"type": "text", "text": FILLER, "citations": []}]
