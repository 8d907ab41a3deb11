"""The tools on offer, and which of them the request forces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from clew.model.json import JsonObject, JsonValue
from clew.simulator.openai_responses.judge.case import NAME, ResponsesCase, quoted
from clew.simulator.rule_book import RuleBreach
from clew.simulator.values import as_dict, as_list, as_str, kind_of

_TYPES: Final = (
    "function",
    "custom",
    "namespace",
    "tool_search",
    "web_search",
    "web_search_preview",
    "file_search",
    "code_interpreter",
    "image_generation",
    "computer",
    "computer_use_preview",
    "local_shell",
    "shell",
    "apply_patch",
    "mcp",
)
_CHOICES: Final = ("none", "auto", "required")
_LONGEST_NAME: Final = 64
_DEPTH: Final = 32


def check_tools(case: ResponsesCase, value: JsonValue) -> Iterator[RuleBreach]:
    """The field `tools`."""
    if not isinstance(value, list):
        yield RuleBreach("responses.field-type", "tools", {"expected": "an array of tools", "given": kind_of(value)})
    yield from check_each(as_list(value), "tools")


def check_each(tools: list[JsonValue], path: str) -> Iterator[RuleBreach]:
    """Tools in a list, wherever it is."""
    for number, each in enumerate(tools):
        tool, place = as_dict(each), f"{path}.{number}"
        kind = tool.get("type")
        if kind is None:
            yield RuleBreach("responses.field-missing", f"{place}.type")
        elif kind not in _TYPES:
            yield RuleBreach("responses.field-value", f"{place}.type", {"given": as_str(kind), "values": quoted(_TYPES)})
        elif kind in ("function", "custom", "namespace"):
            yield from _check_name(tool.get("name"), f"{place}.name")
        if kind == "namespace":
            yield from check_each(as_list(tool.get("tools")), f"{place}.tools")
        elif kind == "function":
            yield from _check_parameters(tool, f"{place}.parameters")


def _check_name(value: JsonValue, path: str) -> Iterator[RuleBreach]:
    name = as_str(value)
    if value is None:
        yield RuleBreach("responses.field-missing", path)
    elif not name:
        yield RuleBreach("responses.text-empty", path)
    elif len(name) > _LONGEST_NAME:
        yield RuleBreach("responses.text-long", path, {"limit": _LONGEST_NAME, "length": len(name)})
    elif not NAME.fullmatch(name):
        yield RuleBreach("responses.name-pattern", path)


def _check_parameters(tool: JsonObject, path: str) -> Iterator[RuleBreach]:
    schema, name = tool.get("parameters"), as_str(tool.get("name"))
    if schema is None:
        return
    if not isinstance(schema, dict):
        yield RuleBreach("responses.field-type", path, {"expected": "an object", "given": kind_of(schema)})
    elif (kind := schema.get("type", "None")) != "object":
        yield RuleBreach("responses.tool-schema", path, {"name": name, "given": kind})
    elif tool.get("strict") is True:
        yield from check_strict(schema, path, "function", name)


def check_strict(schema: JsonObject, path: str, what: str, name: str) -> Iterator[RuleBreach]:
    """A strict schema: each object forbids further properties and requires all that it has."""
    code = "invalid_function_parameters" if what == "function" else "invalid_json_schema"
    for context, defect in _defects(schema, ()):
        # As a Python tuple, which the API writes
        names = {"what": what, "name": name, "context": repr(context), "defect": defect, "code": code}
        yield RuleBreach("responses.strict-schema", path, names)


def _defects(schema: JsonObject, context: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    if len(context) > _DEPTH:
        return
    properties = as_dict(schema.get("properties"))
    if schema.get("type") == "object" or properties:
        if schema.get("additionalProperties") is not False:
            yield context, "'additionalProperties' is required to be supplied and to be false."
        missing = [key for key in properties if key not in as_list(schema.get("required"))]
        if missing:
            wanted = "'required' is required to be supplied and to be an array including every key in properties."
            yield context, f"{wanted} Missing '{missing[0]}'."
    for key, inner in properties.items():
        yield from _defects(as_dict(inner), (*context, "properties", key))
    if isinstance(items := schema.get("items"), dict):
        yield from _defects(items, (*context, "items"))
    for number, option in enumerate(as_list(schema.get("anyOf"))):
        yield from _defects(as_dict(option), (*context, "anyOf", str(number)))


def check_tool_choice(case: ResponsesCase, value: JsonValue) -> Iterator[RuleBreach]:
    """The field `tool_choice`."""
    if isinstance(value, str):
        if value not in _CHOICES:
            yield RuleBreach("responses.tool-choice", "tool_choice", {"given": value, "values": quoted(_CHOICES)})
        elif value == "required" and not case.body.get("tools") and not case.tools:
            yield RuleBreach("responses.tool-choice-without-tools", "tool_choice")
        return
    if not isinstance(value, dict):
        expected = "one of an object or 'none', 'auto', or 'required'"
        yield RuleBreach("responses.field-type", "tool_choice", {"expected": expected, "given": kind_of(value)})
        return
    yield from _check_chosen(case, value)


def _check_chosen(case: ResponsesCase, choice: JsonObject) -> Iterator[RuleBreach]:
    kind = as_str(choice.get("type"))
    match kind:
        case "function" | "custom":
            if choice.get("name") is None:
                yield RuleBreach("responses.field-missing", "tool_choice.name")
            elif not any(tool.kind == kind and tool.name == choice["name"] for tool in case.tools.values()):
                yield RuleBreach("responses.tool-choice-unknown", "tool_choice", {"type": kind})
        case "allowed_tools":
            mode = as_str(choice.get("mode"))
            if mode not in ("auto", "required"):
                names = {"given": mode, "values": quoted(("auto", "required"))}
                yield RuleBreach("responses.field-value", "tool_choice.mode", names)
            if not isinstance(choice.get("tools"), list):
                yield RuleBreach("responses.field-missing", "tool_choice.tools")
        case _ if kind not in _TYPES:
            values = quoted(("allowed_tools", *_TYPES))
            yield RuleBreach("responses.field-value", "tool_choice.type", {"given": kind, "values": values})
        case _:
            pass
