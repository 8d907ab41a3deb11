"""The messages as a conversation: each call answered, each answer called for, roles in the vendor's order, things seen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import msgspec

from clew.simulator.chat.case import ChatCase, Place, calls_of
from clew.simulator.chat.rules import Finding
from clew.simulator.values import as_dict, as_list, as_str

__all__ = ["check_conversation"]

_NINE: Final = re.compile(r"[a-zA-Z0-9]{9}")
_AFTER: Final[dict[str, tuple[str, ...]]] = {
    "system": ("system", "user", "assistant"),
    "user": ("user", "assistant", "system"),
    "assistant": ("assistant", "user", "tool"),
    "tool": ("tool", "assistant"),
}
"""Which roles may follow, for vendors that look: as in the validator of mistral-common."""


def check_conversation(case: ChatCase) -> Iterator[Finding]:
    yield from _pairs(case.messages)
    yield from _calls(case)
    yield from _order(case.messages)
    yield from _successive(case)
    yield from _images(case)
    if not any(place.role == "user" for place in case.messages):
        yield Finding("chat.user-missing", "messages")


def _pairs(places: tuple[Place, ...]) -> Iterator[Finding]:
    """Tool messages stand right behind the calls that they answer, and answer all of them."""
    open_ids: list[str] = []
    caller = -1
    for place in places:
        if place.role == "tool":
            identity = as_str(place.message.get("tool_call_id"))
            if identity not in open_ids:
                yield Finding("chat.result-orphan", f"{place.path}.role", {"id": identity})
            else:
                open_ids.remove(identity)
            continue
        if open_ids:
            yield _unanswered(caller, open_ids)
        open_ids = [as_str(call.get("id")) for call in calls_of(place.message)]
        caller = place.index
    if open_ids:
        yield _unanswered(caller, open_ids)


def _unanswered(caller: int, ids: list[str]) -> Finding:
    return Finding("chat.call-unanswered", f"messages.{caller}", {"ids": ", ".join(ids), "id": ids[0]})


def _calls(case: ChatCase) -> Iterator[Finding]:
    for place in case.assistants:
        seen: set[str] = set()
        for number, call in enumerate(calls_of(place.message)):
            path = f"{place.path}.tool_calls.{number}"
            identity, function = as_str(call.get("id")), as_dict(call.get("function"))
            if identity in seen:
                yield Finding("chat.ids-repeated", f"{path}.id", {"id": identity})
            seen.add(identity)
            if not _NINE.fullmatch(identity):
                yield Finding("chat.id-pattern", f"{path}.id", {"id": identity})
            if not _is_object(as_str(function.get("arguments"))):
                yield Finding("chat.arguments-not-json", f"{path}.function.arguments", {"id": identity})


def _is_object(text: str) -> bool:
    try:
        return isinstance(msgspec.json.decode(text), dict)
    except msgspec.DecodeError:
        return False


def _order(places: tuple[Place, ...]) -> Iterator[Finding]:
    for before, place in pairwise(places):
        if place.role not in _AFTER.get(before.role, ()):
            yield Finding("chat.order", f"{place.path}.role", {"role": place.role, "before": before.role})
    if places and places[-1].role not in ("user", "tool") and places[-1].message.get("prefix") is not True:
        yield Finding("chat.last-role", f"{places[-1].path}.role", {"role": places[-1].role})


def _successive(case: ChatCase) -> Iterator[Finding]:
    spoken = [place for place in case.messages if place.role in ("user", "assistant", "tool")]
    for before, place in pairwise(spoken):
        if place.role == before.role and place.role != "tool":
            names = {"first": before.index, "second": place.index, "model": case.model}
            yield Finding("chat.successive", place.path, names)


def _images(case: ChatCase) -> Iterator[Finding]:
    for place in case.messages:
        for number, part in enumerate(as_list(place.message.get("content"))):
            if as_dict(part).get("type") != "image_url":
                continue
            path = f"{place.path}.content.{number}"
            if not case.traits.vision:
                yield Finding("chat.image-unsupported", path, {"model": case.model, "index": place.index})
            if as_str(as_dict(as_dict(part).get("image_url")).get("url")).startswith("http"):
                yield Finding("chat.image-remote", path)
