"""Tools, and the choice among them."""

from __future__ import annotations

from typing import Final

from clew.dialects.openai.fields import BOOLEAN, RawObject, RawRequest, RequestChanges
from clew.dialects.openai.tool_schemas import ANY_OBJECT, is_closed, schema_to_send
from clew.dialects.openai.tools import tool_name, tools_to_send
from clew.dialects.openai_chat.options import ChatRequestOptions
from clew.errors import Unrepresentable

NO_STRICT = "this backend does not check tool inputs strictly"
OPEN = "this backend is strict only about objects that require all their properties and allow no others"
NO_TOOLS = "there are no tools to choose from"
NO_PARALLEL = "this backend has no switch for parallel tool calls"
THINKING = "this backend refuses a forced tool while it thinks; the choice is left to the model"


_CHOICES: Final = {"auto": "auto", "any": "required", "none": "none"}


def write_tools(given: RawRequest, options: ChatRequestOptions, changes: RequestChanges) -> dict[str, object]:
    """The `tools` of the body; no such key if there are none."""
    sent = [_function(tool, options, changes) for tool in tools_to_send(given, changes)]
    return {"tools": sent} if sent else {}


def _function(tool: RawObject, options: ChatRequestOptions, changes: RequestChanges) -> dict[str, object]:
    changes.leave_out_unknown(tool.path, tool.fields, {"type", "name", "description", "input_schema", "strict"})
    function: dict[str, object] = {"name": tool_name(tool.string("name"), f"{tool.path}.name", changes)}
    if description := tool.string("description"):
        function["description"] = description
    schema, path = tool.fields.get("input_schema", ANY_OBJECT), f"{tool.path}.input_schema"
    if parameters := schema_to_send(schema, path, options.validator, changes):
        function["parameters"] = parameters
    if tool.value("strict", BOOLEAN):
        if options.strict_tools and is_closed(schema, path):
            function["strict"] = True
        else:
            changes.leave_out(f"{tool.path}.strict", OPEN if options.strict_tools else NO_STRICT)
    return {"type": "function", "function": function}


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
