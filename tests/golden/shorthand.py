"""Canonical events, one to a line, short enough to be written by hand.

    message                      the message starts, as it was asked for
    ping
    thinking 0 | text 0          a block starts
    tool_use 0 ID NAME
    + "…"                        the open block grows by this JSON string
    stop 0 {…}                   it stops; behind a thought, what its backend needs back
    end REASON ["…"] input=7 …   why it ended, by which stop sequence, and what it cost (what is not named is 0); `about`: the
                                 output is an estimate
    done                         the message stops
    error STATUS TYPE "…"        the stream failed; the status is what a response would have had
    late {…}                     what a backend needs back of a thought that came too late for any block
    id OURS "THEIRS"             a call's id where it is not the backend's own

An event that holds anything that has no place in its line gets that added, so that goldens can be compared as text.
"""

from __future__ import annotations

import json
from typing import Any

from clew.model.events import BlockDelta, BlockStart, BlockStop, Event, MessageDelta, MessageStart, StreamFailed
from tests.dialects.openai_chat.chat import ReadStream

__all__ = ["lines_of", "opening"]

_COUNTS = {
    "input": "input_tokens",
    "cache_write": "cache_creation_input_tokens",
    "cache_read": "cache_read_input_tokens",
    "output": "output_tokens",
}
_PLAIN = {"ping": "ping", "message_stop": "done"}


def opening(model: str, message_id: str, input_tokens: int) -> dict[str, Any]:
    """What `message` stands for."""
    usage = {"input_tokens": input_tokens, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    message = {"id": message_id, "type": "message", "role": "assistant", "content": [], "model": model}
    return {**message, "stop_reason": None, "stop_sequence": None, "usage": {**usage, "output_tokens": 0}}


def lines_of(events: list[Event], stream: ReadStream, asked: dict[str, Any]) -> str:
    """The whole outcome of a stream: its events, and what it keeps beside them."""
    lines = [_line(event, stream, asked) for event in events]
    lines += [f"late {_json(stream.late)}"] if stream.late else []
    lines += [f"id {ours} {_json(theirs)}" for ours, theirs in stream.wire_ids.items()]
    return "\n".join(lines)


def _line(event: Event, stream: ReadStream, asked: dict[str, Any]) -> str:
    match event:
        case MessageStart():
            return "message" if event.message == asked and not event.extra else f"message {_json(event.message)}"
        case BlockStart():
            return _start(event)
        case BlockDelta():
            return f"+ {_json(_grown(event.delta))}"
        case BlockStop():
            return _stop(event, stream)
        case MessageDelta():
            return _end(event)
        case StreamFailed():
            return _failed(event, stream)
        case _:
            return _PLAIN[event.type]


def _start(event: BlockStart) -> str:
    block = dict(event.content_block)
    kind = block.pop("type")
    blank = {"text": {"text": ""}, "thinking": {"thinking": "", "signature": ""}, "tool_use": {"input": {}}}[str(kind)]
    for name, value in blank.items():
        assert block.pop(name) == value, "a block starts empty"
    words = " ".join(str(block.pop(name)) for name in ("id", "name") if name in block)
    return f"{kind} {event.index} {words}".rstrip() + _rest(block)


def _grown(delta: dict[str, Any]) -> Any:
    kinds = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
    return delta[kinds[delta["type"]]]


def _stop(event: BlockStop, stream: ReadStream) -> str:
    payload = stream.payloads.get(event.index)
    return f"stop {event.index}" + (f" {_json(payload)}" if payload else "")


def _failed(event: StreamFailed, stream: ReadStream) -> str:
    error = dict(event.error)
    status = stream.failure.status if stream.failure else 0
    return f"error {status} {error.pop('type')} {_json(error.pop('message'))}{_rest(error)}"


def _end(event: MessageDelta) -> str:
    delta, usage = dict(event.delta), dict(event.usage or {})
    sequence = delta.pop("stop_sequence")
    words = [str(delta.pop("stop_reason")), *([_json(sequence)] if sequence is not None else [])]
    words += [
        f"{short}={count}" for short, name in _COUNTS.items() if (count := usage.pop(name)) or short in ("input", "output")
    ]
    details: Any = usage.pop("output_tokens_details", None)
    words += [f"thinking={details['thinking_tokens']}"] if details else []
    words += ["about"] if usage.pop("output_tokens_estimated", False) else []
    return f"end {' '.join(words)}{_rest({**delta, **usage})}"


def _rest(more: dict[str, Any]) -> str:
    """Whatever nobody expected; it makes the line differ."""
    return f" and {_json(more)}" if more else ""


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
