"""The names of a client's tools in the canonical request, and the tools themselves.

This API has kinds of tools that others do not: custom tools, which take one text in place of an object, and namespaces. In
the canonical request each is a tool with a flat name (`namespace__name`) and a schema; `ResponsesDetail.tools` says what it
was, so that calls come back as what the client offered. The flat name is a pure function of the tools of the request: names
that would be too long, or would be those of another tool, get a hash.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import msgspec
from msgspec import Raw, Struct

from clew.dialects.openai.fields import BOOLEAN, OBJECT, OBJECTS, Canonical, RawObject, RequestChanges, decode, invalid
from clew.dialects.openai.parameters import LONGEST_NAME, own_name
from clew.dialects.openai.schemas import ANY_OBJECT
from clew.dialects.openai_responses.detail import ClientTool, ResponsesDetail, ToolKind
from clew.model.json import JsonValue
from clew.model.request import Demand

BETWEEN: Final = "__"
_ILLEGAL: Final = re.compile(r"[^a-zA-Z0-9_-]")
_HASH: Final = 8


def flat_name(namespace: str, name: str) -> str:
    """The canonical name of a tool, as long as no other one has it. Plain names pass as they are."""
    if not namespace and not _ILLEGAL.search(name):
        return name
    flat = _ILLEGAL.sub("_", f"{namespace}{BETWEEN}{name}" if namespace else name)
    return flat if len(flat) <= LONGEST_NAME else hashed_name(namespace, name)


def hashed_name(namespace: str, name: str) -> str:
    """The beginning of the flat name and a hash of the whole: no other tool has it."""
    flat = _ILLEGAL.sub("_", f"{namespace}{BETWEEN}{name}" if namespace else name)
    digest = hashlib.sha256(f"{namespace}\0{name}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"{flat[: LONGEST_NAME - _HASH - 1]}_{digest[:_HASH]}"


def name_tools(tools: Iterable[ClientTool]) -> dict[str, ClientTool]:
    """The tools by their canonical names, in their order. A tool that is there twice is one: the first."""
    given = list(dict.fromkeys(tools))
    plain = {tool.name for tool in given if not tool.namespace}
    named: dict[str, ClientTool] = {}
    for tool in given:
        name = flat_name(tool.namespace, tool.name)
        if name in named or (tool.namespace and name in plain):
            if (named.get(name) or ClientTool()).name == tool.name and not tool.namespace:
                continue
            name = hashed_name(tool.namespace, tool.name)
        named[name] = tool
    return named


class ToolNames:
    """Finds the canonical name of the tool that a call names. A call need not say the namespace if no other tool has its
    name."""

    def __init__(self, tools: Mapping[str, ClientTool]) -> None:
        self._exact = {(tool.namespace, tool.name): name for name, tool in tools.items()}
        self._bare: dict[str, str] = {}
        for name, tool in tools.items():
            self._bare[tool.name] = "" if tool.name in self._bare else name

    def find(self, namespace: str, name: str) -> str:
        exact = self._exact.get((namespace, name))
        bare = self._bare.get(name) if not namespace else None
        return exact or bare or flat_name(namespace, name)


def canonical_name(detail: ResponsesDetail, kind: ToolKind, namespace: str, name: str, document: bytes = b"") -> str:
    """The canonical name of the tool that a call in an answer names; by the tools of the canonical request where its own
    name was too long for the backend."""
    if name in detail.tools and not namespace:
        return name  # it went under its flat name, as a function
    found = ToolNames(detail.tools).find(namespace, name)
    return own_name(found, document) if document and found not in detail.tools else found


# The tools that a client offers, and its choice among them, as canonical ones. Tools stand in the field `tools`, and in
# items of the input that add some (`additional_tools`). Functions and custom tools can be offered to any model. Tools that
# OpenAI runs, or that only its models know, cannot: they are left out, and a request that forces one is refused.


NOT_OURS = "a tool of OpenAI's own, known only to its models"
NO_TOOLS = "the request has no tools"
NO_GRAMMAR = "only OpenAI's models support a grammar: here the tool accepts any text"
NO_LIST = "this API cannot limit the choice to some tools: all of them are offered"
PRIVATE = "a keyword of OpenAI's own"
TWICE = "another tool already has this name"
NAMESPACE = "the namespace becomes a part of its tools' names"

INPUT_SCHEMA: Final = Raw(b'{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}')
"""What a custom tool takes, in the canonical request."""
_MEMBERS: Final[Mapping[ToolKind, frozenset[str]]] = {
    "function": frozenset({"type", "name", "description", "parameters", "strict"}),
    "custom": frozenset({"type", "name", "description", "format"}),
}
"""What is read of a tool, by its kind."""
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
    """The types of all tools that the client offers."""

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
    changes.leave_out_others(given, _MEMBERS[tool.kind])
    if description := given.string("description"):
        document["description"] = description
    if tool.kind == "custom":
        if given.object("format").type == "grammar":
            changes.leave_out(f"{given.path}.format", NO_GRAMMAR)
        return {**document, "input_schema": INPUT_SCHEMA}
    schema = given.fields["parameters"] if given.value("parameters", OBJECT) else ANY_OBJECT
    if b'"encrypted"' in bytes(schema):
        changes.add_to_group(_PRIVATE_KEY, f"{given.path}.parameters", "left out", PRIVATE)
        schema = _without_private_keys(decode(schema, _any, f"{given.path}.parameters"))
    document["input_schema"] = schema
    if given.value("strict", BOOLEAN):
        document["strict"] = True
    return document


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
        if choice and choice["type"] in ("any", "tool") and not tools.kinds:
            changes.leave_out("tool_choice", NO_TOOLS)
        return {}
    if parameters.value("parallel_tool_calls", BOOLEAN) is False and (choice or {}).get("type") != "none":
        choice = {**(choice or {"type": "auto"}), "disable_parallel_tool_use": True}
    return {"tool_choice": choice} if choice else {}


def hosted_choice(parameters: RawObject, tools: ReadTools) -> Demand | None:
    """The choice of a tool that the vendor runs, or of any where all are such."""
    raw = bytes(parameters.fields.get("tool_choice", b"null"))
    if raw == b'"required"' and tools.kinds and not tools.documents:
        return Demand("tool_choice", "a tool is required, and this backend has none of those that are offered")
    kind = parameters.object("tool_choice").type if raw.startswith(b"{") else ""
    if kind and kind in tools.kinds - {"function", "custom"}:
        return Demand("tool_choice", f"a tool of type {kind!r} is required, and this backend has none")
    return None


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
        case kind if kind in tools.kinds:
            return None  # `hosted_choice`
        case kind:
            raise invalid(
                "tool_choice", f"a tool of type {kind!r} is not supported here: only functions and custom tools are"
            )


def _word(word: str, path: str) -> str:
    if word not in _CHOICES:
        raise invalid(path, f"there is no choice {word!r}: it is auto, none, required or a named tool")
    return _CHOICES[word]
