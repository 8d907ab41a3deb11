"""The client's tools as functions: which of them can be sent, and under which name.

A tool of the client's own is a function. A tool that Anthropic runs, or whose schema only Anthropic's models know, cannot be
one, and is refused: a model that believes it can search must not be told that it searched. A deferred tool is not shown to
the model before a tool result has loaded it, so it is sent from then on.

A name that is too long for OpenAI's APIs goes out as its beginning and a hash of the whole: the same each time, and
different names stay different. (They take half of what the Messages API takes, and MCP fills that.) The client never sees
it: when a call names such a tool, the tools of the request tell which one is meant.
"""

from __future__ import annotations

import hashlib
from typing import Final

import msgspec
from msgspec import Struct

from clew.dialects.openai.fields import BOOLEAN, OBJECTS, RawObject, RawRequest, RequestChanges, blocks_in
from clew.errors import Unrepresentable

NOT_LOADED = "a deferred tool that is not loaded yet"
TOO_LONG = "this backend accepts names of at most 64 characters"
THEIRS = "is run by Anthropic's servers, and this backend cannot run it: leave the tool out, or ask a Claude model"
UNDESCRIBED = "is known to Claude models only: describe it as a tool of your own, with an input_schema"

LONGEST_NAME: Final = 64
_HASH: Final = 8
_NAMED: Final = ("bash_", "computer_", "memory_", "text_editor_")
"""Tools of Anthropic's that the client runs itself."""


def refuse_server_tools(parameters: RawObject) -> None:
    """MCP servers are called by Anthropic, not by the client."""
    if parameters.value("mcp_servers", OBJECTS):
        raise Unrepresentable(
            "mcp_servers: only Anthropic calls MCP servers for its clients: call them in the client, or ask a Claude model"
        )


def tools_to_send(given: RawRequest, changes: RequestChanges) -> list[RawObject]:
    """The tools that the model may know. Raises Unrepresentable for one that is no tool of the client's own."""
    fields = given.parameters.value("tools", OBJECTS) or []
    tools = [RawObject(f"tools.{index}", each) for index, each in enumerate(fields)]
    loaded = set[str]()
    if any("defer_loading" in each for each in fields):
        results = (block for message in given.messages for block in message.blocks if block.type == "tool_result")
        inner = (each for block in results for each in blocks_in(block.fields.get("content"), f"{block.path}.content"))
        loaded = {each.string("tool_name") for each in inner if each.type == "tool_reference"}
    hidden = [each.path for each in tools if each.value("defer_loading", BOOLEAN) and each.string("name") not in loaded]
    for path in hidden:
        changes.leave_out(path, NOT_LOADED)
    left_out = frozenset(hidden)
    sent = [tool for tool in tools if tool.path not in left_out]
    for tool in sent:
        if tool.type not in ("", "custom"):
            why = UNDESCRIBED if tool.type.startswith(_NAMED) else THEIRS
            raise Unrepresentable(f"{tool.path}: {tool.type!r} {why}")
    return sent


def is_forced(parameters: RawObject) -> bool:
    """Whether the client wants a tool called, whatever the model thinks."""
    return parameters.object("tool_choice").type in ("any", "tool")


def tool_name(name: str, path: str, changes: RequestChanges) -> str:
    """The name to send."""
    if len(name) > LONGEST_NAME:
        changes.add_to_group("tool_names", path, "replaced", TOO_LONG)
    return sent_name(name)


def sent_name(name: str) -> str:
    """The name by which the backend knows a tool."""
    if len(name) <= LONGEST_NAME:
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{name[: LONGEST_NAME - _HASH - 1]}_{digest[:_HASH]}"


class _Tool(Struct):
    name: str = ""


class _Tools(Struct):
    tools: list[_Tool] | None = None


def own_name(name: str, document: bytes) -> str:
    """The client's name of the tool that a call names, by the tools of the canonical request."""
    if len(name) != LONGEST_NAME:
        return name
    try:
        tools = msgspec.json.decode(document, type=_Tools).tools or ()
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return name
    return next((tool.name for tool in tools if len(tool.name) > LONGEST_NAME and sent_name(tool.name) == name), name)
