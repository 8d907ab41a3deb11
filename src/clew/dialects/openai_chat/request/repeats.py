"""Entries of `reasoning_details` that stand in a history twice: behind some backends a second one is refused by its id.

Clients that fork, merge or repeat messages make them. An entry is the same by what only its maker could have given it, its
data, its signature or the id of something encrypted; the same words alone may have been thought twice. The first one stays,
so that what was sent before is not altered later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

from clew.model.json import JsonObject

__all__ = ["without_repeats"]

_LIST = "reasoning_details"


def without_repeats(messages: Iterable[dict[str, object]]) -> Iterator[dict[str, object]]:
    """The messages, each entry once. A list of which nothing is left goes with its key."""
    seen: set[tuple[str, str]] = set()
    for message in messages:
        entries = cast("list[JsonObject]", message.get(_LIST) or [])
        new = [entry for entry in entries if _is_new(entry, seen)]
        if len(new) == len(entries):
            yield message
        else:
            rest = {name: value for name, value in message.items() if name != _LIST}
            yield {**rest, _LIST: new} if new else rest


def _is_new(entry: JsonObject, seen: set[tuple[str, str]]) -> bool:
    marks = {(name, str(value)) for name in ("data", "signature") if (value := entry.get(name))}
    if entry.get("type") == "reasoning.encrypted" and entry.get("id"):
        marks.add(("id", str(entry["id"])))
    is_new = not marks & seen
    seen |= marks
    return is_new
