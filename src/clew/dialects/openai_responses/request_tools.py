"""Tools, for backends.

A client of this dialect has its tools sent as it offered them, where the backend knows their kinds. All others are
functions.
"""

from __future__ import annotations

from clew.dialects.openai.fields import RawObject, RawRequest, RequestChanges
from clew.dialects.openai.parameters import is_strict
from clew.dialects.openai.tool_schemas import ANY_OBJECT, schema_to_send
from clew.dialects.openai.tools import tool_name, tools_to_send
from clew.dialects.openai_responses.detail import ResponsesDetail
from clew.dialects.openai_responses.options import ResponsesOptions

UNKNOWN_KIND = "this backend does not know tools of this kind"


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
    function["strict"] = is_strict(tool, schema, options, changes)  # left out, the server would try to be strict
    return function
