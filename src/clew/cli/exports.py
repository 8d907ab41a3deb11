"""Exports under `clew check`: they end with an answer, which no new model takes as a request, since nobody asked on yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Struct

from clew.chat.formats.anthropic import EXPORT
from clew.errors import RequestInvalid
from clew.model.json import JsonObject, JsonValue
from clew.wire.splice import locate

__all__ = ["NOTE", "gone_on"]

NOTE: Final = "an export that ends with an answer: checked with a question after it"


class _Metadata(Struct, frozen=True):
    user_id: str = ""


class _Message(Struct, frozen=True):
    role: str
    content: JsonValue = None


class _Document(Struct, frozen=True):
    messages: list[_Message]
    metadata: _Metadata = _Metadata()


_document = msgspec.json.Decoder(_Document)


def gone_on(raw: bytes) -> bytes | None:
    """An export with a question after its last answer, or with results for the calls in it; None for anything else."""
    try:
        document = _document.decode(raw)
        _, end = locate(raw, ("messages",))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, RequestInvalid):
        return None
    last = document.messages[-1:]
    if document.metadata.user_id != EXPORT or not last or last[0].role != "assistant":
        return None
    asked = msgspec.json.encode({"role": "user", "content": [*_results(last[0].content)] or "."})
    return b"%b,%b%b" % (raw[: end - 1], asked, raw[end - 1 :])


def _results(content: JsonValue) -> Sequence[JsonObject]:
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    calls = [block.get("id") for block in blocks if block.get("type") == "tool_use"]
    return [{"type": "tool_result", "tool_use_id": id, "content": "."} for id in calls]
