"""What counts as "the same conversation": the values before a thinking block, whatever their JSON looked like (R44).

A thinking block is bound to `system`, the tools that the model had, and all message content before it except thinking.
Values count, not their formatting. Nothing changes with the order of keys, `cache_control`, a string in place of one text
block, keys with their default value, or `1.0` for `1`. Messages of one role in a row are one, and a message without content
is none. A tool with `defer_loading` counts from the `tool_reference` that loads it, by its definition. A compaction block
with a summary begins the conversation again: nothing before it counts.

What a URL serves cannot be known offline. Here a URL without its query always serves the same bytes, so a rotating signature
in the query changes nothing and another path does.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from clew.model.json import JsonArray, JsonObject, JsonValue
from clew.simulator.values import as_dict, as_list, as_str, text_blocks

DeferredTools: TypeAlias = Mapping[str, JsonObject]
"""The tools that a reference can load, by name."""

_DIGEST_BYTES = 12
_DEFAULTS: tuple[tuple[str, JsonValue], ...] = (
    ("caller", {"type": "direct"}),
    ("citations", []),
    ("content", []),
    ("content", ""),
    ("defer_loading", False),
    ("is_error", False),
    ("type", "custom"),
)
"""Keys whose value means the same as no key. A null always does."""


@dataclass(frozen=True, slots=True)
class ConversationPrefix:
    """All content before a point of a conversation, as digests."""

    base: bytes
    """`system` and `tools`."""
    digest: bytes
    """Everything."""
    head: bytes = b""
    """The first message's content alone: it distinguishes a rewritten beginning from a later change."""
    count: int = 0
    """The number of content blocks without thinking."""
    head_role: str = ""
    in_head: bool = True

    def after(self, role: str, block: JsonObject, tools: DeferredTools) -> ConversationPrefix:
        """The prefix with one more block that is not thinking."""
        if block.get("type") == "text" and block.get("text") == "":
            return self
        start = ConversationPrefix(self.base, self.base) if is_summary(block) else self
        content = _dump([role, _canonical(block, tools)])
        in_head = start.in_head and role == (start.head_role or role)
        return ConversationPrefix(
            base=start.base,
            digest=_digest(start.digest, content),
            head=_digest(start.head, content) if in_head else start.head,
            count=start.count + 1,
            head_role=start.head_role or role,
            in_head=in_head,
        )


def is_summary(block: JsonObject) -> bool:
    """A compaction block that worked. One with `content: null` failed and is empty (R54)."""
    return block.get("type") == "compaction" and as_str(block.get("content")) != ""


def opening_prefix(body: JsonObject) -> ConversationPrefix:
    """The prefix before the first message."""
    system: JsonArray = [_canonical(block, {}) for block in text_blocks(body.get("system") or [])]
    offered = [tool for tool in as_list(body.get("tools")) if as_dict(tool).get("defer_loading") is not True]
    tools: JsonArray = [_canonical(tool, {}) for tool in offered]
    base = _digest(b"", _dump([system, tools]))
    return ConversationPrefix(base, base)


def deferred_tools(body: JsonObject) -> DeferredTools:
    tools = (as_dict(tool) for tool in as_list(body.get("tools")))
    return {as_str(tool.get("name")): tool for tool in tools if tool.get("defer_loading") is True}


def _canonical(value: JsonValue, tools: DeferredTools) -> JsonValue:
    """A block or a tool with only the members that count. Nested blocks are reduced in the same way; a tool's input stays
    whole."""
    if not isinstance(value, dict):
        return value
    kept: JsonObject = {}
    for key, member in value.items():
        defaults = (default for name, default in _DEFAULTS if name == key)
        is_default = any(member == default and type(member) is type(default) for default in defaults)
        if key != "cache_control" and member is not None and not is_default:
            kept[key] = _member(key, member, tools)
    if value.get("type") == "tool_reference":
        name = as_str(value.get("tool_name")) or as_str(value.get("name"))
        kept["definition"] = _canonical(tools.get(name, {}), {})
    return kept


def _member(key: str, member: JsonValue, tools: DeferredTools) -> JsonValue:
    if key == "content" and isinstance(member, str):
        return [{"type": "text", "text": member}]
    if key in ("content", "tool_references", "tool_changes") and isinstance(member, list):
        return [_canonical(item, tools) for item in member]
    if key in ("content", "tool", "source") and isinstance(member, dict):
        return _canonical(member, tools)
    if key == "url" and isinstance(member, str):
        return member.partition("?")[0]
    if key in ("input", "input_schema"):
        return json.loads(json.dumps(member), parse_float=_whole_if_possible)
    return member


def _whole_if_possible(number: str) -> int | float:
    """JSON does not distinguish 1.0 from 1."""
    value = float(number)
    return int(value) if value.is_integer() else value


def _dump(value: JsonValue) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _digest(before: bytes, content: bytes) -> bytes:
    return hashlib.sha256(before + content).digest()[:_DIGEST_BYTES]
