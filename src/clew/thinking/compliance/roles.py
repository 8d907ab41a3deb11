"""Who may say what, and where: the first message, system messages, blocks by role (R18, R19, R21, R23, R32)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, pairwise
from typing import NamedTuple

from clew.thinking.compliance.findings import Defect, at
from clew.thinking.compliance.request_view import BlockView, MessageView, RequestView, RuleTable

RULES = RuleTable()

TOOL_CHANGES = ("tool_addition", "tool_removal")


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
    def leads(self) -> bool:
        return self.message.index == 0

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

    @property
    def precedes_unfit(self) -> bool:
        return self.after is not None and self.after.role == "user"


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
        if place.precedes_unfit and not place.cuts_a_tool_loop and not place.leads:
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
