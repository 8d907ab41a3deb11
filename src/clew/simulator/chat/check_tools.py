"""The tools on offer, and which of them the request forces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from clew.model.json import JsonObject, JsonValue
from clew.simulator.chat.case import ChatCase
from clew.simulator.chat.check_messages import NAME
from clew.simulator.chat.rules import Finding
from clew.simulator.values import as_dict, as_list, as_str

__all__ = ["check_tool_choice", "check_tools"]


_UNTHINKING: Final = {"always": (), "not_named": ("specified",), "not_thinking": ("specified", "required")}
"""Which forced choices a model does not take while it thinks."""


def check_tools(case: ChatCase) -> Iterator[Finding]:
    names: list[str] = []
    for number, tool in enumerate(as_list(case.body.get("tools"))):
        function = as_dict(as_dict(tool).get("function"))
        name = as_str(function.get("name"))
        yield from _tool(as_dict(tool), function, f"tools.{number}")
        if name and name in names:
            yield Finding("chat.tool-repeated", f"tools.{number}.function.name", {"name": name})
        names.append(name)


def _tool(tool: JsonObject, function: JsonObject, path: str) -> Iterator[Finding]:
    name = as_str(function.get("name"))
    if tool.get("type") != "function":
        yield Finding("chat.tool-shape", f"{path}.type")
    elif not name:
        yield Finding("chat.tool-shape", f"{path}.function.name")
    elif not NAME.fullmatch(name):
        yield Finding("chat.tool-name", f"{path}.function.name", {"name": name})
    schema = function.get("parameters")
    if schema is None:
        yield Finding("chat.tool-parameters", f"{path}.function.parameters", {"name": name})
    if schema is not None and as_dict(schema).get("type", "None") != "object":
        given = {"name": name, "given": as_dict(schema).get("type", "None")}
        yield Finding("chat.tool-schema", f"{path}.function.parameters", given)


def check_tool_choice(case: ChatCase) -> Iterator[Finding]:
    choice = case.body.get("tool_choice")
    if choice is None:
        return
    if not case.body.get("tools"):
        if choice != "none":
            yield Finding("chat.tool-choice-without-tools", "tool_choice")
        return
    name = _named(choice)
    if name is None:
        yield Finding("chat.tool-choice", "tool_choice")
        return
    offered = [as_dict(as_dict(tool).get("function")).get("name") for tool in as_list(case.body.get("tools"))]
    if name and name not in offered:
        yield Finding("chat.tool-choice-unknown", "tool_choice", {"name": name})
    forced = "specified" if name else "required" if choice in ("required", "any") else ""
    if forced and case.thinking and forced in _UNTHINKING[case.traits.forced_tools]:
        yield Finding("chat.tool-choice-thinking", "tool_choice", {"choice": forced})


def _named(choice: JsonValue) -> str | None:
    """The tool that is named, "" for none in particular, None for what is no choice at all."""
    if isinstance(choice, str):
        return "" if choice in ("auto", "none", "required", "any") else None
    if isinstance(choice, dict) and choice.get("type") == "function":
        return as_str(as_dict(choice.get("function")).get("name")) or None
    return None
