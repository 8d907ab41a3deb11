"""Tools and the choice among them (R49, R59, R60, R61)."""

from __future__ import annotations

from collections.abc import Iterator

from clew.model.json import JsonObject
from clew.simulator.judge.case import Case
from clew.simulator.judge.findings import Finding
from clew.simulator.judge.values import array, inner, string, walk

__all__ = ["check_tools"]


def check_tools(case: Case) -> Iterator[Finding]:
    yield from _forced(case)
    yield from _choice(case)
    yield from _all_tools(case)
    yield from _strict(case)


def _forced(case: Case) -> Iterator[Finding]:
    if not case.forced:
        return
    if case.model.forced_tools == "reject":
        yield Finding("R49.forced-tool-unsupported", "tool_choice")
    if case.thinking_type == "enabled":
        yield Finding("R49.forced-tool-with-manual-thinking", "tool_choice")


def _choice(case: Case) -> Iterator[Finding]:
    if "tool_choice" not in case.body:
        return
    choice = inner(case.body.get("tool_choice"))
    name = string(choice.get("name"))
    if not case.tools:
        yield Finding("R60.choice-without-tools", "tool_choice")
    elif choice.get("type") == "tool" and all(tool.get("name") != name for tool in case.tools):
        yield Finding("R60.choice-name-unknown", "tool_choice.name", {"name": name})


def _all_tools(case: Case) -> Iterator[Finding]:
    names = [string(tool.get("name")) for tool in case.tools if "name" in tool]
    if len(set(names)) < len(names):
        yield Finding("R59.names-not-unique", "tools")
    if case.tools and all(tool.get("defer_loading") is True for tool in case.tools):
        yield Finding("R59.all-deferred", "tools")
    refused = [string(tool.get("type")) for tool in case.tools if tool.get("type") in case.model.tools_unsupported]
    if refused:
        yield Finding("R61.tool-types-unsupported", "tools", {"model": case.body.get("model"), "types": ", ".join(refused)})


def _strict(case: Case) -> Iterator[Finding]:
    for index, tool in enumerate(array(case.body.get("tools"))):
        custom = inner(tool).get("type") in (None, "custom")
        if custom and inner(tool).get("strict") is True and any(map(_is_open, walk(inner(tool).get("input_schema")))):
            yield Finding("R59.strict-open-object", f"tools.{index}.custom")


def _is_open(schema: JsonObject) -> bool:
    return schema.get("type") == "object" and schema.get("additionalProperties") is not False
