"""Tools, the choice among them, and the schemas of their inputs.

A tool of the client's own is a function. A tool that Anthropic runs, or whose schema only Anthropic's models know, cannot be
one, and is refused: a model that believes it can search must not be told that it searched. A deferred tool is not shown to
the model before a tool result has loaded it, so it is sent from then on. Schemas go as they are, unless this backend's
check of them is known to refuse what is in them.

A name that is too long for Chat Completions goes out as its beginning and a hash of the whole: the same each time, and
different names stay different. (Chat Completions takes half of what the Messages API takes, and MCP fills that.) The client
never sees it: when a call names such a tool, the tools of the request tell which one is meant.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

import msgspec
from msgspec import Raw, Struct
from msgspec.json import Decoder

from clew.dialects.openai_chat.options import ChatRequestOptions
from clew.dialects.openai_chat.request_fields import (
    BOOLEAN,
    OBJECTS,
    RawMessage,
    RawObject,
    RawRequest,
    RequestChanges,
    blocks_in,
    decode,
)
from clew.dialects.openai_chat.request_schemas import FittedSchema, fit_schema
from clew.errors import RequestInvalid, Unrepresentable
from clew.model.facts.chat_backends import validator
from clew.model.json import JsonObject, JsonValue, object_of

NOT_LOADED = "a deferred tool that nothing has loaded yet"
NO_STRICT = "this backend does not check tool inputs strictly"
OPEN = "this backend is strict only about objects that require all their properties and allow no others"
NO_TOOLS = "there are no tools to choose from"
NO_PARALLEL = "this backend has no switch for parallel tool calls"
THINKING = "this backend refuses a forced tool while it thinks; the choice is left to the model"
TOO_LONG = "Chat Completions takes names of 64 characters at most"
REFUSED = "this backend's check of schemas does not know it as it is: "
EMPTY = "this backend's check of schemas refuses an object without properties"

THEIRS = "is run by Anthropic's servers, and this backend cannot run it: leave the tool out, or ask a Claude model"
UNDESCRIBED = "is known by its name only to Claude models: describe it as a tool of your own, with an input_schema"

_NAMED: Final = ("bash_", "computer_", "memory_", "text_editor_")
"""Tools of Anthropic's that the client runs itself."""
_CHOICES: Final = {"auto": "auto", "any": "required", "none": "none"}
_ANY_OBJECT: Final = Raw(b'{"type":"object","properties":{}}')
_LONGEST_NAME: Final = 64
_HASH: Final = 8
_schema: Final[Decoder[JsonObject]] = Decoder(dict[str, JsonValue])


def refuse_server_tools(parameters: RawObject) -> None:
    """MCP servers are called by Anthropic, not by the client."""
    if parameters.value("mcp_servers", OBJECTS):
        raise Unrepresentable(
            "mcp_servers: only Anthropic calls MCP servers for its clients: call them in the client, or ask a Claude model"
        )


def write_tools(given: RawRequest, options: ChatRequestOptions, changes: RequestChanges) -> dict[str, object]:
    """The `tools` of the body; no such key if there are none."""
    fields = given.parameters.value("tools", OBJECTS) or []
    tools = [RawObject(f"tools.{index}", each) for index, each in enumerate(fields)]
    loaded = _loaded(given.messages) if any("defer_loading" in each for each in fields) else frozenset[str]()
    hidden = [each.path for each in tools if each.value("defer_loading", BOOLEAN) and each.string("name") not in loaded]
    for path in hidden:
        changes.leave_out(path, NOT_LOADED)
    left_out = frozenset(hidden)
    sent = [_function(tool, options, changes) for tool in tools if tool.path not in left_out]
    return {"tools": sent} if sent else {}


def _loaded(messages: Iterable[RawMessage]) -> frozenset[str]:
    """The names of the tools that some tool result has loaded."""
    results = (block for message in messages for block in message.blocks if block.type == "tool_result")
    inner = (each for block in results for each in blocks_in(block.fields.get("content"), f"{block.path}.content"))
    return frozenset(each.string("tool_name") for each in inner if each.type == "tool_reference")


def _function(tool: RawObject, options: ChatRequestOptions, changes: RequestChanges) -> dict[str, object]:
    if tool.type not in ("", "custom"):
        why = UNDESCRIBED if tool.type.startswith(_NAMED) else THEIRS
        raise Unrepresentable(f"{tool.path}: {tool.type!r} {why}")
    changes.leave_out_unknown(tool.path, tool.fields, {"type", "name", "description", "input_schema", "strict"})
    function: dict[str, object] = {"name": tool_name(tool.string("name"), f"{tool.path}.name", changes)}
    if description := tool.string("description"):
        function["description"] = description
    schema, path = tool.fields.get("input_schema", _ANY_OBJECT), f"{tool.path}.input_schema"
    if parameters := schema_to_send(schema, path, options, changes):
        function["parameters"] = parameters
    if tool.value("strict", BOOLEAN):
        if options.strict_tools and is_closed(schema, path):
            function["strict"] = True
        else:
            changes.leave_out(f"{tool.path}.strict", OPEN if options.strict_tools else NO_STRICT)
    return {"type": "function", "function": function}


def is_forced(parameters: RawObject) -> bool:
    """Whether the client wants a tool called, whatever the model thinks."""
    return parameters.object("tool_choice").type in ("any", "tool")


def tool_choice(
    parameters: RawObject, tools: bool, free: bool, options: ChatRequestOptions, changes: RequestChanges
) -> dict[str, object]:
    """`tool_choice` and `parallel_tool_calls`. `free`: a forced choice is made a free one."""
    if "tool_choice" not in parameters.fields:
        return {}
    if not tools:
        changes.leave_out("tool_choice", NO_TOOLS)
        return {}
    choice = parameters.object("tool_choice")
    changes.leave_out_unknown("tool_choice", choice.fields, {"type", "name", "disable_parallel_tool_use"})
    sent: dict[str, object] = {"tool_choice": _CHOICES.get(choice.type)}
    if free:
        changes.add("tool_choice", "set", THINKING)
        sent["tool_choice"] = "auto"
    elif choice.type == "tool":
        name = tool_name(choice.string("name"), "tool_choice.name", changes)
        sent["tool_choice"] = {"type": "function", "function": {"name": name}}
    elif choice.type not in _CHOICES:
        raise Unrepresentable(f"tool_choice: a choice of type {choice.type!r} cannot be said to this backend")
    if choice.value("disable_parallel_tool_use", BOOLEAN):
        if options.parallel:
            sent["parallel_tool_calls"] = False
        else:
            changes.leave_out("tool_choice.disable_parallel_tool_use", NO_PARALLEL)
    return sent


class _Tool(Struct):
    name: str = ""


class _Tools(Struct):
    tools: list[_Tool] | None = None


def tool_name(name: str, path: str, changes: RequestChanges) -> str:
    """The name to send."""
    if len(name) > _LONGEST_NAME:
        changes.add_to_group("tool_names", path, "replaced", TOO_LONG)
    return sent_name(name)


def own_name(name: str, body: bytes) -> str:
    """The client's name of the tool that a call names, by the tools of the client's request."""
    if len(name) != _LONGEST_NAME:
        return name
    try:
        tools = msgspec.json.decode(body, type=_Tools).tools or ()
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return name
    return next((tool.name for tool in tools if len(tool.name) > _LONGEST_NAME and sent_name(tool.name) == name), name)


def sent_name(name: str) -> str:
    """The name by which the backend knows a tool."""
    if len(name) <= _LONGEST_NAME:
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{name[: _LONGEST_NAME - _HASH - 1]}_{digest[:_HASH]}"


def schema_to_send(raw: Raw, path: str, options: ChatRequestOptions, changes: RequestChanges) -> Raw | JsonObject:
    """The bytes that came, if they pass; {} for an object without properties where that must not be said."""
    if not options.validator:
        return raw
    try:
        done = _fitted(bytes(raw), options.validator)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RequestInvalid(f"{path}: {error}", path=path) from None
    if "empty" in validator(options.validator).rewrites and done.is_empty:
        changes.leave_out(path, EMPTY)
        return {}
    if not done.altered:
        return raw
    changes.add(path, "replaced", REFUSED + ", ".join(done.altered))
    return done.schema


@lru_cache(maxsize=512)
def _fitted(raw: bytes, check: str) -> FittedSchema:
    """A client sends the same tools with every request."""
    return fit_schema(_schema.decode(raw), validator(check))


def is_closed(raw: Raw, path: str) -> bool:
    """Whether every object in a schema has all its properties required and no others: only then can it be held strictly."""
    return _is_closed(decode(raw, _schema, path))


def _is_closed(value: JsonValue) -> bool:
    if isinstance(value, list):
        return all(map(_is_closed, value))
    if not isinstance(value, dict):
        return True
    names, needed = object_of(value.get("properties")), value.get("required")
    required = needed if isinstance(needed, list) else []
    shut = value.get("additionalProperties") is False and all(name in required for name in names)
    if value.get("type") == "object" and not shut:
        return False
    return all(map(_is_closed, [*names.values(), value.get("items"), value.get("anyOf")]))
