"""What the official clients make of a stream of Chat Completions, written down independently of the code under test.

`joined` follows the Python SDK: strings of the same place are joined, entries of lists are merged by their `index`, and an
entry without one is an error. `newest` follows the Node SDK for members that it does not know: the last value counts.
"""

from __future__ import annotations

import json
from typing import Any

__all__ = ["ApiError", "chunks_of", "joined", "newest"]


class ApiError(Exception):
    """The stream held an error."""


def chunks_of(stream: bytes) -> list[dict[str, Any]]:
    """The chunks, as an SSE client reads them. Raises ApiError; comments are skipped."""
    chunks: list[dict[str, Any]] = []
    for event in stream.decode().split("\n\n"):
        lines = [line for line in event.split("\n") if line and not line.startswith(":")]
        data = "\n".join(line.removeprefix("data: ") for line in lines)
        if data == "[DONE]":
            return chunks
        if data:
            chunk = json.loads(data)
            if "error" in chunk:
                raise ApiError(chunk["error"]["message"])
            chunks.append(chunk)
    return chunks


def joined(chunks: list[dict[str, Any]]) -> dict[str, Any]:
    """The message, its finish reason and its usage."""
    message: dict[str, Any] = {}
    finish = None
    for chunk in chunks:
        for choice in chunk["choices"]:
            message = _merge(message, choice["delta"])
            if choice["finish_reason"]:
                assert finish is None, "one finish reason"
                finish = choice["finish_reason"]
    return {"message": message, "finish_reason": finish, "usage": chunks[-1].get("usage") if chunks else None}


def newest(chunks: list[dict[str, Any]], name: str) -> Any:
    values = [choice["delta"][name] for chunk in chunks for choice in chunk["choices"] if name in choice["delta"]]
    return values[-1] if values else None


def _merge(before: dict[str, Any], delta: dict[str, Any]) -> dict[str, Any]:
    merged = dict(before)
    for key, value in delta.items():
        own = merged.get(key)
        if own is None or key in ("index", "type"):
            merged[key] = _indexed([], value) if isinstance(value, list) else value
        elif isinstance(own, str):
            merged[key] = own + value
        elif isinstance(own, dict):
            merged[key] = _merge(own, value)
        elif isinstance(own, list):
            merged[key] = _indexed(own, value)
    return merged


def _indexed(own: list[Any], entries: list[Any]) -> list[Any]:
    merged = list(own)
    for entry in entries:
        place = entry["index"]  # the SDK fails where there is none
        if place < len(merged):
            merged[place] = _merge(merged[place], entry)
        else:
            assert place == len(merged), "indices have no gaps"
            merged.append(entry)
    return merged
