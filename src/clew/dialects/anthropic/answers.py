"""Answers of the Messages API in one piece, and its errors, into whose words another vendor's are put.

Clients decide by errors: Claude Code by the status, the SDKs by the type. An error of clew's own has the same shape, so that
no client needs to know that there is a gateway in between.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Struct

from clew.dialects.anthropic.requests import AnthropicOptions
from clew.dialects.failures.reading import failure_in, failure_of, said_wait
from clew.dialects.headers import response_headers
from clew.dialects.shape import AnswerContext, BackendHeaders, BackendRefusal, Operation
from clew.model.events import StreamFailed
from clew.model.facts.failures import usual_status
from clew.model.failure import Failure
from clew.model.http import NO_WAIT
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


_WAITING: Final = frozenset({429, 503, 529})


class _Error(Struct):
    type: str
    message: str


class _Document(Struct):
    error: _Error


_document = msgspec.json.Decoder(_Document)


def write_error(failure: Failure, request_id: str | None) -> bytes:
    return msgspec.json.encode({"type": "error", "error": failure.error(), "request_id": request_id})


def read_error(status: int, headers: BackendHeaders, body: bytes, options: AnthropicOptions) -> BackendRefusal:
    """As it came, with the wait that only its words name: aggregators speak this dialect too. A vendor that is not Anthropic
    has shapes, statuses and words of its own, which no client reads: those are replaced."""
    if not options.is_first_party and status >= 400:
        failure = failure_of(status, body)
        is_right = failure.status in (status, usual_status(status)) and _message_in(body).startswith(failure.message)
        if not is_right:  # the message may be cut, so it is compared by its beginning
            request_id = dict(response_headers(headers)).get("request-id")
            return BackendRefusal(failure.status, write_error(failure, request_id), failure.wait, is_canonical=True)
    return BackendRefusal(status, body, said_wait(body) if status in _WAITING else NO_WAIT)


def _message_in(body: bytes) -> str:
    """The message of an error in Anthropic's shape; "" where there is none."""
    try:
        return _document.decode(body).error.message
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ""
