"""The dialect `openai-chat`: Chat Completions."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from clew.dialects.failures.reading import failure_of
from clew.dialects.openai_chat.answers import read_message
from clew.dialects.openai_chat.heads import response_headers
from clew.dialects.openai_chat.options import ChatOptions, options_of
from clew.dialects.openai_chat.repairs import REPAIRS
from clew.dialects.openai_chat.requests import write_request
from clew.dialects.openai_chat.streams import ChatStreamReader
from clew.dialects.shape import (
    AnswerContext,
    BackendHeaders,
    BackendRefusal,
    ClientSession,
    Dialect,
    Operation,
)
from clew.model.events import StreamFailed
from clew.model.failure import Failure
from clew.model.json import JsonObject

__all__ = ["DIALECT", "ChatOptions"]


def read_answer(
    raw: bytes, operation: Operation, context: AnswerContext, options: ChatOptions
) -> JsonObject | StreamFailed | None:
    found = read_message(raw, context, options)
    return found.event() if isinstance(found, Failure) else found


def read_error(status: int, headers: BackendHeaders, body: bytes, options: ChatOptions) -> BackendRefusal:
    failure = failure_of(status, body)
    request_id = dict(response_headers(headers, wall=0)).get("request-id")
    document = msgspec.json.encode({"type": "error", "error": failure.error(), "request_id": request_id})
    return BackendRefusal(failure.status, document, failure.wait, is_canonical=True)


def _none(*_: Any) -> Any:
    raise NotImplementedError


DIALECT: Final = Dialect[ChatOptions](
    name="openai-chat",
    routes={},
    session_of=lambda headers: ClientSession(),
    read_request=_none,
    stream_writer=_none,
    keep_alive=b": keep-alive\n\n",
    write_answer=_none,
    write_error=_none,
    paths={"messages": "/chat/completions"},
    request_headers=lambda headers, request, options: ((b"user-agent", b"clew"),),
    write_request=write_request,
    stream_reader=ChatStreamReader,
    read_answer=read_answer,
    read_error=read_error,
    response_headers=lambda headers, wall: response_headers(headers, wall=wall),
    always_returns_payloads=True,
    options_of=options_of,
    passthrough=lambda options: None,
    repairs=REPAIRS,
)
