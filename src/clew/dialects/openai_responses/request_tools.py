"""Tools and the choice among them, for backends.

A client of this dialect has its tools sent as it offered them, where the backend knows their kinds. All others are
functions.
"""

from __future__ import annotations

from typing import Final

from clew.dialects.openai.fields import BOOLEAN, RawObject, RawRequest, RequestChanges
from clew.dialects.openai.tool_schemas import ANY_OBJECT, is_closed, schema_to_send
from clew.dialects.openai.tools import tool_name, tools_to_send
from clew.dialects.openai_responses.detail import ResponsesDetail
from clew.dialects.openai_responses.options import ResponsesOptions
from clew.errors import Unrepresentable

NO_STRICT = "this backend does not check tool inputs strictly"
OPEN = "this backend is strict only about objects that require all their properties and allow no others"
NO_TOOLS = "there are no tools to choose from"
NO_PARALLEL = "this backend has no switch for parallel tool calls"
THINKING = "this backend refuses a forced tool while it thinks; the choice is left to the model"
UNKNOWN_KIND = "this backend does not know tools of this kind"

_CHOICES: Final = {"auto": "auto", "any": "required", "none": "none"}


def may_go_as_offered(detail: ResponsesDetail, options: ResponsesOptions) -> bool:
    """Whether the backend knows every kind of tool that the client offers."""
    known = {
        "function": True,
        "custom": options.custom_tools,
        "namespace": options.namespaces,
        "additional_tools": options.namespaces,
    }
    return all(known.get(kind, options.own_items) for kind in detail.tool_kinds)


def write_tools(given: RawRequest, options: ResponsesOptions, changes: RequestChanges) -> list[dict[str, object]]:
    """The tools as functions."""
    return [_function(tool, options, changes) for tool in tools_to_send(given, changes)]


def _function(tool: RawObject, options: ResponsesOptions, changes: RequestChanges) -> dict[str, object]:
    changes.leave_out_unknown(tool.path, tool.fields, {"type", "name", "description", "input_schema", "strict"})
    name = tool_name(tool.string("name"), f"{tool.path}.name", changes)
    function: dict[str, object] = {"type": "function", "name": name}
    if description := tool.string("description"):
        function["description"] = description
    schema, path = tool.fields.get("input_schema", ANY_OBJECT), f"{tool.path}.input_schema"
    function["parameters"] = schema_to_send(schema, path, options.validator, changes) or None
    function["strict"] = False  # left out, the server would try to be strict
    if tool.value("strict", BOOLEAN):
        if options.strict_tools and is_closed(schema, path):
            function["strict"] = True
        else:
            changes.leave_out(f"{tool.path}.strict", OPEN if options.strict_tools else NO_STRICT)
    return function


def write_tool_choice(
    parameters: RawObject, tools: bool, free: bool, options: ResponsesOptions, changes: RequestChanges
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
        sent["tool_choice"] = {"type": "function", "name": name}
    elif choice.type not in _CHOICES:
        raise Unrepresentable(f"tool_choice: a choice of type {choice.type!r} cannot be said to this backend")
    if choice.value("disable_parallel_tool_use", BOOLEAN):
        if options.parallel:
            sent["parallel_tool_calls"] = False
        else:
            changes.leave_out("tool_choice.disable_parallel_tool_use", NO_PARALLEL)
    return sent
