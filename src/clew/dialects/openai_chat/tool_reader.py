"""The tools of a client's request, and which of them it wants to be used, in canonical form.

A custom tool takes one text in place of an object: the canonical tool takes that text as `input`, and calls of it are given
back as what they were (`detail.ChatDetail.custom_tools`). The older `functions` are tools, too; their clients know one call
at a time.
"""

from __future__ import annotations

from typing import Final

from msgspec import Raw

from clew.dialects.openai.fields import BOOLEAN, NULL, OBJECT, OBJECTS, Canonical, RawObject, RequestChanges, invalid
from clew.model.json import JsonObject

SOME_TOOLS: Final = "this API cannot limit the choice to some tools: the model may choose any of them"
NO_GRAMMAR: Final = "the Messages API has no grammars for tools"
TWICE: Final = "another tool already has this name"
NO_TOOLS: Final = "the request has no tools"

CUSTOM_SCHEMA: Final[JsonObject] = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
}
_ANY_OBJECT: Final = Raw(b'{"type":"object","properties":{}}')
_CHOICES: Final = {"auto": "auto", "none": "none", "required": "any"}
_KEYS: Final = frozenset({"name", "description", "parameters", "strict"})
_KINDS: Final = ("function", "custom")
_SAYS_LITTLE: Final = (b"null", b'"auto"', b'"none"')
"""Choices that ask for nothing where there is nothing to choose from."""
_AROUND: Final = frozenset({"type", *_KINDS, "cache_control"})
"""Of a tool, around what it is."""


def read_tools(parameters: RawObject, changes: RequestChanges) -> Canonical:
    """`tools` and `tool_choice`. Raises RequestInvalid."""
    legacy = [RawObject(f"functions.{at}", each) for at, each in enumerate(parameters.value("functions", OBJECTS) or [])]
    tools: list[Canonical] = []
    for at, each in enumerate(parameters.value("tools", OBJECTS) or []):
        tool = RawObject(f"tools.{at}", each)
        if tool.type not in _KINDS:
            raise invalid(f"{tool.path}.type", f"a tool of type {tool.type!r} cannot be passed on: only functions can")
        changes.leave_out_others(tool, _AROUND)
        read = _function if tool.type == "function" else _custom
        mark = {"cache_control": tool.fields["cache_control"]} if tool.value("cache_control", OBJECT) else {}
        tools.append({**read(tool.object(tool.type), changes), **mark})
    tools += [_function(each, changes) for each in legacy]
    tools = _each_once(tools, changes)
    if not tools:
        for name in ("tool_choice", "function_call"):
            if bytes(parameters.fields.get(name, NULL)) not in _SAYS_LITTLE:
                changes.leave_out(name, NO_TOOLS)
        return {}
    choice = _tool_choice(parameters, changes)
    is_one_by_one = parameters.value("parallel_tool_calls", BOOLEAN) is False or len(legacy) == len(tools)
    if is_one_by_one and (choice or {}).get("type") != "none":
        choice = {**(choice or {"type": "auto"}), "disable_parallel_tool_use": True}
    return {"tools": tools, **({"tool_choice": choice} if choice else {})}


def _each_once(tools: list[Canonical], changes: RequestChanges) -> list[Canonical]:
    """The first of each name: OpenAI takes two tools of one name, others refuse them."""
    once: dict[object, Canonical] = {}
    for at, tool in enumerate(tools):
        if tool["name"] in once:
            changes.leave_out(f"tools.{at}", TWICE)
        once.setdefault(tool["name"], tool)
    return list(once.values())


def custom_names(parameters: RawObject) -> frozenset[str]:
    """The tools of a client that take a text."""
    tools = [RawObject("tools", each) for each in parameters.value("tools", OBJECTS) or []]
    return frozenset(tool.object("custom").string("name") for tool in tools if tool.type == "custom")


def _described(function: RawObject) -> Canonical:
    name = function.string("name")
    if not name:
        raise invalid(f"{function.path}.name", "Field required")
    description = function.string("description")
    return {"name": name, **({"description": description} if description else {})}


def _function(function: RawObject, changes: RequestChanges) -> Canonical:
    tool = _described(function)
    tool["input_schema"] = function.fields["parameters"] if function.value("parameters", OBJECT) else _ANY_OBJECT
    if function.value("strict", BOOLEAN):
        tool["strict"] = True
    changes.leave_out_others(function, _KEYS)
    return tool


def _custom(custom: RawObject, changes: RequestChanges) -> Canonical:
    if custom.object("format").type not in ("", "text"):
        changes.add_to_group("tool.format", f"{custom.path}.format", "left out", NO_GRAMMAR)
    changes.leave_out_others(custom, _KEYS | {"format"})
    return {**_described(custom), "input_schema": CUSTOM_SCHEMA}


def _tool_choice(parameters: RawObject, changes: RequestChanges) -> Canonical | None:
    """Of `tool_choice`, or the older `function_call`. Of allowed tools only the mode can be said."""
    name = "tool_choice" if "tool_choice" in parameters.fields else "function_call"
    raw = parameters.fields.get(name)
    if raw is None or raw == NULL:
        return None
    if bytes(raw).startswith(b'"'):
        return {"type": _choice_named(parameters.string(name), name)}
    choice = parameters.object(name)
    if choice.type == "allowed_tools":
        allowed = choice.object("allowed_tools")
        changes.add(name, "replaced", SOME_TOOLS)
        return {"type": _choice_named(allowed.string("mode") or "auto", f"{allowed.path}.mode")}
    named = choice if name == "function_call" else choice.object("custom" if choice.type == "custom" else "function")
    if not named.string("name"):
        raise invalid(f"{named.path}.name", "Field required")
    return {"type": "tool", "name": named.string("name")}


def _choice_named(word: str, path: str) -> str:
    if word not in _CHOICES:
        raise invalid(path, f"there is no choice {word!r}: it is auto, none, required or a named function")
    return _CHOICES[word]
