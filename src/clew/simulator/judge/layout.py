"""Where thinking may stand, and how a request may end (R20, R35–R38). Runs count as one message."""

from __future__ import annotations

from collections.abc import Iterator

from clew.simulator.judge.case import Case
from clew.simulator.judge.findings import Finding
from clew.simulator.judge.history import Block, Run
from clew.simulator.judge.pairing import unfinished_calls
from clew.simulator.judge.values import is_blank, string

__all__ = ["check_layout", "opening_block"]


def check_layout(case: Case) -> Iterator[Finding]:
    if case.ends_with_assistant:
        yield from _ending(case, case.runs[-1], case.messages[-1].path)
    yield from _open_loop(case)
    yield from _thinking_not_first(case)
    yield from _trailing_in_history(case)
    yield from _thinking_while_off(case)


def _ending(case: Case, run: Run, path: str) -> Iterator[Finding]:
    """The request ends with the assistant: a prefill, or the continuation of a paused answer."""
    last = run.blocks[-1] if run.blocks else None
    continues = bool(unfinished_calls(run))
    manual = case.thinking_type == "enabled"
    if last and last.is_thinking:
        yield Finding("R37.last-message", path, {"tag": last.type})
    if not case.model.prefill and not continues and case.body.get("fallback_credit_token") is None:
        yield Finding("R20.prefill", path)
    if manual and run.blocks and not run.blocks[0].is_thinking:
        yield _expected_thinking("R35.final-message", run.blocks[0])
    if manual and case.model.prefill and not continues:
        yield Finding("R20.prefill-with-thinking", path)
    if case.model.prefill and last and _ends_in_space(last):
        yield Finding("R20.trailing-whitespace", path)


def _expected_thinking(rule: str, found: Block) -> Finding:
    return Finding(rule, f"{found.path}.type", {"found": found.type})


def _ends_in_space(block: Block) -> bool:
    text = string(block.value.get("text")) if block.type == "text" else ""
    return text != text.rstrip() and not is_blank(text)


def opening_block(case: Case) -> Block | None:
    """The first block of the open tool loop's first assistant run: what must be thinking in manual mode."""
    if not case.loop_is_open:
        return None
    asked = [message.index for message in case.messages if message.role == "user" and not message.has("tool_result")]
    start = asked[-1] if asked else -1
    runs = [run for run in case.runs if run.role == "assistant" and run.messages[0].index > start]
    return runs[0].blocks[0] if runs and runs[0].blocks else None


def _open_loop(case: Case) -> Iterator[Finding]:
    first = opening_block(case)
    if case.thinking_type == "enabled" and first and not first.is_thinking:
        yield _expected_thinking("R35.tool-loop", first)


def _thinking_not_first(case: Case) -> Iterator[Finding]:
    if case.thinking_type != "enabled" or "R36" not in case.model.legacy_texts:
        return
    for run in case.runs:
        thinks = run.role == "assistant" and any(block.is_thinking for block in run.blocks)
        if thinks and not run.blocks[0].is_thinking:
            yield Finding("R36.thinking-not-first", run.blocks[0].path, {"found": run.blocks[0].type})


def _trailing_in_history(case: Case) -> Iterator[Finding]:
    spoken = [run for run in case.runs if run.role == "assistant"]
    for run in spoken[1:]:
        ends_request = case.ends_with_assistant and run is case.runs[-1]
        if run.blocks and run.blocks[-1].is_thinking and not ends_request:
            yield Finding("R37.mid-history", run.messages[-1].path, {"tag": run.blocks[-1].type})


def _thinking_while_off(case: Case) -> Iterator[Finding]:
    if case.thinking_on or not (case.loop_is_open or case.ends_with_assistant):
        return
    if case.stance["C-8"] == "profile" and "R38" not in case.model.legacy_texts:
        return
    last = next((run for run in reversed(case.runs) if run.role == "assistant"), None)
    thoughts = [block for block in last.blocks if block.is_thinking] if last else []
    if thoughts:
        yield Finding("R38.thinking-while-off", thoughts[0].path, {"tag": thoughts[0].type})
