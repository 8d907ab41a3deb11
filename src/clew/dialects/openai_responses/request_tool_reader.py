"""The tools that a client offers, and its choice among them, as canonical ones.

Tools stand in the field `tools`, and in items of the input that add some (`additional_tools`). Functions and custom tools
can be offered to any model. Tools that OpenAI runs, or that only its models know, cannot: they are left out, and a request
that forces one is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec
from msgspec import Raw, Struct

from clew.dialects.openai.fields import BOOLEAN, OBJECT, OBJECTS, Canonical, RawObject, RequestChanges, decode, invalid
from clew.dialects.openai.tool_schemas import ANY_OBJECT
from clew.dialects.openai_responses.detail import ClientTool
from clew.dialects.openai_responses.tools import ToolNames, name_tools
from clew.model.json import JsonValue

NOT_OURS = "a tool of OpenAI's own, which only its models know"
NO_GRAMMAR = "only OpenAI's models are held to a grammar: the tool takes any text"
NO_LIST = "a choice among some of the tools cannot be said: all of them are offered"
PRIVATE = "a keyword of OpenAI's own"
TWICE = "a tool of this name is there already"
NAMESPACE = "a namespace is part of its tools' names"

INPUT_SCHEMA: Final = Raw(b'{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}')
"""What a custom tool takes, in the canonical request."""
_CHOICES: Final = {"auto": "auto", "none": "none", "required": "any"}
_PRIVATE_KEY: Final = "encrypted"
_any: Final[msgspec.json.Decoder[JsonValue]] = msgspec.json.Decoder()


class _Declared(Struct, frozen=True):
    tool: ClientTool
    given: RawObject


class ReadTools(NamedTuple):
    """The canonical tools; and what each of them is to the client."""

    documents: list[Canonical]
    named: dict[str, ClientTool]
    kinds: frozenset[str]

    @property
    def names(self) -> ToolNames:
        return ToolNames(self.named)


def read_tools(parameters: RawObject, added: Iterable[RawObject], changes: RequestChanges) -> ReadTools:
    """The tools of the request, and then those of the items that add some."""
    declared: list[_Declared] = []
    kinds: set[str] = set()
    for holder in (parameters, *added):
        kinds |= {holder.type} if holder.path else set()
        for at, each in enumerate(holder.value("tools", OBJECTS) or []):
            tool = RawObject(f"{holder.path}.tools.{at}" if holder.path else f"tools.{at}", each)
            kinds.add(tool.type)
            declared += _declared(tool, "", changes)
    kinds |= {each.tool.kind for each in declared}
    named = name_tools(each.tool for each in declared)
    given: dict[ClientTool, RawObject] = {}
    for each in declared:
        if each.tool in given:
            changes.leave_out(each.given.path, TWICE)
        given.setdefault(each.tool, each.given)
    return ReadTools([_document(name, tool, given[tool], changes) for name, tool in named.items()], named, frozenset(kinds))


def _declared(given: RawObject, namespace: str, changes: RequestChanges) -> list[_Declared]:
    match given.type:
        case "function" | "custom" as kind:
            name = given.string("name")
            if not name:
                raise invalid(f"{given.path}.name", "Field required")
            return [_Declared(ClientTool(kind, namespace, name), given)]
        case "namespace" if not namespace:
            name = given.string("name")
            if given.string("description"):
                changes.add_to_group("namespace", f"{given.path}.description", "left out", NAMESPACE)
            inner = given.value("tools", OBJECTS) or []
            within = [RawObject(f"{given.path}.tools.{at}", each) for at, each in enumerate(inner)]
            return [found for each in within for found in _declared(each, name, changes)]
        case _:
            changes.leave_out(given.path, NOT_OURS)
            return []


def _document(name: str, tool: ClientTool, given: RawObject, changes: RequestChanges) -> Canonical:
    document: Canonical = {"name": name}
    if description := given.string("description"):
        document["description"] = description
    if tool.kind == "custom":
        if given.object("format").type == "grammar":
            changes.leave_out(f"{given.path}.format", NO_GRAMMAR)
        return {**document, "input_schema": INPUT_SCHEMA}
    document["input_schema"] = _schema(given, changes)
    if given.value("strict", BOOLEAN):
        document["strict"] = True
    return document


def _schema(given: RawObject, changes: RequestChanges) -> object:
    if not given.value("parameters", OBJECT):
        return ANY_OBJECT
    raw = given.fields["parameters"]
    if b'"encrypted"' not in bytes(raw):
        return raw
    changes.add_to_group(_PRIVATE_KEY, f"{given.path}.parameters", "left out", PRIVATE)
    return _without_private_keys(decode(raw, _any, f"{given.path}.parameters"))


def _without_private_keys(value: JsonValue) -> JsonValue:
    """The schema without the keyword. A property of that name is described by an object, and stays."""
    if isinstance(value, list):
        return [_without_private_keys(each) for each in value]
    if not isinstance(value, dict):
        return value
    kept = {key: each for key, each in value.items() if not (key == _PRIVATE_KEY and isinstance(each, bool))}
    return {key: _without_private_keys(each) for key, each in kept.items()}


def read_tool_choice(parameters: RawObject, tools: ReadTools, changes: RequestChanges) -> Canonical:
    """`tool_choice`, with the wish about parallel calls in it. Nothing where there are no tools."""
    choice = _choice(parameters, tools, changes)
    if not tools.documents:
        return {}
    if parameters.value("parallel_tool_calls", BOOLEAN) is False and (choice or {}).get("type") != "none":
        choice = {**(choice or {"type": "auto"}), "disable_parallel_tool_use": True}
    return {"tool_choice": choice} if choice else {}


def _choice(parameters: RawObject, tools: ReadTools, changes: RequestChanges) -> Canonical | None:
    raw = parameters.fields.get("tool_choice")
    if raw is None or raw == Raw(b"null"):
        return None
    if bytes(raw).startswith(b'"'):
        return {"type": _word(parameters.string("tool_choice"), "tool_choice")}
    choice = parameters.object("tool_choice")
    match choice.type:
        case "function" | "custom":
            name = choice.string("name")
            if not name:
                raise invalid(f"{choice.path}.name", "Field required")
            return {"type": "tool", "name": tools.names.find(choice.string("namespace"), name)}
        case "allowed_tools":
            changes.leave_out(f"{choice.path}.tools", NO_LIST)
            return {"type": _word(choice.string("mode") or "auto", f"{choice.path}.mode")}
        case kind:
            raise invalid(
                "tool_choice", f"a tool of type {kind!r} cannot be asked for here: only functions and custom tools can"
            )


def _word(word: str, path: str) -> str:
    if word not in _CHOICES:
        raise invalid(path, f"there is no choice {word!r}: it is auto, none, required or a named tool")
    return _CHOICES[word]
