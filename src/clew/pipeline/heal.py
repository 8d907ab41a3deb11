"""Heal: repair a request that was refused for its thinking, before the first byte of an answer.

At most three times. A block without a recording is the first suspect: it and all such blocks after it stay out, for the
index names the first that fails. A recorded one takes everything from its message on with it (indices can be off: one that
points at no thinking block means all). If it is refused again for a block of the other kind, that kind's rule applies; else,
and after that, no thinking goes at all. If even that is refused, the vendor's words go to the client. Only the strand of the
answer that follows remembers a repair, so a fork from before it never sees it, and two parallel repairs do not meet.

Which refusals are about thinking is read from the vendor's words (`refusal_in`). They are unstable; several spellings are
in the wild, also wrapped by other hosts, and all are rows of `refusals.toml`. A refusal that is not recognised goes to the
client as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, TypeAlias

from msgspec import Struct

from clew.model.blocks import Block, is_thinking
from clew.model.change import Change
from clew.model.facts.failures import ThinkingRule, is_refusal, thinking_refusals
from clew.model.origin import Target
from clew.model.request import Request, RequestMessage, blocks_of, with_content
from clew.pipeline.normalise import without_trailing
from clew.pipeline.step import Facts
from clew.pipeline.thinking_parameter import loop_start, thinking_off
from clew.pipeline.values import or_filler
from clew.thinking.keys import key_of

_MOST = 4000
"""Characters that are searched. Some servers send the whole request back with their error, where all words are found."""
_INDEX = re.compile(r"messages\.(\d+)(?:\.content\.(\d+))?")


class ThinkingRefusal(Struct, frozen=True):
    """What a vendor refused: the rule, and the message and block that it names (its own indices, which can be off)."""

    rule: ThinkingRule
    message: int | None = None
    block: int | None = None


def refusal_in(status: int, words: str) -> ThinkingRefusal | None:
    """The refusal of a request for its thinking; None if the reply is another one."""
    words = words[:_MOST]
    if not is_refusal(status, words):
        return None
    known = next((row for row in thinking_refusals() if row.pattern.search(words)), None)
    if known is None:
        return None
    index = _INDEX.search(words)
    if index is None:
        return ThinkingRefusal(known.rule)
    return ThinkingRefusal(known.rule, int(index[1]), int(index[2]) if index[2] else None)


STEP = "heal"
MOST_HEALS = 3

Remedy: TypeAlias = Literal["unrecorded", "recorded", "all", "trailing", "loop", "off"]
_ONCE: dict[ThinkingRule, Remedy] = {"R35": "off", "R37": "trailing", "R38": "loop"}
"""The remedy for a rule about the layout; a second refusal for the same goes to the client."""


class HealedRequest(Struct, frozen=True, eq=False):
    """The repaired request, its changes, and the remedy."""

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
    is_refused = _refused_blocks(request, refusal, facts, remedy)
    removed: list[Change] = []
    messages: list[RequestMessage] = []
    for index, message in enumerate(request.messages):
        out = [block for block in blocks_of(message) if is_thinking(block) and is_refused(index, block)]
        for block in out:
            place = request.source.place_of(block) or (index, 0)
            removed.append(Change(STEP, f"messages.{place[0]}.content.{place[1]}", "healed", f"refused ({refusal.rule})"))
        gone = {id(block) for block in out}
        rest = tuple(block for block in blocks_of(message) if id(block) not in gone)
        messages.append(with_content(message, or_filler(rest)) if out else message)
    return HealedRequest(request.with_messages(tuple(messages)), tuple(removed), remedy) if removed else None


def _remedy(request: Request, refusal: ThinkingRefusal, facts: Facts, tried: tuple[Remedy, ...]) -> Remedy | None:
    once = _ONCE.get(refusal.rule)
    if once is not None:
        return None if once in tried else once
    if "all" in tried:
        return None
    # The thinking block that the refusal points at, if it does point at one.
    at, index = refusal.message, refusal.block
    blocks = blocks_of(request.messages[at]) if at is not None and at < len(request.messages) else ()
    if index is None or index >= len(blocks) or not is_thinking(blocks[index]):
        return "all"
    kind: Remedy = "recorded" if _is_recorded(blocks[index], facts) else "unrecorded"
    return "all" if kind in tried else kind


def _is_recorded(block: Block, facts: Facts) -> bool:
    key = key_of(block)
    return key is not None and facts.recordings.by_key(key) is not None


def _refused_blocks(
    request: Request, refusal: ThinkingRefusal, facts: Facts, remedy: Remedy
) -> Callable[[int, Block], bool]:
    """A function that says of a thinking block whether the repair leaves it out."""
    first = refusal.message or 0
    match remedy:
        case "unrecorded":
            at = refusal.block or 0
            places = {id(block): j for message in request.messages for j, block in enumerate(blocks_of(message))}
            return lambda index, block: (index, places[id(block)]) >= (first, at) and not _is_recorded(block, facts)
        case "recorded":
            return lambda index, block: index >= first
        case "trailing":
            # The thinking at the end of the named message; of every message, if the index points nowhere.
            named = request.messages[first : first + 1] if refusal.message is not None else ()
            ends = [end for message in named if (end := _tail(message))] or [_tail(each) for each in request.messages]
            trailing = {id(block) for end in ends for block in end}
            return lambda index, block: id(block) in trailing
        case "loop":
            start = loop_start(request.messages) or 0
            return lambda index, block: index >= start
        case _:
            return lambda index, block: True


def _tail(message: RequestMessage) -> tuple[Block, ...]:
    """The thinking at the end of an assistant message."""
    blocks = blocks_of(message) if message.role == "assistant" else ()
    return blocks[len(without_trailing(blocks)) :]
