"""Heal: repair a request that was refused for its thinking, before the first byte of an answer.

At most three times. A block that nobody recorded is the first suspect: it and all such after it stay out, for the index
names the first that fails. A recorded one takes everything from its message on with it (indices can be off: one that points
at no thinking block means all). Refused again for a block of the other kind: its rule; else, and after that, no thinking at
all. Refused even so: the vendor's words go to the client. Nothing remembers a repair but the strand of the answer that
follows, so a fork from before it never hears of it, and two parallel repairs do not meet.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from msgspec import Struct

from clew.model.blocks import Block, filler, is_thinking
from clew.model.change import Change
from clew.model.request import Message, Request, blocks_of, with_content
from clew.model.target import Target
from clew.pipeline.step import Facts
from clew.pipeline.thinking_parameter import loop_start, thinking_off
from clew.pipeline.values import is_nothing_but_blank
from clew.thinking.keys import key_of
from clew.thinking.refusals import Rule, ThinkingRefusal

__all__ = ["MOST_HEALS", "HealedRequest", "Remedy", "heal"]

STEP = "heal"
MOST_HEALS = 3

Remedy: TypeAlias = Literal["unrecorded", "recorded", "all", "trailing", "loop", "off"]
_ONCE: dict[Rule, Remedy] = {"R35": "off", "R37": "trailing", "R38": "loop"}
"""What a rule about the layout asks for; a second refusal for the same is the client's to see."""

_Chosen: TypeAlias = Callable[[int, Block], bool]


class HealedRequest(Struct, frozen=True, eq=False):
    """The repaired request, what was done to it, and by which remedy."""

    request: Request
    changes: tuple[Change, ...]
    remedy: Remedy


def heal(
    request: Request, refusal: ThinkingRefusal, target: Target, facts: Facts, tried: tuple[Remedy, ...] = ()
) -> HealedRequest | None:
    """The next thing to send after this refusal of `request`; None if there is nothing left to try."""
    remedy = _remedy(request, refusal, facts, tried)
    if remedy is None or len(tried) >= MOST_HEALS:
        return None
    if remedy == "off":
        healed, changes = thinking_off(request, target, f"refused ({refusal.rule})")
        return HealedRequest(healed, changes, remedy)
    healed, changes = _without(request, _chosen(request, refusal, facts, remedy), refusal)
    return HealedRequest(healed, changes, remedy) if changes else None


def _remedy(request: Request, refusal: ThinkingRefusal, facts: Facts, tried: tuple[Remedy, ...]) -> Remedy | None:
    once = _ONCE.get(refusal.rule)
    if once is not None:
        return None if once in tried else once
    if "all" in tried:
        return None
    named = _named(request, refusal)
    if named is None:
        return "all"
    key = key_of(named)
    kind: Remedy = "recorded" if key and facts.recordings.by_key(key) else "unrecorded"
    return "all" if kind in tried else kind


def _named(request: Request, refusal: ThinkingRefusal) -> Block | None:
    """The thinking block that the refusal points at, if it does point at one."""
    if refusal.message is None or refusal.message >= len(request.messages):
        return None
    blocks = blocks_of(request.messages[refusal.message])
    if refusal.block is None or refusal.block >= len(blocks):
        return None
    block = blocks[refusal.block]
    return block if is_thinking(block) else None


def _chosen(request: Request, refusal: ThinkingRefusal, facts: Facts, remedy: Remedy) -> _Chosen:
    """Which thinking blocks stay out."""
    first = refusal.message or 0
    match remedy:
        case "unrecorded":
            at = refusal.block or 0
            places = _places(request)
            return lambda index, block: (index, places[id(block)]) >= (first, at) and not _is_recorded(block, facts)
        case "recorded":
            return lambda index, block: index >= first
        case "trailing":
            trailing = _trailing(request, refusal)
            return lambda index, block: id(block) in trailing
        case "loop":
            start = loop_start(request.messages) or 0
            return lambda index, block: index >= start
        case _:
            return lambda index, block: True


def _places(request: Request) -> dict[int, int]:
    return {id(block): j for message in request.messages for j, block in enumerate(blocks_of(message))}


def _is_recorded(block: Block, facts: Facts) -> bool:
    key = key_of(block)
    return key is not None and facts.recordings.by_key(key) is not None


def _trailing(request: Request, refusal: ThinkingRefusal) -> set[int]:
    """The thinking at the end of the named message; of every one, if the name points nowhere."""
    named = request.messages[refusal.message : refusal.message + 1] if refusal.message is not None else ()
    ends = [end for message in named if (end := _tail(message))] or [_tail(message) for message in request.messages]
    return {id(block) for end in ends for block in end}


def _tail(message: Message) -> tuple[Block, ...]:
    blocks = blocks_of(message) if message.role == "assistant" else ()
    count = len(blocks)
    while count and is_thinking(blocks[count - 1]):
        count -= 1
    return blocks[count:]


def _without(request: Request, chosen: _Chosen, refusal: ThinkingRefusal) -> tuple[Request, tuple[Change, ...]]:
    changes: list[Change] = []
    messages: list[Message] = []
    for index, message in enumerate(request.messages):
        out = {id(block) for block in blocks_of(message) if is_thinking(block) and chosen(index, block)}
        changes.extend(_change(request, index, block, refusal) for block in blocks_of(message) if id(block) in out)
        messages.append(_relieved(message, out) if out else message)
    return request.with_messages(tuple(messages)), tuple(changes)


def _relieved(message: Message, out: set[int]) -> Message:
    """The message without these blocks; white space alone would be refused next (R22), so the filler stands in for it."""
    rest = tuple(block for block in blocks_of(message) if id(block) not in out)
    return with_content(message, (filler(),) if not rest or is_nothing_but_blank(rest) else rest)


def _change(request: Request, index: int, block: Block, refusal: ThinkingRefusal) -> Change:
    place = request.source.place_of(block) or (index, 0)
    return Change(STEP, f"messages.{place[0]}.content.{place[1]}", "healed", f"refused ({refusal.rule})")
