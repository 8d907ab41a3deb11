"""A message as the events that tell it: the inverse of `assemble`.

Written as a vendor streams: text, thinking, signature and tool input come as deltas, because clients read them only
there; what a block type carries whole is in its start. The end fields and the final usage come in the one
`message_delta`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import msgspec

from clew.model.events import BlockDelta, BlockStart, BlockStop, Event, MessageDelta, MessageStart, MessageStop
from clew.model.json import JsonObject, JsonValue
from clew.model.lifecycle import Family, family_of

_AT_THE_END = ("stop_reason", "stop_sequence", "stop_details", "container", "context_management")
_IN_DELTA = _AT_THE_END[:4]


def events_of(message: JsonObject, *, chunk: int) -> Iterator[Event]:
    """The events of a whole answer, its texts in pieces of `chunk` characters. `assemble(events_of(m)) == m`."""
    assert chunk > 0, "a piece has at least one character"
    content = message.get("content")
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    yield MessageStart(_opening(message, blocks))
    for index, block in enumerate(blocks):
        start, deltas = _UNFOLDS[family_of(str(block["type"]))](block, chunk)
        yield BlockStart(index, start)
        yield from (BlockDelta(index, delta) for delta in deltas)
        yield BlockStop(index)
    usage, edits = message.get("usage"), message.get("context_management")
    yield MessageDelta(
        {name: message[name] for name in _IN_DELTA if name in message},
        {name: value for name, value in usage.items() if value is not None} if isinstance(usage, dict) else None,
        extra={} if edits is None else {"context_management": edits},
    )
    yield MessageStop()


def _opening(message: JsonObject, blocks: list[JsonObject]) -> JsonObject:
    """The message before anything was said: no content, no end, and the model that was asked first."""
    opening: JsonObject = {**message, "content": []}
    opening.update({name: None for name in _AT_THE_END if name in message})
    usage = message.get("usage")
    if isinstance(usage, dict):
        late = {name for name in ("output_tokens_details",) if usage.get(name) is not None}
        early = {name: value for name, value in usage.items() if name not in late}
        opening["usage"] = {**early, "output_tokens": 0} if "output_tokens" in usage else early
    source = next((block.get("from") for block in blocks if block["type"] == "fallback"), None)
    if isinstance(source, dict) and source.get("model"):
        opening["model"] = source["model"]
    return opening


_Unfold: TypeAlias = Callable[[JsonObject, int], tuple[JsonObject, list[JsonObject]]]


def _text(block: JsonObject, chunk: int) -> tuple[JsonObject, list[JsonObject]]:
    start: JsonObject = {**block, "text": ""}
    deltas = _pieces(block.get("text"), chunk, "text_delta", "text")
    citations = block.get("citations")
    if isinstance(citations, list) and citations:
        start["citations"] = []
        deltas += ({"type": "citations_delta", "citation": citation} for citation in citations)
    return start, deltas


def _thinking(block: JsonObject, chunk: int) -> tuple[JsonObject, list[JsonObject]]:
    """Omitted thinking is one empty delta and then the signature, as the vendor's newest streams have it."""
    start: JsonObject = {**block, "thinking": ""}
    signature = block.get("signature")
    deltas = _pieces(block.get("thinking"), chunk, "thinking_delta", "thinking")
    if signature:
        start["signature"] = ""
        deltas = deltas or [{"type": "thinking_delta", "thinking": ""}]
        deltas.append({"type": "signature_delta", "signature": signature})
    return start, deltas


def _input(block: JsonObject, chunk: int) -> tuple[JsonObject, list[JsonObject]]:
    """The first piece is empty, as the vendor sends it; no input at all is nothing but that piece."""
    text = msgspec.json.encode(block.get("input")).decode() if block.get("input") else ""
    first: JsonObject = {"type": "input_json_delta", "partial_json": ""}
    return {**block, "input": {}}, [first, *_pieces(text, chunk, "input_json_delta", "partial_json")]


def _compaction(block: JsonObject, _: int) -> tuple[JsonObject, list[JsonObject]]:
    if block.get("content") is None:
        return block, []
    told = {name: block[name] for name in ("content", "encrypted_content") if name in block}
    start: JsonObject = {name: value for name, value in block.items() if name not in told}
    return {**start, "content": None}, [{"type": "compaction_delta", **told}]


def _whole(block: JsonObject, _: int) -> tuple[JsonObject, list[JsonObject]]:
    return block, []


_UNFOLDS: dict[Family, _Unfold] = {
    Family.TEXT: _text,
    Family.THINKING: _thinking,
    Family.INPUT: _input,
    Family.COMPACTION: _compaction,
    Family.WHOLE: _whole,
    Family.FOREIGN: _whole,
}


def _pieces(text: JsonValue, chunk: int, kind: str, member: str) -> list[JsonObject]:
    whole = str(text or "")
    return [{"type": kind, member: whole[i : i + chunk]} for i in range(0, len(whole), chunk)]
