"""Which tool result answers which call, within one assistant run and the user run that follows it.

Pure bookkeeping for `tool_structure`: this module decides, and that step rearranges. Calls and results pair up by id, in
order: where one id was called twice, the first result is the first call's.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import UNSET, Struct, structs

from clew.model.blocks import Block, Made, made, text_block
from clew.model.facts import blocks as block_facts
from clew.model.json import encoded
from clew.model.request import Request
from clew.pipeline.values import is_empty_text
from clew.wire.requests import raw_of
from clew.wire.splice import set_key

NO_RESULT = "[The tool call was interrupted; there is no result.]"
"""Constant, so that a history with it stays stable."""

ORPHAN_LABEL = "[Result of a tool call that is no longer part of this conversation]"


class Pairing(Struct, frozen=True, eq=False):
    """The calls of a run, and the results that follow, by kind. Blocks are compared by identity."""

    calls: tuple[Block, ...]
    results: tuple[Block, ...]
    """Results that answer a call, in the order in which they came."""
    unanswered: tuple[Block, ...]
    late: tuple[Block, ...]
    """Results that answer, but not among the first blocks of the run."""
    repeated: tuple[Block, ...]
    orphans: tuple[Block, ...]
    ids: dict[int, str]
    """The id that a call, or the result that answers it, is to have; by the block's identity."""
    texts: dict[int, tuple[Made, ...]] = {}
    """The content of each orphan for a user message, by the block's identity. Only `with_texts` fills it."""

    @property
    def is_legal(self) -> bool:
        wrong = self.unanswered or self.late or self.repeated or self.orphans
        return not wrong and all(self.id_of(call) == call.id for call in self.calls)

    def id_of(self, block: Block) -> str:
        return self.ids[id(block)]


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


def pair(calls: Sequence[Block], stream: Sequence[Block], used: UsedIds) -> Pairing:
    """Pair the calls of a run with the blocks that follow. `used` holds the ids before it, and gets those of this run."""
    ids = {id(call): used.take(str(call.id)) for call in calls}
    waiting: dict[object, list[Block]] = {}
    for call in reversed(calls):  # so that the first of one id is the last of its list
        waiting.setdefault(call.id, []).append(call)
    results, late, repeated, orphans = list[Block](), list[Block](), list[Block](), list[Block]()
    leads = True
    for block in stream:
        if block.type != "tool_result":
            leads = False
        elif same_id := waiting.get(block.tool_use_id):
            ids[id(block)] = ids[id(same_id.pop())]
            results.append(block)
            late += [] if leads else [block]
        else:
            (orphans if same_id is None else repeated).append(block)
    left = {id(call) for same_id in waiting.values() for call in same_id}
    return Pairing(
        calls=tuple(calls),
        results=tuple(results),
        unanswered=tuple([call for call in calls if id(call) in left]),
        late=tuple(late),
        repeated=tuple(repeated),
        orphans=tuple(orphans),
        ids=ids,
    )


def with_texts(pairing: Pairing) -> Pairing:
    """The pairing with the orphans as texts."""
    return structs.replace(pairing, texts={id(block): _orphan_as_text(block) for block in pairing.orphans})


def with_paired_id(request: Request, block: Block, key: str, pairing: Pairing) -> Block:
    """The block with the id that it is to have; the very same block if it has it."""
    request.source.wanted.check()
    wanted = pairing.ids.get(id(block))
    if wanted is None or wanted in (block.id, block.tool_use_id):
        return block
    return made(set_key(raw_of(request, block), key, msgspec.json.encode(wanted)))


_UNANSWERED = made({"type": "tool_result", "tool_use_id": "", "content": NO_RESULT, "is_error": True})


def result_for_unanswered(request: Request, id: str) -> Made:
    """The result for a call that has none. (There may be very many, so it is not parsed again each time.)"""
    request.source.wanted.check()
    raw = _UNANSWERED.raw.replace(b'""', encoded(id), 1)
    return structs.replace(_UNANSWERED, tool_use_id=id, raw=raw)


_content = msgspec.json.Decoder(str | list[msgspec.Raw])


def _orphan_as_text(result: Block) -> tuple[Made, ...]:
    """The content of a result, for a user message without its call; nothing if it is empty or not readable."""
    try:
        content = "" if result.content is UNSET else _content.decode(result.content)
    except msgspec.DecodeError:
        return ()
    if isinstance(content, str):
        blocks = [text_block(content)] if content.strip() else []
    else:
        # Those that are legal in a user message by themselves.
        legal = {kind for kind, facts in block_facts().items() if "user" in facts.roles and facts.nested}
        blocks = [block for raw in content if (block := made(bytes(raw))).type in legal and not is_empty_text(block)]
    return (text_block(ORPHAN_LABEL), *blocks) if blocks else ()
