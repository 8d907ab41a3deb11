"""Answers and errors of the Messages API on the wire: as one JSON body, or as the events of R65 to R67.

The order of keys and the details (the first ping after the first block start, growing usage, an empty first `partial_json`)
are as captured from the vendor. Errors (R62, R69) are a body or a stream event, and have a status.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import msgspec

from clew.model.json import JsonObject
from clew.simulator.answers import AnswerBlock, AnswerItem, ModelAnswer
from clew.simulator.anthropic.memory import CacheUse
from clew.simulator.interfaces import Prompt
from clew.simulator.script import Pause, SendEvent, SendPings
from clew.simulator.steps import Send, Silence, Step, Steps, repeated

# Errors.

_STATUS_OF_TYPE: Final = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "conflict_error": 409,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_TYPE_OF_STATUS: Final = {status: kind for kind, status in _STATUS_OF_TYPE.items()}

_MESSAGES: Final = {
    "authentication_error": "invalid x-api-key",
    "not_found_error": "The requested resource could not be found.",
    "request_too_large": "Request exceeds the maximum size",
    "rate_limit_error": (
        "This request would exceed your organization's rate limit of 30,000 input tokens per minute "
        "(org: 00000000-0000-0000-0000-000000000000, model: claude-opus-4-6). "
        "For details, refer to: https://docs.claude.com/en/api/rate-limits. "
        "You can see the response headers for current usage."
    ),
    "api_error": "Internal server error",
    "overloaded_error": "Overloaded",
}
"""The message of types that always have the same one."""

PING: Final = b'event: ping\ndata: {"type": "ping"}\n\n'


def type_of_status(status: int) -> str:
    """The error type that goes with a status."""
    return _TYPE_OF_STATUS.get(status, "invalid_request_error" if status < 500 else "api_error")


def error_body(kind: str, message: str, request_id: str, code: str = "") -> bytes:
    """An error as the whole body; `code` is its machine code, if it has one.

    The vendor's edge refuses a request that is too large, in a shape of its own. With a code, the refusal is not the edge's.
    """
    error: dict[str, object] = {"type": kind, "message": message}
    if kind == "request_too_large" and not code:
        return msgspec.json.encode({"error": error})
    if code:
        error["details"] = {"error_code": code}
    return msgspec.json.encode({"type": "error", "error": error, "request_id": request_id})


class _AnthropicErrors:
    """Writes the errors of faults as the Messages API does."""

    ping = PING

    def body(self, fault: str, message: str, status: int, request_id: str) -> bytes:
        kind = fault or type_of_status(status)
        return error_body(kind, message or _MESSAGES.get(kind, kind), request_id)

    def event(self, fault: str, message: str, form: str = "", before: Steps = ()) -> bytes:
        kind = fault or "overloaded_error"
        error = {"type": kind, "message": message or _MESSAGES.get(kind, kind)}
        return b"event: error\ndata: " + msgspec.json.encode({"type": "error", "error": error}) + b"\n\n"

    def status(self, fault: str) -> int:
        return _STATUS_OF_TYPE.get(fault or "overloaded_error", 500)


ANTHROPIC_ERRORS: Final = _AnthropicErrors()


# Answers.

_PING: Final = Send(PING, "ping")
_CUMULATIVE: Final = (
    "input_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "output_tokens",
    "output_tokens_details",
)
"""The usage of the last event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageAnswer:
    """A whole answer, to be written as a message or as a stream."""

    id: str
    model: str
    answer: ModelAnswer
    prompt: Prompt
    cache: CacheUse


def message(whole: MessageAnswer) -> JsonObject:
    """The answer as one JSON message."""
    answer = whole.answer
    body = _frame(whole)
    body["content"] = [*answer.content]
    body["stop_reason"] = answer.stop_reason
    body["stop_sequence"] = answer.stop_sequence
    body["stop_details"] = answer.stop_details
    body["usage"] = _usage_at_end(whole)
    if whole.prompt.applied_edits is not None:
        body["context_management"] = {"applied_edits": [*whole.prompt.applied_edits]}
    return body


def events(whole: MessageAnswer) -> Iterator[Step]:
    """The steps that send an answer as a stream."""
    number, end = 0, b"}\n\n"
    for step in _events(whole):
        if isinstance(step, Send) and step.event and whole.answer.padding:
            spaces = b" " * (number * 7 % (whole.answer.padding + 1))
            data = step.data.removesuffix(end) + spaces + end if step.data.endswith(end) else step.data
            step = Send(data, step.event)
            number += 1
        yield step


def _events(whole: MessageAnswer) -> Iterator[Step]:
    yield _event({"type": "message_start", "message": _frame(whole)})
    index, pinged = 0, False
    for item in whole.answer.items:
        for step in _item_steps(item, index):
            yield step
            if not pinged and isinstance(step, Send) and step.event == "content_block_start":
                pinged = True
                yield _PING
        index += isinstance(item, AnswerBlock)
    answer = whole.answer
    usage = _usage_at_end(whole)
    event: JsonObject = {
        "type": "message_delta",
        "delta": {
            "stop_reason": answer.stop_reason,
            "stop_sequence": answer.stop_sequence,
            "stop_details": answer.stop_details,
            "container": None,
        },
        "usage": {name: usage[name] for name in _CUMULATIVE if name in usage},
    }
    if whole.prompt.applied_edits is not None:
        event["context_management"] = {"applied_edits": [*whole.prompt.applied_edits]}
    yield _event(event)
    yield _event({"type": "message_stop"})


def _item_steps(item: AnswerItem, index: int) -> Iterator[Step]:
    match item:
        case AnswerBlock(start=start, deltas=deltas, closed=closed):
            yield _event({"type": "content_block_start", "index": index, "content_block": start})
            for delta in deltas:
                yield _event({"type": "content_block_delta", "index": index, "delta": delta})
            if closed:
                yield _event({"type": "content_block_stop", "index": index})
        case Pause(seconds):
            yield Silence(seconds)
        case SendPings(times, every):
            yield from repeated(_PING, times, every)
        case SendEvent(name, data):
            yield Send(f"event: {name}\ndata: {data}\n\n".encode(), name)


def _frame(whole: MessageAnswer) -> JsonObject:
    frame: JsonObject = {
        "model": whole.model,
        "id": whole.id,
        "type": "message",
        "role": "assistant",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "stop_details": None,
        "container": None,
        "diagnostics": None,
        "usage": _usage_at_start(whole),
    }
    if whole.prompt.transformations is not None:
        frame["input_transformations"] = [*whole.prompt.transformations]
    return frame


def _usage_at_start(whole: MessageAnswer) -> JsonObject:
    cache = whole.cache.within(whole.prompt.input_tokens)
    written = cache.written_5m + cache.written_1h
    usage: JsonObject = {
        "input_tokens": whole.prompt.input_tokens - cache.read - written,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": cache.read,
        "cache_creation": {"ephemeral_5m_input_tokens": cache.written_5m, "ephemeral_1h_input_tokens": cache.written_1h},
        "output_tokens": min(1, whole.answer.output_tokens),
        "service_tier": "standard",
        "inference_geo": "not_available",
    }
    return {**usage, **{name: n for name, n in whole.answer.usage.items() if name in usage and name != "output_tokens"}}


def _usage_at_end(whole: MessageAnswer) -> JsonObject:
    answer = whole.answer
    return {
        **_usage_at_start(whole),
        "output_tokens": answer.usage.get("output_tokens", answer.output_tokens),
        "output_tokens_details": {"thinking_tokens": answer.usage.get("thinking_tokens", answer.thinking_tokens)},
    }


def _event(data: JsonObject) -> Send:
    name = str(data["type"])
    return Send(b"event: " + name.encode() + b"\ndata: " + msgspec.json.encode(data) + b"\n\n", name)
