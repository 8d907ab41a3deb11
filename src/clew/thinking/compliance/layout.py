"""Who may say what, and where: roles and system messages (R18, R19, R21, R23, R32), the last message (R20), thinking (R33,
R35–R38). For the rules about thinking an assistant run is one message."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, islice, pairwise
from typing import NamedTuple

from clew.model.facts.shapes import can_be_claudes
from clew.thinking.compliance.request_view import BlockView, Defect, MessageView, RequestView, RuleTable, RunView, at
from clew.thinking.compliance.tools import unfinished

RULES = RuleTable()

TOOL_CHANGES = ("tool_addition", "tool_removal")


# ── the first message, and turns


@RULES.check("R18.no-messages")
def no_messages(view: RequestView) -> Iterator[Defect]:
    if view.body.get("messages") == []:
        yield at("messages")


def _first(view: RequestView, role: str) -> Iterator[MessageView]:
    yield from (each for each in view.messages[:1] if each.index == 0 and each.role == role)


@RULES.check("R19.first-not-user")
def first_not_user(view: RequestView) -> Iterator[Defect]:
    for message in _first(view, "assistant"):
        yield at(message.path)


@RULES.check("R19.leading-system")
def leading_system(view: RequestView) -> Iterator[Defect]:
    for message in _first(view, "system"):
        if not message.directs_only:
            yield at(message.path)


@RULES.check("R21.not-alternating")
def not_alternating(view: RequestView) -> Iterator[Defect]:
    for before, after in pairwise(view.messages):
        if before.role == after.role != "system":
            yield at(after.path, role=after.role)
            return


# ── system messages


class _SystemPlace(NamedTuple):
    """One system message, and the messages around the group of system messages that it stands in."""

    message: MessageView
    before: MessageView | None
    after: MessageView | None

    @property
    def cuts_a_tool_loop(self) -> bool:
        before, after = self.before, self.after
        calls = before is not None and before.role == "assistant" and before.holds("tool_use")
        return calls and after is not None and after.role == "user" and after.holds("tool_result")

    @property
    def follows_unfit(self) -> bool:
        if self.before is None or self.before.role != "assistant":
            return False
        return not (self.before.blocks and self.before.blocks[-1].answers)


def _placed(view: RequestView) -> Iterator[_SystemPlace]:
    """System messages that must stand in the right place: all but those that only set the output."""
    groups = [(system, tuple(group)) for system, group in groupby(view.messages, key=lambda each: each.role == "system")]
    for k, (system, group) in enumerate(groups):
        if not system:
            continue
        before = groups[k - 1][1][-1] if k else None
        after = groups[k + 1][1][0] if k + 1 < len(groups) else None
        yield from (_SystemPlace(each, before, after) for each in group if not each.directs_only)


@RULES.check("R32.no-content")
def no_content(view: RequestView) -> Iterator[Defect]:
    for message in view.messages:
        if message.role == "system" and message.content in (None, "", []) and not message.configures:
            yield at(message.path)


@RULES.check("R32.between-tool-use-and-result")
def between_tool_use_and_result(view: RequestView) -> Iterator[Defect]:
    return (at(place.message.path) for place in _placed(view) if place.cuts_a_tool_loop)


@RULES.check("R32.follows-wrong-turn")
def follows_wrong_turn(view: RequestView) -> Iterator[Defect]:
    return (at(place.message.path) for place in _placed(view) if place.follows_unfit and not place.cuts_a_tool_loop)


@RULES.check("R32.precedes-wrong-turn")
def precedes_wrong_turn(view: RequestView) -> Iterator[Defect]:
    for place in _placed(view):
        precedes_user = place.after is not None and place.after.role == "user"
        if precedes_user and not place.cuts_a_tool_loop and place.message.index:
            yield at(place.message.path)


@RULES.check("R32.content-not-text")
def content_not_text(view: RequestView) -> Iterator[Defect]:
    allowed = ("text", "tool_result", *TOOL_CHANGES)  # a tool result is R23's
    for block in _said_by(view, "system"):
        if block.facts and block.type not in allowed:  # what is no block at all is R4's
            yield at(block.path, tag=block.type)


# ── blocks by role


def _said_by(view: RequestView, *roles: str) -> Iterator[BlockView]:
    return (block for message in view.messages if message.role in roles for block in message.blocks)


@RULES.check("R23.tool-result-in-assistant")
def tool_result_in_assistant(view: RequestView) -> Iterator[Defect]:
    return (at(each.path) for each in view.messages if each.role != "user" and each.holds("tool_result"))


@RULES.check("R23.thinking-in-user")
def thinking_in_user(view: RequestView) -> Iterator[Defect]:
    for message in view.messages:
        thought = next((block for block in message.blocks if block.is_thinking), None)
        if message.role == "user" and thought:
            yield at(message.path, tag=thought.type)


@RULES.check("R23.block-role")
def block_role(view: RequestView) -> Iterator[Defect]:
    for role in ("user", "assistant"):
        for block in _said_by(view, role):
            roles = block.facts.roles if block.facts else (role,)
            if role not in roles and not block.is_thinking and block.type != "tool_result":
                yield at(block.path, tag=block.type, roles=" or ".join(f"`{each}`" for each in roles))


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


@RULES.check("R35.tool-loop")
def loop_without_thinking(view: RequestView) -> Iterator[Defect]:
    if view.thinking != "enabled" or not view.loop_is_open:
        return
    asks = (each.index for run in view.runs for each in run.messages if run.role == "user" and not each.holds("tool_result"))
    since = max(asks, default=-1)
    # The run that opens the loop is the first after the last user message that brings no result.
    opening = next((run for run in view.assistant_runs if run.messages[0].index > since), None)
    for block in _first_unless_thinking(opening):
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
    yield from (at(block.path, tag=block.type) for block in islice(thoughts, 1))


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


@RULES.check("R33.foreign-signature")
def foreign_signature(view: RequestView) -> Iterator[Defect]:
    for run in view.assistant_runs:
        for block in run.of("thinking"):
            signature = block.text("signature")
            if signature and not can_be_claudes("thinking", signature):
                yield at(block.path)
