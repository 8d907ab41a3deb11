"""The client's own items, for a backend that speaks the client's dialect.

What no step touched goes as the client sent it. A message that lost or got a thought is written block by block: each block
that is still the client's goes as the client's item. A call whose id was put back as its maker gave it stays the client's
item, with that id.

What the model said goes with the client's ids only if all of it is untouched, and its thoughts are there: an id stands for
what the server remembers of an answer, and a call whose thought is gone would be refused by it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec
from msgspec import Raw, Struct

from clew.dialects.openai_responses.detail import ClientItem, ResponsesDetail, Taker
from clew.model.blocks import Block, is_thinking
from clew.model.request import Request, RequestMessage, blocks_of
from clew.wire.splice import drop_key, set_key

_PAIRED: Final = {"tool_use": "id", "tool_result": "tool_use_id"}


class OwnItem(NamedTuple):
    """The client's item for a block of a message: it stands for this one and for `more` behind it."""

    raw: Raw
    path: str
    more: int = 0
    takes: Taker = "all"


class MessageItems(Struct, frozen=True):
    """The client's items of one message."""

    by_block: Mapping[int, OwnItem] = {}
    """By the index of the block that each begins with."""
    between: Mapping[int, list[ClientItem]] = {}
    """Those that became no block, by the index of the block that they stand before."""


class ClientItems:
    """Finds the client's items for the messages of a request."""

    def __init__(self, request: Request, detail: ResponsesDetail, *, ids: bool) -> None:
        """`ids`: items that go as they came keep their ids."""
        self._source = request.source
        self._items = detail.items
        self._ids = ids

    def of_untouched(self, message: RequestMessage) -> Sequence[ClientItem]:
        """The items of a user's message that no step touched; none for any other, or where one of them became no block."""
        at = self._source.index_of(message) if message.role == "user" else None
        items = self._items.get(at, ()) if at is not None and self._source.body.messages[at] is message else ()
        return items if all(item.blocks for item in items) else ()

    def of_message(self, message: RequestMessage) -> MessageItems:
        at = self._source.index_of(message)
        if at is None or at not in self._items:
            return MessageItems()
        given, items = self._source.body.messages[at], self._items[at]
        before, now = blocks_of(given), blocks_of(message)
        places = list(range(len(now))) if given is message else _places(before, now)
        has_thoughts = message.role != "assistant" or (given is message and any(map(is_thinking, now)))
        firsts = {item.first: item for item in items if item.blocks}
        found: dict[int, OwnItem] = {}
        for index, place in enumerate(places):
            item = firsts.get(place)
            if item is None or places[index : index + item.blocks] != list(range(place, place + item.blocks)):
                continue
            is_kept = is_thinking(now[index]) or (self._ids and has_thoughts)
            raw = item.raw if is_kept else without_id(item.raw)
            sent = _with_call_id(raw, before[place], now[index])
            found[index] = OwnItem(sent, item.path, item.blocks - 1, item.takes)
        return MessageItems(found, _between(items, places))


def _places(before: Sequence[Block], now: Sequence[Block]) -> list[int]:
    """Where each block stood in the client's message; -1 for one that is not the client's."""
    known = {id(block): at for at, block in enumerate(before)}
    places = [known.get(id(block), -1) for block in now]
    for kind in _PAIRED:
        olds = [at for at, block in enumerate(before) if block.type == kind]
        news = [at for at, block in enumerate(now) if block.type == kind]
        if len(olds) == len(news):
            for old, new in zip(olds, news, strict=True):
                if (before[old].input, before[old].content) == (now[new].input, now[new].content):
                    places[new] = old
    return places


def _between(items: Sequence[ClientItem], places: Sequence[int]) -> dict[int, list[ClientItem]]:
    found: dict[int, list[ClientItem]] = {}
    index = 0
    for item in items:  # in the order of their places, so one walk finds them all
        if not item.blocks:
            while index < len(places) and places[index] < item.first:
                index += 1
            found.setdefault(index, []).append(item)
    return found


def _with_call_id(raw: Raw, before: Block, now: Block) -> Raw:
    """The item with the id that the block has now."""
    key = _PAIRED.get(now.type, "")
    if not key or before is now or getattr(before, key) == getattr(now, key):
        return raw
    return Raw(set_key(bytes(raw), "call_id", msgspec.json.encode(getattr(now, key))))


def without_id(raw: Raw) -> Raw:
    return Raw(drop_key(bytes(raw), "id")) if b'"id"' in bytes(raw) else raw
