"""The AI SDK's UI message stream, version 1: parts as JSON objects, and how they go over a wire.

A stream tells one message of the assistant. It begins with `start`; each model call is a step, from `start-step` to
`finish-step`; text, reasoning and calls are parts with ids of their own inside it. What is whole was ended: a part that was
begun and never ended is one that broke off.
"""

from __future__ import annotations

import json
from typing import Final, TypeAlias

import msgspec

from clew.model.json import JsonObject

__all__ = ["DONE", "MEDIA_TYPE", "PING", "Part", "finish_reason", "framed", "ui_headers"]

Part: TypeAlias = JsonObject
"""One part of the stream: `{"type": "text-delta", "id": …, "delta": …}` and the like."""

MEDIA_TYPE: Final = "text/event-stream"
DONE: Final = b"data: [DONE]\n\n"
PING: Final = b": still here\n\n"

_REASONS: Final = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool-calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content-filter",
}


def ui_headers() -> dict[str, str]:
    """The headers of a stream: what the client looks for, and what keeps proxies from collecting it.

    >>> ui_headers()["x-vercel-ai-ui-message-stream"]
    'v1'
    """
    return {"x-vercel-ai-ui-message-stream": "v1", "x-accel-buffering": "no", "cache-control": "no-cache, no-store"}


def framed(part: Part) -> bytes:
    """A part as one event of SSE. JSON has no raw line ends, so one line holds it.

    >>> framed({"type": "start"})
    b'data: {"type":"start"}\\n\\n'
    """
    try:
        return b"data: %b\n\n" % msgspec.json.encode(part)
    except UnicodeEncodeError:  # half a character, which JSON can say as an escape, and JavaScript can hold
        return b"data: %b\n\n" % json.dumps(part).encode()


def finish_reason(stop_reason: str | None) -> str:
    """A stop reason of the Messages API in the words of the AI SDK.

    >>> finish_reason("tool_use"), finish_reason("pause_turn")
    ('tool-calls', 'other')
    """
    return _REASONS.get(stop_reason or "", "other")
