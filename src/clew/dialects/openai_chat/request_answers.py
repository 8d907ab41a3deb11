"""Assistant messages: text, calls and reasoning, each in its own field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from clew.dialects.openai_chat.options import ChatRequestOptions
from clew.dialects.openai_chat.request_fields import RawMessage, RawObject, RequestChanges
from clew.dialects.openai_chat.request_parts import call_id
from clew.dialects.openai_chat.request_reasoning import ReturnedThought, fill_missing, join_fields, returned_thoughts
from clew.dialects.openai_chat.request_tools import tool_name
from clew.errors import RequestInvalid
from clew.model.blocks import THINKING_TYPES
from clew.model.json import JsonObject, JsonValue

SERVER_SIDE = "a block that only its own vendor can read"
EMPTY = "nothing is left of this message"
AFTER_CALLS = "text comes before tool calls in a message of Chat Completions"
WORDLESS = "this backend refuses an answer that was thought and not said"
UNSIGNED_CALL = "this backend refuses a call without its signature, and this is its word for a call that has none"

_KNOWN: Final = {"text": frozenset({"type", "text"}), "tool_use": frozenset({"type", "id", "name", "input"})}


def assistant_message(source: RawMessage, options: ChatRequestOptions, changes: RequestChanges) -> dict[str, object] | None:
    """The message; None if nothing of it can be said."""
    _note_unsaid(source.blocks, changes)
    thoughts = returned_thoughts(source.blocks, options, changes)
    calls = _calls(source.blocks, thoughts, options, changes)
    content = _content(source.blocks, thoughts)
    reasoning = join_fields(thoughts.values())
    if not (calls or content or reasoning):
        changes.leave_out(source.path, EMPTY)
        return None
    reasoning = fill_missing(reasoning, bool(calls), source.path, options, changes)
    if options.wordless and not (calls or content):
        changes.add(source.path, "added", WORDLESS)
        content = options.wordless
    spoken = content or (None if calls else "")
    return {"role": "assistant", "content": spoken} | ({"tool_calls": calls} if calls else {}) | reasoning


def _note_unsaid(blocks: Sequence[RawObject], changes: RequestChanges) -> None:
    calls = False
    for block in blocks:
        if block.type in _KNOWN:
            changes.leave_out_unknown(block.path, block.fields, _KNOWN[block.type])
        elif block.type not in THINKING_TYPES:
            changes.leave_out(block.path, SERVER_SIDE)
        if calls and block.type == "text":
            changes.add(block.path, "moved", AFTER_CALLS)
        calls = calls or block.type == "tool_use"


def _content(blocks: Sequence[RawObject], thoughts: Mapping[int, ReturnedThought]) -> str | list[JsonValue]:
    """The text; with thoughts in it where they stood, if that is where the backend keeps them."""
    parts: list[str | list[JsonValue]] = []
    for at, block in enumerate(blocks):
        inline = thoughts[at].inline if at in thoughts else None
        parts += [inline] if inline else [block.string("text")] if block.type == "text" else []
    if not any(isinstance(part, list) for part in parts):
        return "".join(part for part in parts if isinstance(part, str))
    content: list[JsonValue] = []
    for part in filter(None, parts):
        content.extend(part if isinstance(part, list) else [{"type": "text", "text": part}])
    return content


def _calls(
    blocks: Sequence[RawObject],
    thoughts: Mapping[int, ReturnedThought],
    options: ChatRequestOptions,
    changes: RequestChanges,
) -> list[dict[str, object]]:
    """The calls, each with what its maker keeps on it (a signature, for one)."""
    calls: list[dict[str, object]] = []
    extra: JsonObject = {}
    for at, block in enumerate(blocks):
        if at in thoughts:
            extra = thoughts[at].call or extra
        elif block.type == "tool_use":
            if not calls and not extra and options.unsigned_call:
                changes.add(block.path, "added", UNSIGNED_CALL)
                extra = options.unsigned_call
            name = tool_name(block.string("name"), f"{block.path}.name", changes)
            function = {"name": name, "arguments": _arguments(block)}
            call = {"id": call_id(block, "id", options, changes), "type": "function", "function": function}
            calls.append({**call, **extra})
            extra = {}
    return calls


def _arguments(block: RawObject) -> str:
    """JSON text without white space: two spellings of one input are one text, and no number is read and written anew."""
    try:
        return msgspec.json.format(bytes(block.fields.get("input", b"{}")), indent=-1).decode()
    except UnicodeDecodeError as error:
        raise RequestInvalid(f"{block.path}.input: {error}", path=f"{block.path}.input") from None
