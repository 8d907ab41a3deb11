"""A Responses request: its items as a conversation, their ids, and what reasoning needs around it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Final

from clew.model.facts.openai_rules import openai_rules
from clew.model.json import JsonObject, list_of, object_of, text_of
from clew.thinking.compliance.findings import RuleFinding
from clew.thinking.openai_compliance.names import LONGEST, names_too_long
from clew.thinking.seal import is_seal

_ID: Final = re.compile(r"[A-Za-z0-9_-]+")
_OUTPUT: Final = "_output"
_OF_CLIENTS: Final = frozenset({"compaction_trigger", "additional_tools", "configuration_update"})
"""Items beside messages and outputs that only clients make."""


def findings_in(body: JsonObject) -> Iterator[RuleFinding]:
    """All findings, rule by rule."""
    items = [object_of(item) for item in list_of(body.get("input"))]
    yield from names_too_long("responses.name-long", body)
    for place, item in enumerate(items):
        yield from chain(_shape(f"input[{place}]", item), _blob(f"input[{place}]", item, body))
    yield from _order(items)
    if not body.get("previous_response_id") and not any(item.get("type") == "item_reference" for item in items):
        yield from _pairs(items)  # else the calls may be where only the vendor can look


def _shape(path: str, item: JsonObject) -> Iterator[RuleFinding]:
    kind, id_, call_id = _kind(item), item.get("id"), text_of(item.get("call_id"))
    if kind == "reasoning" and "summary" not in item:
        yield RuleFinding("responses.summary-missing", f"{path}.summary", {})
    if kind.removesuffix(_OUTPUT) in openai_rules().calls and len(call_id) > LONGEST:
        names = {"limit": LONGEST, "length": len(call_id)}
        yield RuleFinding("responses.call-id-long", f"{path}.call_id", names)
    if not isinstance(id_, str) or kind == "item_reference":
        return
    prefix = openai_rules().prefixes.get(kind, "")
    if not _ID.fullmatch(id_):
        yield RuleFinding("responses.id-characters", f"{path}.id", {"id": id_})
    elif prefix and not id_.startswith(prefix):
        yield RuleFinding("responses.id-prefix", f"{path}.id", {"id": id_, "prefix": prefix})


def _blob(path: str, item: JsonObject, body: JsonObject) -> Iterator[RuleFinding]:
    id_, blob = text_of(item.get("id")), text_of(item.get("encrypted_content"))
    if is_seal(blob):
        what = f"for item {id_}" if id_ else f"{blob[:8]}…{blob[-4:]}"
        yield RuleFinding("responses.blob-invalid", f"{path}.encrypted_content", {"what": what})
    if _kind(item) == "reasoning" and id_ and not blob and body.get("store") is False:
        yield RuleFinding("responses.blob-missing", path, {"id": id_})


def _order(items: list[JsonObject]) -> Iterator[RuleFinding]:
    seen: set[str] = set()
    for place, item in enumerate(items):
        kind, id_ = _kind(item), text_of(item.get("id"))
        following = items[place + 1] if place + 1 < len(items) else {}
        if kind == "reasoning" and not _is_models(following):
            yield RuleFinding("responses.reasoning-alone", f"input[{place}]", {"id": id_})
        if kind == "compaction_trigger" and following:
            yield RuleFinding("responses.trigger-place", f"input[{place}]", {})
        if id_ and kind != "item_reference" and id_ in seen:
            yield RuleFinding("responses.item-repeated", f"input[{place}].id", {"id": id_})
        seen.add(id_)


def _is_models(item: JsonObject) -> bool:
    """Whether the model made it: reasoning, a call, or what an assistant said."""
    kind = _kind(item)
    if kind == "message":
        return item.get("role") == "assistant"
    return bool(kind) and kind not in _OF_CLIENTS and not kind.endswith(_OUTPUT)


def _pairs(items: list[JsonObject]) -> Iterator[RuleFinding]:
    calls = openai_rules().calls
    waiting: dict[tuple[str, str], int] = {}
    called: set[tuple[str, str]] = set()
    for place, item in enumerate(items):
        kind, id_ = _kind(item), text_of(item.get("call_id"))
        if kind in calls:
            waiting[kind, id_] = place
            called.add((kind, id_))
        elif (kind := kind.removesuffix(_OUTPUT)) in calls:
            waiting.pop((kind, id_), None)
            if (kind, id_) not in called:
                yield RuleFinding("responses.output-orphan", f"input[{place}]", {"id": id_, "call": calls[kind]})
    for (kind, id_), place in waiting.items():
        yield RuleFinding("responses.call-unanswered", f"input[{place}]", {"id": id_, "call": calls[kind]})


def _kind(item: JsonObject) -> str:
    """Its type; a message may leave it out."""
    return text_of(item.get("type")) or ("message" if "role" in item else "")
