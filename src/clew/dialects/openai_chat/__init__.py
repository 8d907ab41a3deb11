"""The dialect `openai-chat`: Chat Completions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import msgspec
from msgspec import Struct

from clew.dialects.failures.reading import failure_of
from clew.dialects.openai_chat.answer.decoder import Asked
from clew.dialects.openai_chat.answer.headers import response_headers
from clew.dialects.openai_chat.answer.translate import Translation
from clew.dialects.openai_chat.answer.whole import translated
from clew.dialects.openai_chat.options import ChatOptions, options_of
from clew.dialects.openai_chat.repairs import REPAIRS
from clew.dialects.openai_chat.request_tools import own_name
from clew.dialects.openai_chat.requests import write_request
from clew.dialects.shape import (
    AnswerContext,
    BackendHeaders,
    BackendRefusal,
    ClientSession,
    Dialect,
    Operation,
)
from clew.model.events import Event, StreamFailed
from clew.model.failure import Failure
from clew.model.json import JsonObject

__all__ = ["DIALECT", "ChatOptions"]


class _Stops(Struct):
    stop_sequences: list[str] | None = None


def _asked(context: AnswerContext) -> Asked:
    return Asked(
        model=context.model,
        message_id=context.message_id,
        input_tokens=context.input_tokens,
        stops=_stops(context.document),
        called=partial(own_name, body=context.document),
        unsaid=context.unsaid,
    )


def _stops(body: bytes) -> tuple[str, ...]:
    if b'"stop_sequences"' not in body:
        return ()
    try:
        return tuple(msgspec.json.decode(body, type=_Stops).stop_sequences or ())
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ()


class ChatStreamReader:
    def __init__(self, context: AnswerContext, options: ChatOptions) -> None:
        self._translation = Translation(_asked(context), options.answer, own_ids=context.own_ids)
        self._eager = context.eager

    @property
    def late(self) -> JsonObject | None:
        return self._translation.late

    def begin(self) -> Sequence[Event]:
        return self._translation.begin(eager=self._eager)

    def feed(self, data: bytes) -> Sequence[Event]:
        return self._translation.feed(data)

    def flush(self) -> Sequence[Event]:
        return self._translation.flush()


def read_answer(
    raw: bytes, operation: Operation, context: AnswerContext, options: ChatOptions
) -> JsonObject | StreamFailed | None:
    found = translated(raw, _asked(context), options.answer, own_ids=context.own_ids)
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
