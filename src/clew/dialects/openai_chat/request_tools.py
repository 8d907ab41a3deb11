"""Tools."""

from __future__ import annotations

from clew.dialects.openai.fields import RawObject, RawRequest, RequestChanges
from clew.dialects.openai.parameters import is_strict
from clew.dialects.openai.tool_schemas import ANY_OBJECT, schema_to_send
from clew.dialects.openai.tools import tool_name, tools_to_send
from clew.dialects.openai_chat.options import ChatRequestOptions


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
    if is_strict(tool, schema, options, changes):
        function["strict"] = True
    return {"type": "function", "function": function}
