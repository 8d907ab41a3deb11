"""Who may say what, and where: the first message, system messages, blocks by role (R18, R19, R21, R23, R32)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, pairwise
from typing import NamedTuple

from clew.thinking.compliance.reading import Check, Piece, Reading, Seen, Spot, at

__all__ = ["RULES"]

TOOL_CHANGES = ("tool_addition", "tool_removal")


def _no_messages(reading: Reading) -> Iterator[Spot]:
    if reading.body.get("messages") == []:
        yield at("messages")


def _first(reading: Reading, role: str) -> Iterator[Seen]:
    yield from (each for each in reading.messages[:1] if each.index == 0 and each.role == role)


def _first_not_user(reading: Reading) -> Iterator[Spot]:
    for message in _first(reading, "assistant"):
        yield at(message.path)


def _leading_system(reading: Reading) -> Iterator[Spot]:
    for message in _first(reading, "system"):
        if not message.directs_only:
            yield at(message.path)


def _not_alternating(reading: Reading) -> Iterator[Spot]:
    for before, after in pairwise(reading.messages):
        if before.role == after.role != "system":
            yield at(after.path, role=after.role)
            return


# ── system messages


class _Place(NamedTuple):
    """One system message, and the messages around the group of system messages that it stands in."""

    message: Seen
    before: Seen | None
    after: Seen | None

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
        return not (self.before.pieces and self.before.pieces[-1].answers)

    @property
    def precedes_unfit(self) -> bool:
        return self.after is not None and self.after.role == "user"


def _placed(reading: Reading) -> Iterator[_Place]:
    """System messages that must stand in the right place: all but those that only set the output."""
    groups = [(system, tuple(group)) for system, group in groupby(reading.messages, key=lambda each: each.role == "system")]
    for k, (system, group) in enumerate(groups):
        if not system:
            continue
        before = groups[k - 1][1][-1] if k else None
        after = groups[k + 1][1][0] if k + 1 < len(groups) else None
        yield from (_Place(each, before, after) for each in group if not each.directs_only)


def _no_content(reading: Reading) -> Iterator[Spot]:
    for message in reading.messages:
        if message.role == "system" and message.content in (None, "", []) and not message.configures:
            yield at(message.path)


def _between_tool_use_and_result(reading: Reading) -> Iterator[Spot]:
    return (at(place.message.path) for place in _placed(reading) if place.cuts_a_tool_loop)


def _follows_wrong_turn(reading: Reading) -> Iterator[Spot]:
    return (at(place.message.path) for place in _placed(reading) if place.follows_unfit and not place.cuts_a_tool_loop)


def _precedes_wrong_turn(reading: Reading) -> Iterator[Spot]:
    for place in _placed(reading):
        if place.precedes_unfit and not place.cuts_a_tool_loop and not place.leads:
            yield at(place.message.path)


def _content_not_text(reading: Reading) -> Iterator[Spot]:
    allowed = ("text", "tool_result", *TOOL_CHANGES)  # a tool result is R23's
    for piece in _said_by(reading, "system"):
        if piece.facts and piece.type not in allowed:  # what is no block at all is R4's
            yield at(piece.path, tag=piece.type)


# ── blocks by role


def _said_by(reading: Reading, *roles: str) -> Iterator[Piece]:
    return (piece for message in reading.messages if message.role in roles for piece in message.pieces)


def _tool_result_in_assistant(reading: Reading) -> Iterator[Spot]:
    return (at(each.path) for each in reading.messages if each.role != "user" and each.holds("tool_result"))


def _thinking_in_user(reading: Reading) -> Iterator[Spot]:
    for message in reading.messages:
        thought = next((piece for piece in message.pieces if piece.thinks), None)
        if message.role == "user" and thought:
            yield at(message.path, tag=thought.type)


def _block_role(reading: Reading) -> Iterator[Spot]:
    for role in ("user", "assistant"):
        for piece in _said_by(reading, role):
            roles = piece.facts.roles if piece.facts else (role,)
            if role not in roles and not piece.thinks and piece.type != "tool_result":
                yield at(piece.path, tag=piece.type, roles=" or ".join(f"`{each}`" for each in roles))


RULES: dict[str, Check] = {
    "R18.no-messages": _no_messages,
    "R19.first-not-user": _first_not_user,
    "R19.leading-system": _leading_system,
    "R21.not-alternating": _not_alternating,
    "R32.no-content": _no_content,
    "R32.between-tool-use-and-result": _between_tool_use_and_result,
    "R32.follows-wrong-turn": _follows_wrong_turn,
    "R32.precedes-wrong-turn": _precedes_wrong_turn,
    "R32.content-not-text": _content_not_text,
    "R23.tool-result-in-assistant": _tool_result_in_assistant,
    "R23.thinking-in-user": _thinking_in_user,
    "R23.block-role": _block_role,
}
