"""Parameters against the model: output size, thinking, effort, format, context edits (R7, R10–R12, R15, R17, R51, R52).

One function for each rule; `RULES` is the table. Which model takes what is read from the profile, never from a name.
"""

from __future__ import annotations

from collections.abc import Iterator

from clew.model.facts.dated import CLEAR_THINKING, INTERLEAVED_BETA, MCP_WITHOUT_TOOLSETS_BETA
from clew.model.json import JsonObject, JsonValue
from clew.thinking.compliance.reading import Check, Piece, Reading, Spot, at, listed, number, obj, spoken

__all__ = ["RULES"]

EFFORTS = ("low", "medium", "high", "xhigh", "max")


def _above(level: str, limit: str) -> bool:
    return bool(limit) and level in EFFORTS and EFFORTS.index(level) > EFFORTS.index(limit)


# ── max_tokens


def _over_cap(reading: Reading) -> Iterator[Spot]:
    asked, cap = number(reading.body.get("max_tokens")), reading.profile.max_tokens
    if asked is not None and cap and asked > cap:
        yield at("max_tokens", max_tokens=asked, cap=cap, model=reading.model)


def _zero_and(clashes: bool, reading: Reading) -> Iterator[Spot]:
    if clashes and number(reading.body.get("max_tokens")) == 0:
        yield at("max_tokens")


def _zero_with_stream(reading: Reading) -> Iterator[Spot]:
    return _zero_and(reading.body.get("stream") is True, reading)


def _zero_with_manual_thinking(reading: Reading) -> Iterator[Spot]:
    return _zero_and(reading.thinking == "enabled", reading)


def _zero_with_format(reading: Reading) -> Iterator[Spot]:
    return _zero_and(reading.output.get("format") is not None, reading)


def _zero_with_forced_tool(reading: Reading) -> Iterator[Spot]:
    return _zero_and(reading.forced, reading)


# ── thinking


def _refused(reading: Reading, mode: str) -> bool:
    return reading.thinking == mode and mode not in reading.profile.thinking


def _enabled_unsupported(reading: Reading) -> Iterator[Spot]:
    if _refused(reading, "enabled"):
        yield at("thinking.type")


def _disabled_use_between_tools(reading: Reading) -> Iterator[Spot]:
    if _refused(reading, "disabled") and "between_tools" in reading.profile.thinking:
        yield at("thinking.type")


def _disabled_use_manual(reading: Reading) -> Iterator[Spot]:
    offered = reading.profile.thinking
    if _refused(reading, "disabled") and "between_tools" not in offered and "enabled" in offered:
        yield at("thinking.type")


def _disabled_unsupported(reading: Reading) -> Iterator[Spot]:
    if _refused(reading, "disabled") and not {"between_tools", "enabled"} & set(reading.profile.thinking):
        yield at("thinking.type")


def _disabled_disputed(reading: Reading) -> Iterator[Spot]:
    if reading.thinking == "disabled" and reading.profile.disabled_disputed:
        yield at("thinking.type")


def _between_tools_unsupported(reading: Reading) -> Iterator[Spot]:
    if _refused(reading, "between_tools"):
        yield at("thinking.type")


def _adaptive_unsupported(reading: Reading) -> Iterator[Spot]:
    if _refused(reading, "adaptive"):
        yield at("thinking.type")


def _budget_not_below_max(reading: Reading) -> Iterator[Spot]:
    budget = number(obj(reading.body.get("thinking")).get("budget_tokens"))
    most = number(reading.body.get("max_tokens"))
    if reading.thinking != "enabled" or budget is None or not most or _interleaves(reading):
        return
    if budget >= most:
        yield at("thinking.enabled.budget_tokens")


def _interleaves(reading: Reading) -> bool:
    """Then the budget spans the whole tool loop, and may exceed one answer."""
    return reading.profile.interleaved == "beta" and INTERLEAVED_BETA in reading.betas and bool(reading.tools)


# ── effort


def _efforts(reading: Reading) -> Iterator[tuple[str, str]]:
    """Each effort that is set, with its path: the request's, then the system messages'."""
    if reading.effort:
        yield "output_config.effort", reading.effort
    for message in reading.messages:
        if message.role == "system" and message.effort:
            yield f"{message.path}.output_config.effort", message.effort


def _effort_unsupported(reading: Reading) -> Iterator[Spot]:
    if reading.effort and not reading.profile.effort:
        yield at("output_config.effort")


def _effort_level(reading: Reading) -> Iterator[Spot]:
    levels = reading.profile.effort
    for path, level in _efforts(reading):
        if levels and level in EFFORTS and level not in levels:
            yield at(path, level=level, levels=", ".join(sorted(levels)))


def _disabled_effort(reading: Reading) -> Iterator[Spot]:
    limit = reading.profile.disabled_max_effort
    if reading.thinking == "disabled" and _above(reading.effort, limit):
        yield at("output_config.effort", level=reading.effort, limit=limit)


def _between_tools_effort(reading: Reading) -> Iterator[Spot]:
    limit = reading.profile.between_tools_max_effort
    if reading.thinking == "between_tools" and _above(reading.effort, limit):
        yield at("output_config.effort", level=reading.effort, limit=limit)


def _between_tools_message_effort(reading: Reading) -> Iterator[Spot]:
    if reading.thinking != "between_tools":
        return
    current = reading.profile.effort_default
    for path, level in _efforts(reading):
        if path.startswith("messages.") and level != current:
            yield at(path)
        current = level


# ── output format


def _cites(block: JsonObject) -> bool:
    citable = block.get("type") in ("document", "search_result")
    return citable and obj(block.get("citations")).get("enabled") is True


def _with_nested(pieces: Iterator[Piece]) -> Iterator[JsonObject]:
    """Every block, and those inside a tool result after it."""
    for piece in pieces:
        yield piece.value
        if piece.type == "tool_result":
            yield from map(obj, listed(piece.value.get("content")))


def _format_with_citations(reading: Reading) -> Iterator[Spot]:
    if reading.output.get("format") is not None and any(map(_cites, _with_nested(reading.pieces()))):
        yield at("output_config.format")


def _format_with_prefill(reading: Reading) -> Iterator[Spot]:
    if reading.output.get("format") is not None and reading.profile.prefill and reading.final:
        yield at("output_config.format")


# ── the rest


def _stop_sequence_blank(reading: Reading) -> Iterator[Spot]:
    if any(isinstance(each, str) and not each.strip() for each in listed(reading.body.get("stop_sequences"))):
        yield at("stop_sequences")


def _mcp_unpaired(reading: Reading) -> Iterator[Spot]:
    if MCP_WITHOUT_TOOLSETS_BETA in reading.betas:
        return
    paired = {spoken(tool.get("mcp_server_name")) for tool in reading.tools if tool.get("type") == "mcp_toolset"}
    for k, server in enumerate(listed(reading.body.get("mcp_servers"))):
        name = spoken(obj(server).get("name"))
        if name not in paired:
            yield at(f"mcp_servers.{k}", name=name)


def _compaction_with_edits(reading: Reading) -> Iterator[Spot]:
    if reading.body.get("compaction") is not None and reading.body.get("context_management") is not None:
        yield at("compaction")


def _edits(reading: Reading) -> list[JsonValue]:
    return [obj(edit).get("type") for edit in listed(obj(reading.body.get("context_management")).get("edits"))]


def _edit_needs_thinking(reading: Reading) -> Iterator[Spot]:
    edits = _edits(reading)
    if CLEAR_THINKING in edits and not reading.thinks:
        yield at(f"context_management.edits.{edits.index(CLEAR_THINKING)}")


def _edits_order(reading: Reading) -> Iterator[Spot]:
    edits = _edits(reading)
    first_other = next((k for k, kind in enumerate(edits) if kind != CLEAR_THINKING), len(edits))
    if CLEAR_THINKING in edits[first_other:]:
        yield at(f"context_management.edits.{edits.index(CLEAR_THINKING, first_other)}")


def _role_unsupported(reading: Reading) -> Iterator[Spot]:
    first = next((each for each in reading.messages if each.role == "system"), None)
    if first and not reading.profile.system_messages:
        yield at(f"{first.path}.role")


RULES: dict[str, Check] = {
    "R7.over-cap": _over_cap,
    "R7.zero-with-stream": _zero_with_stream,
    "R7.zero-with-manual-thinking": _zero_with_manual_thinking,
    "R7.zero-with-format": _zero_with_format,
    "R7.zero-with-forced-tool": _zero_with_forced_tool,
    "R10.enabled-unsupported": _enabled_unsupported,
    "R10.disabled-use-between-tools": _disabled_use_between_tools,
    "R10.disabled-use-manual": _disabled_use_manual,
    "R10.disabled-unsupported": _disabled_unsupported,
    "R10.disabled-disputed": _disabled_disputed,
    "R10.between-tools-unsupported": _between_tools_unsupported,
    "R10.adaptive-unsupported": _adaptive_unsupported,
    "R12.effort-unsupported": _effort_unsupported,
    "R12.effort-level": _effort_level,
    "R10.disabled-effort": _disabled_effort,
    "R10.between-tools-effort": _between_tools_effort,
    "R10.between-tools-message-effort": _between_tools_message_effort,
    "R11.budget-not-below-max": _budget_not_below_max,
    "R12.format-with-citations": _format_with_citations,
    "R12.format-with-prefill": _format_with_prefill,
    "R15.stop-sequence-blank": _stop_sequence_blank,
    "R17.mcp-unpaired": _mcp_unpaired,
    "R17.compaction-with-edits": _compaction_with_edits,
    "R51.edits-order": _edits_order,
    "R52.thinking-required": _edit_needs_thinking,
    "R32.role-unsupported": _role_unsupported,
}
