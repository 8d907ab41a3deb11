"""Where thinking may stand, and how a request may end (R20, R35–R38). Runs count as one message.

`check_passed_back` is no rule of the book: some vendors want the thinking of every tool call back, and refuse in words that
their row of `vendors.toml` has.
"""

from __future__ import annotations

from collections.abc import Iterator

from clew.simulator.anthropic.judge.case import BrokenRule, Case, RequestBlock, RoleRun
from clew.simulator.anthropic.judge.tools import unfinished_calls
from clew.simulator.interfaces import VendorRefusal
from clew.simulator.values import as_str, is_blank

__all__ = ["check_layout", "check_passed_back", "first_of_loop"]


def check_layout(case: Case) -> Iterator[BrokenRule]:
    if case.ends_with_assistant:
        yield from _ending(case, case.runs[-1], case.messages[-1].path)
    first = first_of_loop(case)
    if case.thinking_type == "enabled" and first and not first.is_thinking:
        yield _thinking_expected("R35.tool-loop", first)
    yield from _thinking_not_first(case)
    yield from _trailing_thinking(case)
    yield from _thinking_while_off(case)


def _ending(case: Case, run: RoleRun, path: str) -> Iterator[BrokenRule]:
    """The request ends with the assistant: a prefill, or the continuation of a paused answer."""
    last = run.blocks[-1] if run.blocks else None
    continues = bool(unfinished_calls(run))
    manual = case.thinking_type == "enabled"
    if last and last.is_thinking:
        yield BrokenRule("R37.last-message", path, {"tag": last.type})
    if not case.model.prefill and not continues and case.body.get("fallback_credit_token") is None:
        yield BrokenRule("R20.prefill", path)
    if manual and run.blocks and not run.blocks[0].is_thinking:
        yield _thinking_expected("R35.final-message", run.blocks[0])
    if manual and case.model.prefill and not continues:
        yield BrokenRule("R20.prefill-with-thinking", path)
    text = as_str(last.value.get("text")) if last and last.type == "text" else ""
    if case.model.prefill and text != text.rstrip() and not is_blank(text):
        yield BrokenRule("R20.trailing-whitespace", path)


def _thinking_expected(rule: str, found: RequestBlock) -> BrokenRule:
    return BrokenRule(rule, f"{found.path}.type", {"found": found.type})


def first_of_loop(case: Case) -> RequestBlock | None:
    """The first block of the first assistant run in the open tool loop. In manual mode it must be thinking."""
    if not case.loop_is_open:
        return None
    questions = case.questions
    start = questions[-1] if questions else -1
    runs = (run for run in case.runs if run.role == "assistant" and run.messages[0].index > start)
    first = next(runs, None)
    return first.blocks[0] if first and first.blocks else None


def _thinking_not_first(case: Case) -> Iterator[BrokenRule]:
    if case.thinking_type != "enabled" or "R36" not in case.model.legacy_texts:
        return
    for run in case.runs:
        thinks = run.role == "assistant" and any(block.is_thinking for block in run.blocks)
        if thinks and not run.blocks[0].is_thinking:
            yield BrokenRule("R36.thinking-not-first", run.blocks[0].path, {"found": run.blocks[0].type})


def _trailing_thinking(case: Case) -> Iterator[BrokenRule]:
    """Answers in mid-history that end with thinking. The first answer may."""
    answers = [run for run in case.runs if run.role == "assistant"]
    for run in answers[1:]:
        ends_request = case.ends_with_assistant and run is case.runs[-1]
        if run.blocks and run.blocks[-1].is_thinking and not ends_request:
            yield BrokenRule("R37.mid-history", run.messages[-1].path, {"tag": run.blocks[-1].type})


def _thinking_while_off(case: Case) -> Iterator[BrokenRule]:
    if case.thinking_on or not (case.loop_is_open or case.ends_with_assistant):
        return
    if case.stance["C-8"] == "profile" and "R38" not in case.model.legacy_texts:
        return
    last = case.last_answer
    thinking = next((block for block in last.blocks if block.is_thinking), None) if last else None
    if thinking:
        yield BrokenRule("R38.thinking-while-off", thinking.path, {"tag": thinking.type})


def check_passed_back(case: Case) -> VendorRefusal | None:
    """The first tool call without its thinking. An empty thought counts; with thinking off nothing is required."""
    if not case.vendor.missing or not case.thinking_on:
        return None
    for message in case.messages:
        if message.role == "assistant" and message.has("tool_use") and not message.has("thinking"):
            return VendorRefusal(
                rule="vendor.thinking-missing",
                grade="B",
                status=400,
                error_type="invalid_request_error",
                message=case.vendor.missing,
                path=message.path,
            )
    return None
