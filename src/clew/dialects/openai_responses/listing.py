"""Stored answers as their clients ask for them: pages of input items, and the word that one was deleted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from urllib.parse import parse_qs

import msgspec
from msgspec import Raw

from clew.errors import RequestInvalid
from clew.model.json import JsonObject, JsonValue, read_json

_DEFAULT_LIMIT: Final = "20"
_MOST: Final = 100
_ORDERS: Final = ("asc", "desc")


def write_deletion(id: str) -> bytes:
    return msgspec.json.encode({"id": id, "object": "response", "deleted": True})


def list_input(items: Sequence[Raw], exchange: str, query: str) -> bytes:
    """The newest first, unless the query says otherwise. Items that came without an id get one, to go on from."""
    given = {name: values[-1] for name, values in parse_qs(query).items()}
    order, limit = given.get("order", "desc"), _limit(given.get("limit", _DEFAULT_LIMIT))
    if order not in _ORDERS:
        raise RequestInvalid(f"Invalid value: '{order}'. Supported values are: 'asc' and 'desc'.", path="order")
    listed = [_shown(item, exchange, index) for index, item in enumerate(items)]
    if order == "desc":
        listed.reverse()
    ids = [item["id"] for item in listed]
    if after := given.get("after"):
        if after not in ids:
            raise RequestInvalid(f"Item with id '{after}' not found.", path="after")
        listed = listed[ids.index(after) + 1 :]
    page = listed[:limit]
    ends = {"first_id": page[0]["id"], "last_id": page[-1]["id"]} if page else {"first_id": None, "last_id": None}
    return msgspec.json.encode({"object": "list", "data": page, **ends, "has_more": len(page) < len(listed)})


def _limit(text: str) -> int:
    if not text.isdecimal() or not 1 <= len(text) <= 4 or not 1 <= int(text) <= _MOST:
        raise RequestInvalid(f"Invalid 'limit': expected an integer from 1 to {_MOST}, but got '{text[:40]}'.", path="limit")
    return int(text)


def _shown(raw: Raw, exchange: str, index: int) -> JsonObject:
    """An item of the input as OpenAI shows it: with a type, an id, and its content as parts."""
    item = read_json(bytes(raw))
    assert isinstance(item, dict), "only what was read as an item is kept"
    shown: JsonObject = {"type": "message", **item}
    shown["id"] = shown.get("id") or f"item_{exchange}_{index}"
    content = shown.get("content")
    if shown["type"] == "message" and isinstance(content, str):
        kind = "output_text" if shown.get("role") == "assistant" else "input_text"
        parts: list[JsonValue] = [{"type": kind, "text": content}]
        shown["content"] = parts
    return shown
