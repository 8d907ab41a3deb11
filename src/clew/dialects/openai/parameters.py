"""Fields of a request that OpenAI's dialects say alike: tools and the choice among them, who asks, the form of the answer.

Each dialect puts them in its own places: Chat Completions one level deeper than Responses.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Final, Literal, Protocol

from msgspec import Raw

from clew.dialects.openai.fields import BOOLEAN, RawObject, RequestChanges
from clew.dialects.openai.schemas import is_closed, schema_to_send
from clew.dialects.openai.tools import tool_name
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
ANY_JSON = "this backend promises JSON, but not this schema"

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
