"""Fields of a request that OpenAI's dialects say alike: tools and the choice among them, who asks, the form of the answer.

Each dialect puts them in its own places: Chat Completions one level deeper than Responses.

A tool of the client's own is a function. A tool that Anthropic runs, or whose schema only Anthropic's models know, cannot be
one, and is refused: a model that believes it can search must not be told that it searched. A deferred tool is not shown to
the model before a tool result has loaded it, so it is sent from then on.

A name that is too long for OpenAI's APIs goes out as its beginning and a hash of the whole: the same each time, and
different names stay different. (They take half of what the Messages API takes, and MCP fills that.) The client never sees
it: when a call names such a tool, the tools of the request tell which one is meant.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Final, Literal, Protocol

import msgspec
from msgspec import Raw, Struct

from clew.dialects.openai.fields import BOOLEAN, OBJECTS, RawObject, RawRequest, RequestChanges, blocks_in
from clew.dialects.openai.schemas import is_closed, schema_to_send
from clew.errors import RequestInvalid, Unrepresentable

SCHEMA_NAME: Final = "answer"
"""A schema must have a name; the client gave none."""

NO_STRICT = "this backend does not check tool inputs strictly"
OPEN = "this backend checks strictly only objects that require all their properties and allow no others"
NO_TOOLS = "there are no tools to choose from"
NO_PARALLEL = "this backend has no switch for parallel tool calls"
THINKING = "this backend refuses a forced tool together with thinking: the model chooses"
NOT_TOLD = "this backend has no field for a user id"
TOO_LONG = "longer than this backend accepts: replaced by its SHA-256"
NO_SCHEMA = "this backend does not support a schema for its answer"
NOT_HELD = (
    "the schema is requested but not enforced: enforcing needs objects that require all their properties and allow no others"
)
ANY_JSON = "this backend promises JSON, but no schema: the schema stands in the system prompt"

_CHOICES: Final = {"auto": "auto", "any": "required", "none": "none"}


class ParameterOptions(Protocol):
    """What a backend's options say about these fields."""

    @property
    def strict_tools(self) -> bool: ...
    @property
    def parallel(self) -> bool: ...
    @property
    def validator(self) -> str: ...
    @property
    def schema(self) -> Literal["json_schema", "json_object", "none"]: ...
    @property
    def user(self) -> str: ...
    @property
    def user_length(self) -> int: ...


def is_strict(tool: RawObject, schema: Raw, options: ParameterOptions, changes: RequestChanges) -> bool:
    """Whether a tool's inputs are checked strictly: it is asked for, and the backend can."""
    if not tool.value("strict", BOOLEAN):
        return False
    if options.strict_tools and is_closed(schema, f"{tool.path}.input_schema"):
        return True
    changes.leave_out(f"{tool.path}.strict", OPEN if options.strict_tools else NO_STRICT)
    return False


def write_tool_choice(
    parameters: RawObject,
    one_tool: Callable[[str], dict[str, object]] | None,
    free: bool,
    options: ParameterOptions,
    changes: RequestChanges,
) -> dict[str, object]:
    """`tool_choice` and `parallel_tool_calls`. `one_tool` says that the tool of this name is to be called; None: there are
    no tools. `free`: a forced choice is made a free one."""
    if "tool_choice" not in parameters.fields:
        return {}
    if one_tool is None:
        changes.leave_out("tool_choice", NO_TOOLS)
        return {}
    choice = parameters.object("tool_choice")
    changes.leave_out_unknown("tool_choice", choice.fields, {"type", "name", "disable_parallel_tool_use"})
    sent: dict[str, object] = {"tool_choice": _CHOICES.get(choice.type)}
    if free:
        changes.add("tool_choice", "set", THINKING)
        sent["tool_choice"] = "auto"
    elif choice.type == "tool":
        sent["tool_choice"] = one_tool(tool_name(choice.string("name"), "tool_choice.name", changes))
    elif choice.type not in _CHOICES:
        raise Unrepresentable(f"tool_choice: this backend has no choice of type {choice.type!r}")
    if choice.value("disable_parallel_tool_use", BOOLEAN):
        if options.parallel:
            sent["parallel_tool_calls"] = False
        else:
            changes.leave_out("tool_choice.disable_parallel_tool_use", NO_PARALLEL)
    return sent


def user_field(parameters: RawObject, options: ParameterOptions, changes: RequestChanges) -> dict[str, object]:
    """Who asks. A long name (Claude Code's holds a device and a session) goes as its hash."""
    metadata = parameters.object("metadata")
    changes.leave_out_unknown("metadata", metadata.fields, {"user_id"})
    name = metadata.string("user_id")
    if name and not options.user:
        changes.leave_out("metadata.user_id", NOT_TOLD)
    if not name or not options.user:
        return {}
    if len(name) > options.user_length:
        changes.add("metadata.user_id", "replaced", TOO_LONG)
        name = hashlib.sha256(name.encode()).hexdigest()[: options.user_length]
    return {options.user: name}


def answer_schema(
    parameters: RawObject, options: ParameterOptions, changes: RequestChanges
) -> dict[str, object] | Literal["json_object"] | None:
    """The schema that the answer must fit, with its name and whether it is held to; `json_object` where a backend promises
    no more than JSON; None if there is none to send."""
    config = parameters.object("output_config")
    changes.leave_out_unknown("output_config", config.fields, {"effort", "format"})
    form = config.object("format")
    if not form.fields:
        return None
    changes.leave_out_unknown(form.path, form.fields, {"type", "schema"})
    if form.type != "json_schema":
        raise Unrepresentable(f"{form.path}: an answer of type {form.type!r} is not supported by this backend")
    if options.schema == "none":
        changes.leave_out(form.path, NO_SCHEMA)
        return None
    if options.schema == "json_object":
        changes.add(form.path, "replaced", ANY_JSON)
        return "json_object"
    path = f"{form.path}.schema"
    if "schema" not in form.fields:
        raise RequestInvalid(f"{path}: Field required", path=path)
    given = form.fields["schema"]
    schema = schema_to_send(given, path, options.validator, changes) or {"type": "object"}
    strict = is_closed(given, path)
    if not strict:
        changes.add(path, "replaced", NOT_HELD)
    return {"name": SCHEMA_NAME, "schema": schema, "strict": strict}


NOT_LOADED = "a deferred tool that is not loaded yet"
NAME_TOO_LONG = "this backend accepts names of at most 64 characters"
THEIRS = "is run by Anthropic's servers, and this backend cannot run it: leave the tool out, or ask a Claude model"
UNDESCRIBED = "is known to Claude models only: describe it as a tool of your own, with an input_schema"

ID_REPLACED = "an id may have only letters, digits, _ and -"

LONGEST_NAME: Final = 64
LONGEST_ID: Final = 64
"""Of a call."""
_HASH: Final = 8
_ILLEGAL_ID: Final = re.compile(r"[^a-zA-Z0-9_-]")
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
        changes.add_to_group("tool_names", path, "replaced", NAME_TOO_LONG)
    return sent_name(name)


def is_legal_name(name: str) -> bool:
    """Whether OpenAI's APIs take this name of a tool. (An output has none.)"""
    return len(name) <= LONGEST_NAME and not _ILLEGAL_ID.search(name)


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


def legal_id(given: str, path: str, changes: RequestChanges) -> str:
    """The canonical id of a call or of its result. The same id always becomes the same one, so that the two still meet."""
    if not _ILLEGAL_ID.search(given):
        return given
    changes.add_to_group("call_id", path, "replaced", ID_REPLACED)
    digest = hashlib.sha256(given.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{_ILLEGAL_ID.sub('_', given)}_{digest[:8]}"


def own_name(name: str, document: bytes) -> str:
    """The client's name of the tool that a call names, by the tools of the canonical request."""
    if len(name) != LONGEST_NAME:
        return name
    try:
        tools = msgspec.json.decode(document, type=_Tools).tools or ()
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return name
    return next((tool.name for tool in tools if len(tool.name) > LONGEST_NAME and sent_name(tool.name) == name), name)
