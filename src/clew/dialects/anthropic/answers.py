"""Answers of the Messages API in one piece."""

from __future__ import annotations

from typing import Final

from clew.dialects.anthropic.options import AnthropicOptions
from clew.dialects.failures.reading import failure_in
from clew.dialects.shape import AnswerContext, Operation
from clew.model.events import StreamFailed
from clew.model.json import JsonObject, encoded, read_json

_NEEDED: Final[dict[Operation, str]] = {"messages": "content", "count_tokens": "input_tokens"}
"""The member that no answer is without. Some vendors answer everything with 200, and report a failure in the body."""


def read_answer(
    raw: bytes, operation: Operation, context: AnswerContext, options: AnthropicOptions
) -> JsonObject | StreamFailed | None:
    try:
        message = read_json(raw)
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict):
        return None
    if message.get("type") == "error" and isinstance(error := message.get("error"), dict):
        return StreamFailed(error)
    if content := message.get(_NEEDED[operation]):
        return message
    if failure := failure_in(message):  # relays have shapes of their own
        return failure.event()
    return None if content is None else message


def write_answer(message: JsonObject, context: AnswerContext) -> bytes:
    return encoded({**message, "model": context.model})
