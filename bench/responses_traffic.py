"""The bench's answer in the words of the Responses API, as OpenAI streams it: a thought, then a text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

__all__ = ["response_events"]

_BLOB = "gAAAAA"
_OBFUSCATION = "a0B1c2D3e4F5"


def response_events(thoughts: Sequence[str], texts: Sequence[str], stamp: str) -> list[str]:
    """The events of an answer that thinks and says this, in deltas. `stamp` makes its ids unique."""
    thought = {"id": f"rs_{stamp}", "type": "reasoning", "summary": [], "encrypted_content": _BLOB + stamp}
    summary = [{"type": "summary_text", "text": "".join(thoughts)}]
    message = {"id": f"msg_{stamp}", "type": "message", "status": "in_progress", "role": "assistant", "content": []}
    said = {"type": "output_text", "text": "".join(texts), "annotations": [], "logprobs": []}
    output = [{**thought, "summary": summary}, {**message, "status": "completed", "content": [said]}]
    usage = {"input_tokens": 2095, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 800}
    usage |= {"output_tokens_details": {"reasoning_tokens": 400}, "total_tokens": 2895}
    events = [
        _event("response.created", response=_response(stamp, "in_progress", [], None)),
        _event("response.in_progress", response=_response(stamp, "in_progress", [], None)),
        *_item(0, thought, output[0], list(_thought(stamp, thoughts, summary[0]))),
        *_item(1, message, output[1], list(_text(stamp, texts, said))),
        _event("response.completed", response=_response(stamp, "completed", output, usage)),
    ]
    return [_written({**event, "sequence_number": number}) for number, event in enumerate(events)]


def _item(index: int, begun: dict[str, Any], whole: dict[str, Any], events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    place = {"output_index": index}
    told = [event | place for event in events]
    added, done = _event("response.output_item.added", item=begun), _event("response.output_item.done", item=whole)
    return [added | place, *told, done | place]


def _thought(stamp: str, words: Sequence[str], part: dict[str, Any]) -> Iterator[dict[str, Any]]:
    place = {"item_id": f"rs_{stamp}", "summary_index": 0}
    yield _event("response.reasoning_summary_part.added", **place, part={**part, "text": ""})
    for each in words:
        yield _event("response.reasoning_summary_text.delta", **place, delta=each, obfuscation=_OBFUSCATION)
    yield _event("response.reasoning_summary_text.done", **place, text=part["text"])
    yield _event("response.reasoning_summary_part.done", **place, part=part)


def _text(stamp: str, words: Sequence[str], part: dict[str, Any]) -> Iterator[dict[str, Any]]:
    place = {"item_id": f"msg_{stamp}", "content_index": 0}
    yield _event("response.content_part.added", **place, part={**part, "text": ""})
    for each in words:
        yield _event("response.output_text.delta", **place, delta=each, logprobs=[], obfuscation=_OBFUSCATION)
    yield _event("response.output_text.done", **place, text=part["text"], logprobs=[])
    yield _event("response.content_part.done", **place, part=part)


def _response(stamp: str, status: str, output: list[Any], usage: dict[str, Any] | None) -> dict[str, Any]:
    named = {"id": f"resp_{stamp}", "object": "response", "created_at": 1790000000, "status": status, "error": None}
    asked = {"model": "gpt-5.5", "tools": [], "tool_choice": "auto", "metadata": {}, "store": False}
    return {**named, "incomplete_details": None, **asked, "output": output, "usage": usage}


def _event(kind: str, **members: Any) -> dict[str, Any]:
    return {"type": kind, **members}


def _written(event: dict[str, Any]) -> str:
    return f"event: {event['type']}\ndata: {json.dumps(event, separators=(',', ':'), ensure_ascii=False)}\n\n"
