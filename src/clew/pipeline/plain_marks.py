"""Cache marks on plain messages, for requests that are built from a client's own history. The places are those of
`cache_marks`."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from clew.model.change import Change
from clew.model.json import JsonObject, JsonValue, object_of, text_of
from clew.pipeline.cache_marks import fitting_ttl, mark_of, places_to_mark, room_for_marks
from clew.pipeline.mark_limit import STEP, SURPLUS, can_carry
from clew.pipeline.step import CacheRules

OFF = "cache marks are switched off"


def mark_messages(
    messages: Sequence[JsonObject], rules: CacheRules | None = None, *, line: str = "", fixed: Sequence[JsonObject] = ()
) -> list[JsonObject]:
    """Plain messages with cache marks on the last blocks of the last two, and nowhere else.

    `line` is the model's (haiku, sonnet, opus), for rules that switch marks off for one. `fixed` are the marks in tools and
    system: there are four at most in a request. The messages given are not altered, and one that needs no other marks is
    returned as it is.

    >>> mark_messages([{"role": "user", "content": "Hi"}])
    [{'role': 'user', 'content': [{'type': 'text', 'text': 'Hi', 'cache_control': {'type': 'ephemeral'}}]}]
    >>> mark_messages([{"role": "user", "content": "Hi"}], CacheRules(off=True))
    [{'role': 'user', 'content': 'Hi'}]
    """
    rules = rules or CacheRules()
    markable: list[list[bool]] = []
    for message in messages:
        kinds = [(text_of(block.get("type")), block) for block in map(object_of, _blocks(message))]
        markable.append([can_carry(kind) and not (kind == "text" and not block.get("text")) for kind, block in kinds])
    marked = set(places_to_mark(markable, nearest=rules.nearest, room=room_for_marks(rules, line, fixed)))
    mark = mark_of(fitting_ttl(rules.ttl, fixed))
    out: list[JsonObject] = []
    for index, message in enumerate(messages):
        before = _blocks(message)
        after = [_with_mark(block, mark if (index, j) in marked else None) for j, block in enumerate(before)]
        is_plain_text = isinstance(message.get("content"), str) and not any((index, j) in marked for j in range(len(before)))
        same = is_plain_text or all(new is old for new, old in zip(after, before, strict=True))
        out.append(message if same else {**message, "content": after})
    return out


class MarkedParts(Struct, frozen=True):
    """The parts ahead of the messages, with four marks of the prompt cache at most; these marks; and the changes that
    removed others."""

    tools: list[JsonValue]
    system: JsonValue
    marks: tuple[JsonObject, ...]
    changes: tuple[Change, ...] = ()


def limit_marks(tools: Sequence[JsonObject], system: JsonValue, rules: CacheRules, *, line: str = "") -> MarkedParts:
    """The tools and the system prompt with the last four of their marks; with none if the rules switch marks off."""
    parts: dict[str, list[JsonValue]] = {"tools": [*tools], "system": [*system] if isinstance(system, list) else []}
    entries = [(name, at, object_of(entry)) for name, part in parts.items() for at, entry in enumerate(part)]
    marked = [(name, at, entry) for name, at, entry in entries if isinstance(entry.get("cache_control"), dict)]
    most = max(0, room_for_marks(rules, line, ()))
    surplus = marked[: max(0, len(marked) - most)]
    for name, at, entry in surplus:
        parts[name][at] = _with_mark(entry, None)
    why = SURPLUS if most else OFF
    return MarkedParts(
        parts["tools"],
        parts["system"] if isinstance(system, list) else system,
        tuple(object_of(entry["cache_control"]) for _, _, entry in marked[len(surplus) :]),
        tuple(Change(STEP, f"{name}.{at}.cache_control", "removed", why) for name, at, _ in surplus),
    )


def _blocks(message: JsonObject) -> list[JsonValue]:
    content = message.get("content")
    return content if isinstance(content, list) else [{"type": "text", "text": content}] if content else []


def _with_mark(block: JsonValue, mark: JsonObject | None) -> JsonValue:
    """The block with this mark, or with none. It covers what the block holds, so marks inside a tool result go."""
    if not isinstance(block, dict):
        return block
    held = block.get("content") if block.get("type") == "tool_result" else None
    if isinstance(held, list) and any("cache_control" in object_of(each) for each in held):
        block = {**block, "content": [_with_mark(each, None) for each in held]}
    if block.get("cache_control") == mark:
        return block
    plain = {key: value for key, value in block.items() if key != "cache_control"}
    return plain if mark is None else {**plain, "cache_control": mark}
