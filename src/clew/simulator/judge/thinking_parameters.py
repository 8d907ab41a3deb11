"""Thinking and effort, by model (R10, R11, R12)."""

from __future__ import annotations

from collections.abc import Iterator

from clew.model.facts.dated import INTERLEAVED_BETA
from clew.simulator.judge.case import Case
from clew.simulator.judge.findings import Finding
from clew.simulator.judge.history import Message
from clew.simulator.judge.values import inner, number, string

__all__ = ["check_thinking"]

_LEVELS = ("low", "medium", "high", "xhigh", "max")


def check_thinking(case: Case) -> Iterator[Finding]:
    yield from _type(case)
    yield from _request_effort(case)
    yield from _message_efforts(case)
    yield from _budget(case)


def _type(case: Case) -> Iterator[Finding]:
    asked = case.thinking_type
    if asked == "disabled":
        yield from _disabled(case)
    elif asked in ("enabled", "adaptive", "between_tools") and asked not in case.model.thinking:
        yield Finding(f"R10.{asked.replace('_', '-')}-unsupported", "thinking.type")


def _disabled(case: Case) -> Iterator[Finding]:
    """The vendor's words name what the model has instead."""
    modes = case.model.thinking
    if "disabled" in modes:
        if case.model.disabled_disputed:
            yield Finding("R10.disabled-disputed", "thinking.type")
    elif "between_tools" in modes:
        yield Finding("R10.disabled-use-between-tools", "thinking.type")
    elif "enabled" in modes:
        yield Finding("R10.disabled-use-manual", "thinking.type")
    else:
        yield Finding("R10.disabled-unsupported", "thinking.type")


def _request_effort(case: Case) -> Iterator[Finding]:
    level = string(case.option("output_config", "effort"))
    if not level:
        return
    if not case.model.effort:
        yield Finding("R12.effort-unsupported", "output_config.effort")
    yield from _unsupported_level(case, level, "output_config.effort")
    if case.thinking_type == "disabled":
        yield from _above("R10.disabled-effort", level, case.model.disabled_max_effort)
    if case.thinking_type == "between_tools":
        yield from _above("R10.between-tools-effort", level, case.model.between_tools_max_effort)


def _unsupported_level(case: Case, level: str, path: str) -> Iterator[Finding]:
    supported = case.model.effort
    if supported and level in _LEVELS and level not in supported:
        yield Finding("R12.effort-level", path, {"level": level, "levels": ", ".join(sorted(supported))})


def _above(rule: str, level: str, limit: str) -> Iterator[Finding]:
    if limit and level in _LEVELS and _LEVELS.index(level) > _LEVELS.index(limit):
        yield Finding(rule, "output_config.effort", {"level": level, "limit": limit})


def _message_efforts(case: Case) -> Iterator[Finding]:
    """Efforts on system messages. `level` is the one in effect so far."""
    level = string(case.option("output_config", "effort")) or case.model.effort_default
    for message in case.messages:
        asked = _effort_of(message)
        if asked:
            path = f"{message.path}.output_config.effort"
            yield from _unsupported_level(case, asked, path)
            if case.thinking_type == "between_tools" and asked != level:
                yield Finding("R10.between-tools-message-effort", path)
            level = asked


def _effort_of(message: Message) -> str:
    return string(inner(message.value.get("output_config")).get("effort")) if message.role == "system" else ""


def _budget(case: Case) -> Iterator[Finding]:
    budget, limit = number(case.thinking.get("budget_tokens")), number(case.body.get("max_tokens"))
    if case.thinking_type != "enabled" or budget is None or not limit or budget < limit:
        return
    interleaved = case.model.interleaved == "beta" and INTERLEAVED_BETA in case.betas and case.tools
    if not interleaved:
        yield Finding("R11.budget-not-below-max", "thinking.enabled.budget_tokens")
