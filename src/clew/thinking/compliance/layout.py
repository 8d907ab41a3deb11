"""Thinking and the last message (R20, R35–R38), and empty signatures (R33). An assistant run is one message here."""

from __future__ import annotations

from collections.abc import Iterator

from clew.thinking.compliance.findings import Defect, at
from clew.thinking.compliance.request_view import BlockView, RequestView, RuleTable, RunView
from clew.thinking.compliance.tools import unfinished

RULES = RuleTable()


def _end(run: RunView) -> str:
    return run.messages[-1].path


# ── the last message


@RULES.check("R37.last-message")
def ends_in_thinking(view: RequestView) -> Iterator[Defect]:
    final = view.final
    if final and final.blocks and final.blocks[-1].is_thinking:
        yield at(_end(final), tag=final.blocks[-1].type)


@RULES.check("R20.prefill")
def prefill(view: RequestView) -> Iterator[Defect]:
    final = view.final
    redeems = view.body.get("fallback_credit_token") is not None
    if final and not view.profile.prefill and not redeems and not unfinished(final):
        yield at(_end(final))


@RULES.check("R20.prefill-with-thinking")
def prefill_with_thinking(view: RequestView) -> Iterator[Defect]:
    final = view.final
    if final and view.thinking == "enabled" and view.profile.prefill and not unfinished(final):
        yield at(_end(final))


@RULES.check("R20.trailing-whitespace")
def trailing_whitespace(view: RequestView) -> Iterator[Defect]:
    final = view.final
    if not final or not final.blocks or not view.profile.prefill:
        return
    last = final.blocks[-1]
    text = last.text("text") if last.type == "text" else ""
    if text.strip() and text[-1].isspace():
        yield at(_end(final))


# ── thinking first


def _first_unless_thinking(run: RunView | None) -> Iterator[BlockView]:
    if run and run.blocks and not run.blocks[0].is_thinking:
        yield run.blocks[0]


def _opening(view: RequestView) -> RunView | None:
    """The assistant run that opens the tool loop: the first after the last user message that brings no result."""
    asks = (each.index for run in view.runs for each in run.messages if run.role == "user" and not each.holds("tool_result"))
    since = max(asks, default=-1)
    return next((run for run in view.assistant_runs if run.messages[0].index > since), None)


@RULES.check("R35.tool-loop")
def loop_without_thinking(view: RequestView) -> Iterator[Defect]:
    if view.thinking == "enabled" and view.loop_is_open:
        for block in _first_unless_thinking(_opening(view)):
            yield at(f"{block.path}.type", found=block.type)


@RULES.check("R35.final-message")
def final_without_thinking(view: RequestView) -> Iterator[Defect]:
    if view.thinking == "enabled":
        for block in _first_unless_thinking(view.final):
            yield at(f"{block.path}.type", found=block.type)


@RULES.check("R36.thinking-not-first")
def thinking_not_first(view: RequestView) -> Iterator[Defect]:
    if view.thinking != "enabled" or "R36" not in view.profile.legacy_texts:
        return
    for run in view.assistant_runs:
        if any(block.is_thinking for block in run.blocks):
            yield from (at(block.path, found=block.type) for block in _first_unless_thinking(run))


# ── thinking where it should not be


@RULES.check("R37.mid-history")
def mid_history(view: RequestView) -> Iterator[Defect]:
    for run in view.assistant_runs[1:]:
        if run is not view.final and run.blocks and run.blocks[-1].is_thinking:
            yield at(_end(run), tag=run.blocks[-1].type)


@RULES.check("R38.thinking-while-off")
def thinking_while_off(view: RequestView) -> Iterator[Defect]:
    everywhere = view.stance.get("C-8") == "reject"
    applies = everywhere or "R38" in view.profile.legacy_texts
    in_last_place = view.loop_is_open or view.final
    if view.thinks or not applies or not in_last_place:
        return
    thoughts = (block for run in view.assistant_runs[-1:] for block in run.blocks if block.is_thinking)
    for block in thoughts:
        yield at(block.path, tag=block.type)
        return


# ── signatures


def _unsigned(view: RequestView) -> Iterator[BlockView]:
    for run in view.assistant_runs:
        yield from (block for block in run.of("thinking") if block.value.get("signature") == "")


@RULES.check("R33.empty-block")
def empty_block(view: RequestView) -> Iterator[Defect]:
    return (at(f"{block.path}.thinking") for block in _unsigned(view) if not block.text("thinking"))


@RULES.check("R33.empty-signature")
def empty_signature(view: RequestView) -> Iterator[Defect]:
    return (at(block.path) for block in _unsigned(view) if block.text("thinking"))
