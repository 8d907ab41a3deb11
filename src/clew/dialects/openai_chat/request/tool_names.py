"""Names of tools that are too long for Chat Completions: it takes half of what the Messages API takes, and MCP fills that.

A long name goes out as its beginning and a hash of the whole. It is the same each time, and different names stay different.
The client never sees it: when a call names such a tool, the tools of the request say which one is meant.
"""

from __future__ import annotations

import hashlib
from typing import Final

import msgspec
from msgspec import Struct

from clew.dialects.openai_chat.request.notes import Notes

__all__ = ["own_name", "tool_name"]

TOO_LONG = "Chat Completions takes names of 64 characters at most"

_MOST: Final = 64
_HASH: Final = 8


class _Tool(Struct):
    name: str = ""


class _Tools(Struct):
    tools: list[_Tool] | None = None


def tool_name(name: str, path: str, notes: Notes) -> str:
    """The name to send."""
    if len(name) <= _MOST:
        return name
    notes.alike("tool_names", path, "replaced", TOO_LONG)
    return _short(name)


def own_name(name: str, body: bytes) -> str:
    """The client's name of a tool that was called by this one, by the tools of its request."""
    if len(name) != _MOST:
        return name
    try:
        tools = msgspec.json.decode(body, type=_Tools).tools or ()
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return name
    return next((tool.name for tool in tools if len(tool.name) > _MOST and _short(tool.name) == name), name)


def _short(name: str) -> str:
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{name[: _MOST - _HASH - 1]}_{digest[:_HASH]}"
