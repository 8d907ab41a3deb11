"""Puts a stream of the Responses API together as the official clients do, and fails wherever one of them would.

What each of them refuses was measured: a first event that is not `response.created`, an event of a type that they do not know, a
delta whose item or part was not announced, an id that changes, a place that is used twice, an item that is never done.
"""

from __future__ import annotations

import json
from typing import Any

from clew.wire.sse import SseReader

Json = dict[str, Any]

_TEXTS = {
    "response.output_text": ("content", "text", "output_text"),
    "response.refusal": ("content", "refusal", "refusal"),
    "response.reasoning_summary_text": ("summary", "text", "summary_text"),
}
_CALLS = {"response.function_call_arguments": "arguments", "response.custom_tool_call_input": "input"}
_PARTS = {"response.content_part": "content", "response.reasoning_summary_part": "summary"}
_HOSTED = ("response.web_search_call", "response.image_generation_call", "response.code_interpreter_call")
"""Events about tools that the vendor runs: the clients pass them on."""
ENDS = ("response.completed", "response.incomplete", "response.failed")


class ApiError(Exception):
    """The stream reports an error."""


def events_in(stream: bytes) -> list[Json]:
    """The events; their names are their types, and they are numbered without a gap."""
    found: list[Json] = []
    for number, sse in enumerate(SseReader().feed(stream)):
        event = json.loads(sse.data)
        assert event["type"].encode() == sse.name
        assert event["sequence_number"] == number
        found.append(event)
    return found


def accumulated(stream: bytes) -> Json:
    """The final response. Raises ApiError."""
    events = events_in(stream)
    assert [event["type"] for event in events[:2]] == ["response.created", "response.in_progress"]
    response_id = events[0]["response"]["id"]
    items: dict[int, Json] = {}
    finished: set[int] = set()
    for event in events[2:]:
        kind = event["type"]
        if kind == "error":
            assert {name: event[name] for name in ("code", "message", "param")}.items() <= event["error"].items()
            raise ApiError(event["message"])
        if kind in ENDS:
            assert event is events[-1]
            assert event["response"]["id"] == response_id
            if kind == "response.completed":
                assert finished == set(items), "every item is done"
                assert event["response"]["output"] == [items[at] for at in sorted(items)]
            return event["response"]
        if kind != "keepalive":
            _take(event, items, finished)
    raise AssertionError("the stream has no end")


def _take(event: Json, items: dict[int, Json], finished: set[int]) -> None:
    kind, at = event["type"], event["output_index"]
    if kind == "response.output_item.added":
        assert at not in items
        items[at] = event["item"]
        return
    item = items[at]
    assert at not in finished
    if kind == "response.output_item.done":
        assert item["id"] == event["item"]["id"]
        _same(item, event["item"])
        items[at] = event["item"]
        finished.add(at)
        return
    assert event["item_id"] == item["id"]
    base, _, what = kind.rpartition(".")
    if base in _HOSTED:
        return
    if base in _PARTS:
        _take_part(event, item[_PARTS[base]], what)
    elif base in _TEXTS:
        member, text, part_type = _TEXTS[base]
        part = item[member][event["content_index" if member == "content" else "summary_index"]]
        assert part["type"] == part_type
        _take_text(event, part, text, what)
    else:
        _take_text(event, item, _CALLS[base], what)


def _take_part(event: Json, parts: list[Json], what: str) -> None:
    index: int = event["content_index" if "content_index" in event else "summary_index"]
    if what == "added":
        assert index == len(parts)
        parts.append(event["part"])
    else:
        member = "text" if "text" in event["part"] else "refusal"
        assert parts[index][member] == event["part"][member]
        parts[index] = event["part"]


def _take_text(event: Json, holder: Json, member: str, what: str) -> None:
    if what == "delta":
        assert isinstance(event["delta"], str)
        assert event["delta"]
        holder[member] += event["delta"]
    else:
        assert event[member] == holder[member]


def _same(begun: Json, whole: Json) -> None:
    for member in ("content", "summary", "arguments", "input", "name", "call_id", "namespace", "type"):
        assert begun.get(member) == whole.get(member)
