"""At most four cache marks in a request (R58), a client's own included: the later ones cover more, so the first ones go.

Marks stand on tools, on blocks of the system prompt, on blocks of messages and inside tool results, and are counted in this
order. A top-level mark is one more, unless it falls on a block that has its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from clew.model.blocks import THINKING_TYPES, is_thinking, made
from clew.model.change import Change
from clew.model.facts import blocks as block_facts
from clew.model.json import JsonObject
from clew.model.request import Request, blocks_of, with_blocks
from clew.pipeline.values import block_path, bytes_of, is_empty_text, value_of, with_changed_fields
from clew.wire.requests import raw_of
from clew.wire.splice import apply, drop_key, edit_array, elements, locate

STEP = "cache_marks"
MOST_MARKS = 4
"""Marks in one request: tools, system and messages together (R58)."""

SURPLUS = f"at most {MOST_MARKS} cache marks in all (R58)"


class MarkPlace(Struct, frozen=True):
    """Where a mark stands: on an entry of a part of the request, or of a message on a block, or inside a tool result."""

    part: Literal["tools", "system", "messages"]
    at: int
    block: int = 0
    inside: int | None = None


class _Marked(Struct, frozen=True):
    """A tool or a block, as far as marks go."""

    cache_control: JsonObject | UnsetType | None = UNSET


_marked_list = msgspec.json.Decoder(list[_Marked])


def can_carry(kind: str) -> bool:
    """Whether blocks of a type can carry a mark. Thinking cannot, nor can unknown types."""
    facts = block_facts().get(kind)
    return facts is not None and facts.cacheable and kind not in THINKING_TYPES


def marks_in(raw: Raw | UnsetType) -> list[tuple[int, JsonObject]]:
    """The marks in a list, each with its index; none if the value is no list (`system` may be a string)."""
    try:
        found = [] if raw is UNSET else _marked_list.decode(raw)
    except msgspec.DecodeError:
        return []
    return [(index, each.cache_control) for index, each in enumerate(found) if isinstance(each.cache_control, dict)]


def fixed_marks(request: Request) -> list[JsonObject]:
    """The marks in tools and system, in the order in which the API reads them."""
    return [mark for raw in (request.body.tools, request.body.system) for _, mark in marks_in(raw)]


def within_limit(request: Request, *, only_fixed: bool = False) -> tuple[Request, tuple[Change, ...]]:
    """The request with four marks at most. `only_fixed` counts those in tools and system, where the others are moved."""
    places = [MarkPlace("tools", at) for at, _ in marks_in(request.body.tools)]
    places += [MarkPlace("system", at) for at, _ in marks_in(request.body.system)]
    room = MOST_MARKS
    if not only_fixed:
        for at, message in enumerate(request.messages):
            for j, block in enumerate(blocks_of(message)):
                if block.type == "tool_result" and b'"cache_control"' in bytes_of(block.content):
                    places += [MarkPlace("messages", at, j, k) for k, _ in marks_in(block.content)]
                if isinstance(value_of(block.cache_control), dict) and not is_thinking(block):
                    places.append(MarkPlace("messages", at, j))
        room -= _automatic_adds_one(request)
    surplus = places[: max(0, len(places) - room)]
    return _without(request, surplus) if surplus else (request, ())


def _automatic_adds_one(request: Request) -> bool:
    """Whether there is a top-level mark that falls on a block without a mark: the last that can carry one."""
    if not isinstance(value_of(request.body.cache_control), dict):
        return False
    for message in reversed(request.messages):
        if isinstance(message.content, str) and message.content:
            return True
        for block in reversed(blocks_of(message)):
            if can_carry(block.type) and not is_empty_text(block):
                return value_of(block.cache_control) is None
    return False


def _without(request: Request, surplus: Iterable[MarkPlace]) -> tuple[Request, tuple[Change, ...]]:
    """The request without the marks in these places."""
    changes: list[Change] = []
    lists: dict[str, list[int]] = {}
    blocks: dict[int, dict[int, list[int | None]]] = {}
    for place in surplus:
        if place.part == "messages":
            blocks.setdefault(place.at, {}).setdefault(place.block, []).append(place.inside)
            path = block_path(request, place.at, blocks_of(request.messages[place.at])[place.block])
            path += "" if place.inside is None else f".content.{place.inside}"
        else:
            lists.setdefault(place.part, []).append(place.at)
            path = f"{place.part}.{place.at}"
        changes.append(Change(STEP, f"{path}.cache_control", "removed", SURPLUS))
    messages = list(request.messages)
    for at, places in blocks.items():
        given = blocks_of(messages[at])
        plain = [made(_plain(raw_of(request, block), places[j])) if j in places else block for j, block in enumerate(given)]
        messages[at] = with_blocks(messages[at], tuple(plain))
    fields = {name: Raw(_plain_entries(bytes_of(getattr(request.body, name)), out)) for name, out in lists.items()}
    return with_changed_fields(request.with_messages(tuple(messages)), **fields), tuple(changes)


def _plain(raw: bytes, places: Iterable[int | None]) -> bytes:
    """A block without its own mark (None), and without those of some entries of its content."""
    if None in places:
        raw = drop_key(raw, "cache_control")
    if inside := [place for place in places if place is not None]:
        start, end = locate(raw, ("content",))
        raw = raw[:start] + _plain_entries(raw[start:end], inside) + raw[end:]
    return raw


def _plain_entries(raw: bytes, out: Iterable[int]) -> bytes:
    """A list without the marks of these entries."""
    spans = elements(raw)
    plain = {index: drop_key(raw[slice(*spans[index])], "cache_control") for index in out}
    return apply(raw, edit_array(raw, replace=plain))
