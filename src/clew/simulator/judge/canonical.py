"""What counts as "the same conversation": the values before a thinking block, whatever their JSON looked like (R44).

A thinking block is bound to `system`, the tools the model had, and all message content before it, thinking itself left out.
Values count, not formatting: key order, `cache_control`, a string instead of one text block, keys that say only the default,
and `1.0` for `1` change nothing. Messages of one role in a row are one, and a message without content is none. A tool with
`defer_loading` counts from where a `tool_reference` brings it in, by its definition. A compaction block that holds a summary
begins the conversation anew: what stands before it counts no more.

One thing cannot be known offline: what a URL serves. Here a URL without its query serves the same bytes for ever, so a
rotating signature in the query changes nothing and another path does.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from clew.model.json import JsonArray, JsonObject, JsonValue
from clew.simulator.judge.values import array, inner, string, text_blocks

__all__ = ["Prefix", "Tools", "is_summary", "opening", "tools_of"]

Tools = Mapping[str, JsonObject]
"""The deferred tools, by name: those that a reference can bring in."""

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
"""Keys that mean the same when they are left out. A null always does."""


@dataclass(frozen=True, slots=True)
class Prefix:
    """All that was said before a point of a conversation."""

    base: bytes
    """`system` and `tools`."""
    digest: bytes
    """Everything."""
    head: bytes = b""
    """The first message's content alone: it tells a rewritten beginning from a change further on."""
    count: int = 0
    """Content blocks, thinking not counted."""
    head_role: str = ""
    in_head: bool = True

    def after(self, role: str, block: JsonObject, tools: Tools) -> Prefix:
        """The prefix with one more block that is not thinking."""
        if block.get("type") == "text" and block.get("text") == "":
            return self
        start = Prefix(self.base, self.base) if is_summary(block) else self
        said = _dump([role, _canonical(block, tools)])
        in_head = start.in_head and role == (start.head_role or role)
        return Prefix(
            base=start.base,
            digest=_digest(start.digest, said),
            head=_digest(start.head, said) if in_head else start.head,
            count=start.count + 1,
            head_role=start.head_role or role,
            in_head=in_head,
        )


def is_summary(block: JsonObject) -> bool:
    """A compaction block that worked; one with `content: null` failed and says nothing (R54)."""
    return block.get("type") == "compaction" and string(block.get("content")) != ""


def opening(body: JsonObject) -> Prefix:
    """The prefix of a conversation in which nothing was said yet."""
    system: JsonArray = [_canonical(block, {}) for block in text_blocks(body.get("system") or [])]
    tools: JsonArray = [_canonical(tool, {}) for tool in array(body.get("tools")) if not _deferred(tool)]
    base = _digest(b"", _dump([system, tools]))
    return Prefix(base, base)


def tools_of(body: JsonObject) -> Tools:
    return {string(inner(tool).get("name")): inner(tool) for tool in array(body.get("tools")) if _deferred(tool)}


def _deferred(tool: JsonValue) -> bool:
    return inner(tool).get("defer_loading") is True


def _canonical(value: JsonValue, tools: Tools) -> JsonValue:
    """A block or a tool without what does not count. Blocks inside it are treated alike; a tool's input stays whole."""
    if not isinstance(value, dict):
        return value
    kept: JsonObject = {key: _member(key, member, tools) for key, member in value.items() if _counts(key, member)}
    if value.get("type") == "tool_reference":
        name = string(value.get("tool_name")) or string(value.get("name"))
        kept["definition"] = _canonical(tools.get(name, {}), {})
    return kept


def _counts(key: str, member: JsonValue) -> bool:
    return (
        key != "cache_control"
        and member is not None
        and not any(key == name and member == default and type(member) is type(default) for name, default in _DEFAULTS)
    )


def _member(key: str, member: JsonValue, tools: Tools) -> JsonValue:
    if key == "content" and isinstance(member, str):
        return [{"type": "text", "text": member}]
    if key in ("content", "tool_references", "tool_changes") and isinstance(member, list):
        return [_canonical(item, tools) for item in member]
    if key in ("content", "tool", "source") and isinstance(member, dict):
        return _canonical(member, tools)
    if key == "url" and isinstance(member, str):
        return member.partition("?")[0]
    if key in ("input", "input_schema"):
        return json.loads(json.dumps(member), parse_float=_plain)
    return member


def _plain(number: str) -> int | float:
    """JSON does not tell 1.0 from 1."""
    value = float(number)
    return int(value) if value.is_integer() else value


def _dump(value: JsonValue) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _digest(before: bytes, said: bytes) -> bytes:
    return hashlib.sha256(before + said).digest()[:_DIGEST_BYTES]
