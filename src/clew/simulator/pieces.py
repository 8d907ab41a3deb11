"""The two forms of each block, whole and streamed (R66)."""

from __future__ import annotations

import msgspec

from clew.model.json import JsonObject
from clew.simulator.answer import Piece

__all__ = ["redacted", "text", "thinking", "tool_use", "whole"]


def whole(block: JsonObject) -> Piece:
    """A block that is complete in its start event."""
    return Piece(block, block)


def redacted(data: str) -> Piece:
    return whole({"type": "redacted_thinking", "data": data})


def text(said: str, chunk: int) -> Piece:
    return Piece(
        block={"type": "text", "text": said},
        start={"type": "text", "text": ""},
        deltas=tuple({"type": "text_delta", "text": part} for part in _parts(said, chunk)),
    )


def thinking(
    shown: str, signature: str | None, chunk: int, *, empty_delta: bool, estimated_tokens: int | None = None
) -> Piece:
    """One signature_delta just before the end; none if the block was cut before it was signed.

    None is for vendors whose blocks have no such key.
    """
    parts = _parts(shown, chunk) or ([""] if empty_delta else [])
    deltas: list[JsonObject] = [{"type": "thinking_delta", "thinking": part} for part in parts]
    if deltas and estimated_tokens is not None:
        deltas[-1]["estimated_tokens"] = estimated_tokens
    if signature:
        deltas.append({"type": "signature_delta", "signature": signature})
    signed: JsonObject = {} if signature is None else {"signature": signature}
    return Piece(
        block={"type": "thinking", "thinking": shown, **signed},
        start={"type": "thinking", "thinking": "", **dict.fromkeys(signed, "")},
        deltas=tuple(deltas),
    )


def tool_use(identity: str, name: str, given: JsonObject, chunk: int, *, closed: bool = True) -> Piece:
    """The first partial_json is empty. A call that was cut ends with its last complete member and has no stop."""
    said = msgspec.json.encode(given).decode()
    if not closed:
        said = said.removesuffix("}").removesuffix("{")
    parts = [""] if said == "{}" else ["", *_parts(said, chunk)]
    head: JsonObject = {"type": "tool_use", "id": identity, "name": name}
    caller: JsonObject = {"type": "direct"}
    return Piece(
        block={**head, "input": given, "caller": caller},
        start={**head, "input": {}, "caller": caller},
        deltas=tuple({"type": "input_json_delta", "partial_json": part} for part in parts),
        closed=closed,
    )


def _parts(said: str, size: int) -> list[str]:
    return [said[place : place + size] for place in range(0, len(said), size)]
