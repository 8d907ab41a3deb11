"""Tools and the choice among them (R49, R59–R61)."""

from __future__ import annotations

from collections.abc import Iterator

from clew.model.json import JsonObject, JsonValue
from clew.thinking.compliance.reading import Check, Reading, Spot, at, obj, spoken

__all__ = ["RULES", "is_custom"]

DOCUMENTED_LENGTH, LONGEST = 64, 128


def is_custom(tool: JsonObject) -> bool:
    return tool.get("type") in (None, "custom")


def _forced_unsupported(reading: Reading) -> Iterator[Spot]:
    if reading.forced and reading.profile.forced_tools == "reject":
        yield at("tool_choice")


def _forced_with_manual_thinking(reading: Reading) -> Iterator[Spot]:
    if reading.forced and reading.thinking == "enabled":
        yield at("tool_choice")


def _choice_without_tools(reading: Reading) -> Iterator[Spot]:
    if reading.body.get("tool_choice") is not None and not reading.tools:
        yield at("tool_choice")


def _choice_name_unknown(reading: Reading) -> Iterator[Spot]:
    choice = obj(reading.body.get("tool_choice"))
    name = spoken(choice.get("name"))
    if choice.get("type") == "tool" and reading.tools and name not in _names(reading):
        yield at("tool_choice.name", name=name)


def _names(reading: Reading) -> list[str]:
    return [name for name in (tool.get("name") for tool in reading.tools) if isinstance(name, str)]


def _names_not_unique(reading: Reading) -> Iterator[Spot]:
    names = _names(reading)
    if len(set(names)) < len(names):
        yield at("tools")


def _name_over_64(reading: Reading) -> Iterator[Spot]:
    for k, tool in enumerate(reading.tools):
        if is_custom(tool) and DOCUMENTED_LENGTH < len(spoken(tool.get("name"))) <= LONGEST:
            yield at(f"tools.{k}.custom.name")


def _strict_open_object(reading: Reading) -> Iterator[Spot]:
    for k, tool in enumerate(reading.tools):
        if is_custom(tool) and tool.get("strict") is True and _has_open_object(tool.get("input_schema")):
            yield at(f"tools.{k}.custom")


def _has_open_object(schema: JsonValue) -> bool:
    """Walks without recursion: schemas come from strangers, at any depth."""
    waiting: list[JsonValue] = [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if value.get("type") == "object" and value.get("additionalProperties") is not False:
                return True
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    return False


def _all_deferred(reading: Reading) -> Iterator[Spot]:
    if reading.tools and all(tool.get("defer_loading") is True for tool in reading.tools):
        yield at("tools")


def _types_unsupported(reading: Reading) -> Iterator[Spot]:
    kinds = (spoken(tool.get("type")) for tool in reading.tools)
    refused = [kind for kind in kinds if kind in reading.profile.tools_unsupported]
    if refused:
        yield at("tools", model=reading.model, types=", ".join(refused))


RULES: dict[str, Check] = {
    "R49.forced-tool-unsupported": _forced_unsupported,
    "R49.forced-tool-with-manual-thinking": _forced_with_manual_thinking,
    "R60.choice-without-tools": _choice_without_tools,
    "R60.choice-name-unknown": _choice_name_unknown,
    "R59.name-over-64": _name_over_64,
    "R59.names-not-unique": _names_not_unique,
    "R59.strict-open-object": _strict_open_object,
    "R59.all-deferred": _all_deferred,
    "R61.tool-types-unsupported": _types_unsupported,
}
