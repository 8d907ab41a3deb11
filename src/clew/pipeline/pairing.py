"""Which tool result answers which call, within one assistant run and the user run that follows it.

Pure bookkeeping for `tool_structure`: it decides, and that step rearranges. Calls and results pair up by id, in order: where
one id was called twice, the first result is the first call's.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import msgspec
from msgspec import UNSET, Struct

from clew.dialects.anthropic.requests import raw_of
from clew.model.blocks import Block, Made, made, text_block
from clew.model.facts import blocks as block_facts
from clew.model.request import Request
from clew.pipeline.blank import is_empty_text
from clew.wire.splice import set_key

__all__ = ["NO_RESULT", "ORPHAN_LABEL", "Pairing", "UsedIds", "orphan_as_text", "paired", "renamed", "unanswered"]

NO_RESULT = "[The tool call was interrupted; there is no result.]"
"""Constant, so that a history with it stays stable."""

ORPHAN_LABEL = "[Result of a tool call that is no longer part of this conversation]"


class Pairing(Struct, frozen=True, eq=False):
    """The calls of a run, and what became of each result that followed. Blocks are compared by identity."""

    calls: tuple[Block, ...]
    results: tuple[Block, ...]
    """Those that answer a call, in the order in which they came."""
    unanswered: tuple[Block, ...]
    late: tuple[Block, ...]
    """Results that answer, but not among the first blocks of the run."""
    repeated: tuple[Block, ...]
    orphans: tuple[Block, ...]
    ids: dict[int, str]
    """The id that a call, or the result that answers it, is to have; by the block's identity."""
    without_call: frozenset[int]
    """The orphans, by identity."""

    @property
    def is_legal(self) -> bool:
        wrong = self.unanswered or self.late or self.repeated or self.orphans
        return not wrong and all(self.id_of(call) == call.id for call in self.calls)

    def id_of(self, block: Block) -> str:
        return self.ids[id(block)]

    def is_orphan(self, block: Block) -> bool:
        return id(block) in self.without_call


class UsedIds:
    """The ids of the calls so far. `take` gives each call one that no other has."""

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._numbers: dict[str, int] = {}
        """The last number that was tried for an id: the next search begins there."""

    def take(self, wanted: str) -> str:
        """The id, or the first numbered form of it that is free; then no longer free."""
        fresh, number = wanted, self._numbers.get(wanted, 1)
        while fresh in self._used:
            number += 1
            fresh = f"{wanted}-{number}"
        self._used.add(fresh)
        self._numbers[wanted] = number
        return fresh


def paired(calls: Sequence[Block], stream: Sequence[Block], used: UsedIds) -> Pairing:
    """Pair the calls of a run with the blocks that follow. `used` holds the ids before it, and gets those of this run."""
    ids = {id(call): used.take(str(call.id)) for call in calls}
    results = [block for block in stream if block.type == "tool_result"]
    waiting: dict[object, deque[Block]] = {}
    for call in calls:
        waiting.setdefault(call.id, deque()).append(call)
    answering: list[Block] = []
    for result in results:
        if same_id := waiting.get(result.tool_use_id):
            answering.append(result)
            ids[id(result)] = ids[id(same_id.popleft())]
    unanswered = {id(call) for left in waiting.values() for call in left}
    others = [block for block in results if id(block) not in ids]
    orphans = tuple(block for block in others if block.tool_use_id not in waiting)
    return Pairing(
        calls=tuple(calls),
        results=tuple(answering),
        unanswered=tuple(call for call in calls if id(call) in unanswered),
        late=tuple(block for block in stream[_leading(stream) :] if id(block) in ids),
        repeated=tuple(block for block in others if block.tool_use_id in waiting),
        orphans=orphans,
        ids=ids,
        without_call=frozenset(map(id, orphans)),
    )


def _leading(stream: Sequence[Block]) -> int:
    return next((index for index, block in enumerate(stream) if block.type != "tool_result"), len(stream))


def renamed(request: Request, block: Block, key: str, pairing: Pairing) -> Block:
    """The block with the id that it is to have; the very same block if it has it."""
    wanted = pairing.ids.get(id(block))
    if wanted is None or wanted in (block.id, block.tool_use_id):
        return block
    return made(set_key(raw_of(request, block), key, msgspec.json.encode(wanted)))


def unanswered(id: str) -> Made:
    """The result that a call gets which has none."""
    return made({"type": "tool_result", "tool_use_id": id, "content": NO_RESULT, "is_error": True})


_content = msgspec.json.Decoder(str | list[msgspec.Raw])


def orphan_as_text(result: Block) -> tuple[Made, ...]:
    """What a result says, for a user message without its call; nothing if it says nothing, or nothing readable."""
    try:
        said = _said(result)
    except msgspec.DecodeError:
        return ()
    return (text_block(ORPHAN_LABEL), *said) if said else ()


def _said(result: Block) -> tuple[Made, ...]:
    content = "" if result.content is UNSET else _content.decode(result.content)
    if isinstance(content, str):
        return (text_block(content),) if content.strip() else ()
    return tuple(block for raw in content if _may_stand_alone(block := made(bytes(raw))))


def _may_stand_alone(block: Block) -> bool:
    """Whether a block from inside a result is legal in a user message by itself."""
    facts = block_facts().get(block.type)
    return facts is not None and "user" in facts.roles and facts.nested and not is_empty_text(block)
