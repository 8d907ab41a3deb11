"""A conversation in a form that could be sent to Claude again: what its client held, without what only one request may have.

A recording has the maker's own ids; the client was given others where those may not be unique, and its results name these. A
question may come with marks for a cache, of which a request can have four, and with fields that need a beta; it goes
without them. A system message becomes a reminder said by the user, in the tag that recognition passes over, since not every
model takes one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from clew.model.halves import encoded
from clew.model.json import JsonObject, JsonValue
from clew.model.recording import Recording
from clew.store.values import Turn

__all__ = ["asked_messages", "claude_model", "held_blocks", "model_of"]

_FIELDS: Final = ("role", "content")
_REMINDER: Final = ("<system-reminder>\n", "\n</system-reminder>")


def held_blocks(recording: Recording) -> list[bytes]:
    """The answer's blocks, each call under the id that its client holds."""
    blocks = [msgspec.json.decode(raw, type=JsonObject) for raw in recording.blocks]
    calls = [index for index, block in enumerate(blocks) if str(block.get("type")).endswith("tool_use") and block.get("id")]
    held = dict(zip(calls, recording.said.ids, strict=False))
    return [
        encoded({**block, "id": held[index]}) if index in held and block["id"] != held[index] else recording.blocks[index]
        for index, block in enumerate(blocks)
    ]


def asked_messages(turn: Turn, *, system: bool = False) -> Iterator[JsonObject]:
    """What was asked, message by message. With `system` such messages keep their role."""
    for raw in turn.asked:
        message = msgspec.json.decode(raw, type=JsonObject)
        content = _unmarked(message.get("content"))
        if system or message.get("role") != "system":
            yield {**{name: message[name] for name in _FIELDS if name in message}, "content": content}
        elif text := _text_of(content):
            yield {"role": "user", "content": _REMINDER[0] + text + _REMINDER[1]}


def _unmarked(content: JsonValue) -> JsonValue:
    """Without cache marks, in what a tool gave, too."""
    if not isinstance(content, list):
        return content
    return [_without_mark(block) if isinstance(block, dict) else block for block in content]


def _without_mark(block: JsonObject) -> JsonObject:
    kept = {name: value for name, value in block.items() if name != "cache_control"}
    return {**kept, "content": _unmarked(kept["content"])} if "content" in kept else kept


def _text_of(content: JsonValue) -> str:
    if isinstance(content, str):
        return content.strip()
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    return "\n\n".join(str(block["text"]) for block in blocks if block.get("type") == "text" and block.get("text")).strip()


def model_of(turn: Turn) -> str:
    """The model that was asked for; the one that answered, where nobody knows."""
    return turn.exchange.asked_model or (turn.recording.origin.model if turn.recording else "")


def claude_model(line: Sequence[Turn]) -> str:
    """The Claude model that was asked for last; the last model of all, if none of them is one."""
    asked = [model_of(turn) for turn in reversed(line)]
    made = [turn.recording.origin.model for turn in reversed(line) if turn.recording]
    return next((name for name in (*asked, *made) if "claude" in name.lower()), asked[0] if asked else "")
