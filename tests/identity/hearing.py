"""How Claude Code reads a stream: which blocks it holds afterwards.

It is lenient about order and strict in odd places: what stands in a block's start is lost, only the last signature counts,
and a block whose stop never comes has never been. (An invalid tool input is kept as its text, for `answers` to wrap.)
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tests.build import Json

_EMPTY: dict[str, Json] = {
    "thinking": {"thinking": "", "signature": ""},
    "text": {"text": ""},
    "tool_use": {"input": ""},
}
_GROWING = {"thinking_delta": "thinking", "text_delta": "text", "input_json_delta": "partial_json"}


def heard(events: Iterable[Json]) -> list[Json]:
    """The blocks, in the order in which they were finished."""
    growing: dict[int, Json] = {}
    finished: list[Json] = []
    for event in events:
        match event:
            case {"type": "content_block_start", "index": int(index), "content_block": block}:
                growing[index] = {**block, **_EMPTY.get(block["type"], {})}
            case {"type": "content_block_delta", "index": int(index), "delta": delta} if index in growing:
                _grow(growing[index], delta)
            case {"type": "content_block_stop", "index": int(index)} if index in growing:
                finished.append(_finished(growing.pop(index)))
            case _:
                pass
    return finished


def _grow(block: Json, delta: Json) -> None:
    if delta["type"] == "signature_delta":
        block["signature"] = delta["signature"]
    elif field := _GROWING.get(delta["type"]):
        block["input" if field == "partial_json" else field] += delta[field]


def _finished(block: Json) -> Json:
    return {**block, "input": _parsed(block["input"])} if block["type"] == "tool_use" else block


def _parsed(words: str) -> Any:
    try:
        return json.loads(words or "{}")
    except ValueError:
        return words
