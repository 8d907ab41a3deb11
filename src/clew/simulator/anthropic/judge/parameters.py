"""Which parameters a model takes: limits, formats, thinking, effort, sampling (R7, R10–R15, R17, R32, R51, R52)."""

from __future__ import annotations

from collections.abc import Iterator

from clew.model.facts.shapes import CLEAR_THINKING, INTERLEAVED_BETA, MCP_WITHOUT_TOOLSETS_BETA
from clew.simulator.anthropic.judge.case import BrokenRule, Case
from clew.simulator.values import as_dict, as_list, as_number, as_str, is_blank

_LEVELS = ("low", "medium", "high", "xhigh", "max")
_OLDER_VERSION = "2023-06-01"
_LEAST_TOP_P = 0.95


def check_max_tokens(case: Case) -> Iterator[BrokenRule]:
    asked, cap = as_number(case.body.get("max_tokens")), case.model.max_tokens
    if asked is not None and cap and asked > cap:
        names = {"max_tokens": asked, "cap": cap, "model": case.body.get("model")}
        yield BrokenRule("R7.over-cap", "max_tokens", names)
    if asked is None or asked != 0:
        return
    # `max_tokens: 0` warms the cache and returns no content, so these wishes contradict it.
    if case.body.get("stream") is True:
        yield BrokenRule("R7.zero-with-stream", "max_tokens")
    if case.thinking_type == "enabled":
        yield BrokenRule("R7.zero-with-manual-thinking", "max_tokens")
    if case.option("output_config", "format") is not None:
        yield BrokenRule("R7.zero-with-format", "max_tokens")
    if case.forces_tool:
        yield BrokenRule("R7.zero-with-forced-tool", "max_tokens")


def check_stop_sequences(case: Case) -> Iterator[BrokenRule]:
    stops = [entry for entry in as_list(case.body.get("stop_sequences")) if isinstance(entry, str)]
    if any(stop == "" or is_blank(stop) for stop in stops):
        yield BrokenRule("R15.stop-sequence-blank", "stop_sequences")


def check_system_role(case: Case) -> Iterator[BrokenRule]:
    system = next((message for message in case.messages if message.role == "system"), None)
    if system and not case.model.system_messages:
        yield BrokenRule("R32.role-unsupported", f"{system.path}.role")


def check_output_format(case: Case) -> Iterator[BrokenRule]:
    if case.option("output_config", "format") is None:
        return
    blocks = [block.value for message in case.messages for block in message.blocks]
    results = [block for block in blocks if block.get("type") == "tool_result"]
    nested = [as_dict(item) for result in results for item in as_list(result.get("content"))]
    sources = [block for block in (*blocks, *nested) if block.get("type") in ("document", "search_result")]
    if any(as_dict(source.get("citations")).get("enabled") is True for source in sources):
        yield BrokenRule("R12.format-with-citations", "output_config.format")
    if case.model.prefill and case.ends_with_assistant:
        yield BrokenRule("R12.format-with-prefill", "output_config.format")


def check_mcp_servers(case: Case) -> Iterator[BrokenRule]:
    if MCP_WITHOUT_TOOLSETS_BETA in case.betas:
        return
    used = {as_str(tool.get("mcp_server_name")) for tool in case.tools if tool.get("type") == "mcp_toolset"}
    for index, server in enumerate(as_list(case.body.get("mcp_servers"))):
        name = as_str(as_dict(server).get("name"))
        if name not in used:
            yield BrokenRule("R17.mcp-unpaired", f"mcp_servers.{index}", {"name": name})


def check_edits(case: Case) -> Iterator[BrokenRule]:
    if case.body.get("compaction") is not None and case.body.get("context_management") is not None:
        yield BrokenRule("R17.compaction-with-edits", "compaction")
    edits = [as_dict(edit).get("type") for edit in as_list(case.option("context_management", "edits"))]
    clearing = [index for index, kind in enumerate(edits) if kind == CLEAR_THINKING]
    if clearing and not case.thinking_on:
        yield BrokenRule("R52.thinking-required", f"context_management.edits.{clearing[0]}")
    others = next((index for index, kind in enumerate(edits) if kind != CLEAR_THINKING), len(edits))
    late = next((index for index in clearing if index > others), None)
    if late is not None:
        yield BrokenRule("R51.edits-order", f"context_management.edits.{late}")


# Thinking and effort, by model.


def check_budget(case: Case) -> Iterator[BrokenRule]:
    budget, limit = as_number(case.thinking.get("budget_tokens")), as_number(case.body.get("max_tokens"))
    if case.thinking_type == "enabled" and budget is not None and limit and budget >= limit:
        interleaved = case.model.interleaved == "beta" and INTERLEAVED_BETA in case.betas and case.tools
        if not interleaved:
            yield BrokenRule("R11.budget-not-below-max", "thinking.enabled.budget_tokens")


def check_thinking_type(case: Case) -> Iterator[BrokenRule]:
    asked, modes = case.thinking_type, case.model.thinking
    if asked in ("enabled", "adaptive", "between_tools") and asked not in modes:
        yield BrokenRule(f"R10.{asked.replace('_', '-')}-unsupported", "thinking.type")
    if asked != "disabled":
        return
    # The vendor's words name the mode that the model has instead.
    if "disabled" in modes:
        if case.model.disabled_disputed:
            yield BrokenRule("R10.disabled-disputed", "thinking.type")
    elif "between_tools" in modes:
        yield BrokenRule("R10.disabled-use-between-tools", "thinking.type")
    elif "enabled" in modes:
        yield BrokenRule("R10.disabled-use-manual", "thinking.type")
    else:
        yield BrokenRule("R10.disabled-unsupported", "thinking.type")


def check_effort(case: Case) -> Iterator[BrokenRule]:
    level = as_str(case.option("output_config", "effort"))
    if not level:
        return
    if not case.model.effort:
        yield BrokenRule("R12.effort-unsupported", "output_config.effort")
    yield from _unsupported_level(case, level, "output_config.effort")
    if case.thinking_type == "disabled":
        yield from _above("R10.disabled-effort", level, case.model.disabled_max_effort)
    if case.thinking_type == "between_tools":
        yield from _above("R10.between-tools-effort", level, case.model.between_tools_max_effort)


def _unsupported_level(case: Case, level: str, path: str) -> Iterator[BrokenRule]:
    supported = case.model.effort
    if supported and level in _LEVELS and level not in supported:
        yield BrokenRule("R12.effort-level", path, {"level": level, "levels": ", ".join(sorted(supported))})


def _above(rule: str, level: str, limit: str) -> Iterator[BrokenRule]:
    if limit and level in _LEVELS and _LEVELS.index(level) > _LEVELS.index(limit):
        yield BrokenRule(rule, "output_config.effort", {"level": level, "limit": limit})


def check_message_efforts(case: Case) -> Iterator[BrokenRule]:
    """Efforts on system messages. `level` is the effort in effect up to each of them."""
    level = as_str(case.option("output_config", "effort")) or case.model.effort_default
    for message in case.messages:
        asked = as_str(as_dict(message.value.get("output_config")).get("effort"))
        if message.role == "system" and asked:
            path = f"{message.path}.output_config.effort"
            yield from _unsupported_level(case, asked, path)
            if case.thinking_type == "between_tools" and asked != level:
                yield BrokenRule("R10.between-tools-message-effort", path)
            level = asked


# Sampling, by model. Only the older API version has temperature, top_p and top_k; the newer schema refuses them (R2).


def check_deprecated_sampling(case: Case) -> Iterator[BrokenRule]:
    """A default value changes nothing, so it passes; top_k has no default."""
    if case.version != _OLDER_VERSION or case.model.sampling != "reject":
        return
    if as_number(case.body.get("temperature")) not in (None, 1):
        yield BrokenRule("R14.temperature-deprecated", "temperature")
    if as_number(case.body.get("top_p")) not in (None, 1):
        yield BrokenRule("R14.top-p-deprecated", "top_p")
    if as_number(case.body.get("top_k")) is not None:
        yield BrokenRule("R14.top-k-deprecated", "top_k")


def check_sampling(case: Case) -> Iterator[BrokenRule]:
    if case.version != _OLDER_VERSION:
        return
    temperature, top_p = as_number(case.body.get("temperature")), as_number(case.body.get("top_p"))
    if case.model.sampling != "reject" and case.thinking_type in ("enabled", "adaptive"):
        if temperature not in (None, 1):
            yield BrokenRule("R13.temperature-with-thinking", "temperature")
        if top_p is not None and not _LEAST_TOP_P <= top_p <= 1:
            yield BrokenRule("R13.top-p-with-thinking", "top_p")
        if as_number(case.body.get("top_k")) is not None:
            yield BrokenRule("R13.top-k-with-thinking", "top_k")
    if temperature is not None and top_p is not None and not case.model.temperature_and_top_p:
        yield BrokenRule("R14.temperature-and-top-p", "top_p")
