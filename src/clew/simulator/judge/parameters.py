"""What a model takes of the request's parameters (R7, R12, R15, R17, R32, R51, R52).

Thinking, sampling and tools have their own files.
"""

from __future__ import annotations

from collections.abc import Iterator

from clew.model.facts.dated import CLEAR_THINKING, MCP_WITHOUT_TOOLSETS_BETA
from clew.model.json import JsonObject
from clew.simulator.judge.case import Case
from clew.simulator.judge.findings import Finding
from clew.simulator.judge.values import array, inner, is_blank, number, string

__all__ = ["check_parameters"]


def check_parameters(case: Case) -> Iterator[Finding]:
    yield from _output_cap(case)
    yield from _zero_tokens(case)
    yield from _output_format(case)
    yield from _stop_sequences(case)
    yield from _mcp_servers(case)
    yield from _edits(case)
    yield from _system_role(case)


def _output_cap(case: Case) -> Iterator[Finding]:
    asked, cap = number(case.body.get("max_tokens")), case.model.max_tokens
    if asked is not None and cap and asked > cap:
        names = {"max_tokens": asked, "cap": cap, "model": case.body.get("model")}
        yield Finding("R7.over-cap", "max_tokens", names)


def _zero_tokens(case: Case) -> Iterator[Finding]:
    """`max_tokens: 0` warms the cache and says nothing; with some other wishes that makes no sense."""
    asked = case.body.get("max_tokens")
    if isinstance(asked, bool) or asked != 0:
        return
    if case.body.get("stream") is True:
        yield Finding("R7.zero-with-stream", "max_tokens")
    if case.thinking_type == "enabled":
        yield Finding("R7.zero-with-manual-thinking", "max_tokens")
    if case.option("output_config", "format") is not None:
        yield Finding("R7.zero-with-format", "max_tokens")
    if case.forced:
        yield Finding("R7.zero-with-forced-tool", "max_tokens")


def _output_format(case: Case) -> Iterator[Finding]:
    if case.option("output_config", "format") is None:
        return
    if any(_cites(block) for message in case.messages for block in _with_nested(message.value)):
        yield Finding("R12.format-with-citations", "output_config.format")
    if case.model.prefill and case.ends_with_assistant:
        yield Finding("R12.format-with-prefill", "output_config.format")


def _with_nested(message: JsonObject) -> Iterator[JsonObject]:
    """The blocks of a message, and those inside its tool results."""
    for block in array(message.get("content")):
        yield inner(block)
        if inner(block).get("type") == "tool_result":
            yield from (inner(nested) for nested in array(inner(block).get("content")))


def _cites(block: JsonObject) -> bool:
    return block.get("type") in ("document", "search_result") and inner(block.get("citations")).get("enabled") is True


def _stop_sequences(case: Case) -> Iterator[Finding]:
    entries = [entry for entry in array(case.body.get("stop_sequences")) if isinstance(entry, str)]
    if any(entry == "" or is_blank(entry) for entry in entries):
        yield Finding("R15.stop-sequence-blank", "stop_sequences")


def _mcp_servers(case: Case) -> Iterator[Finding]:
    if MCP_WITHOUT_TOOLSETS_BETA in case.betas:
        return
    used = {string(tool.get("mcp_server_name")) for tool in case.tools if tool.get("type") == "mcp_toolset"}
    for index, server in enumerate(array(case.body.get("mcp_servers"))):
        name = string(inner(server).get("name"))
        if name not in used:
            yield Finding("R17.mcp-unpaired", f"mcp_servers.{index}", {"name": name})


def _edits(case: Case) -> Iterator[Finding]:
    if case.body.get("compaction") is not None and case.body.get("context_management") is not None:
        yield Finding("R17.compaction-with-edits", "compaction")
    edits = [inner(edit).get("type") for edit in array(case.option("context_management", "edits"))]
    clearing = [index for index, kind in enumerate(edits) if kind == CLEAR_THINKING]
    if clearing and not case.thinking_on:
        yield Finding("R52.thinking-required", f"context_management.edits.{clearing[0]}")
    late = [index for index in clearing if any(kind != CLEAR_THINKING for kind in edits[:index])]
    if late:
        yield Finding("R51.edits-order", f"context_management.edits.{late[0]}")


def _system_role(case: Case) -> Iterator[Finding]:
    if case.model.system_messages:
        return
    first = next((message for message in case.messages if message.role == "system"), None)
    if first:
        yield Finding("R32.role-unsupported", f"{first.path}.role")
