"""Drives the golden cases of the Responses API: its streams to clients of the Messages API, and Messages streams to its clients."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Raw

from clew.dialects.anthropic.answers import write_error
from clew.dialects.anthropic.requests import AnthropicOptions
from clew.dialects.anthropic.streams import AnthropicStreamReader
from clew.dialects.openai_responses.detail import DIALECT_NAME, ClientTool, ResponsesDetail
from clew.dialects.openai_responses.options import ResponsesOptions
from clew.dialects.openai_responses.stream_writer import ResponsesStreamWriter
from clew.dialects.openai_responses.streams import ResponsesStreamReader
from clew.dialects.shape import AnswerContext
from clew.model.failure import Failure
from clew.model.request import NativeRequest
from clew.pipeline.stream.answer_stream import AnswerStream
from clew.pipeline.stream.client_view import ClientView
from clew.pipeline.stream.translation import TranslatedAnswer
from tests.golden.driving import MODEL, wear
from tests.pipeline.stream.wearing import translated_answer

__all__ = ["messages_client", "responses_client"]


def messages_client(*pieces: bytes) -> bytes:
    """What a client of the Messages API gets: a stream, or the status and body of a failure that came before one."""
    context = AnswerContext(model=MODEL, message_id="msg_1", input_tokens=7)
    relay = translated_answer(ClientView(wear(safe_ids=False)), ResponsesStreamReader(context, ResponsesOptions()))
    out = _said_by(relay, pieces)
    failed = relay.failure
    if relay.begun or failed is None:
        return out
    failure = Failure(failed.status, str(failed.error["type"]), str(failed.error["message"]))
    return b"HTTP %d\n%b" % (failure.status, write_error(failure, None))


def responses_client(asked: dict[str, Any], *pieces: bytes) -> bytes:
    """What a client of the Responses API gets for a Messages stream. `asked` says what is special about its request."""
    tools = {name: msgspec.convert(tool, ClientTool) for name, tool in asked.get("tools", {}).items()}
    fields = {name: Raw(msgspec.json.encode(value)) for name, value in asked.get("fields", {}).items()}
    native = NativeRequest(dialect=DIALECT_NAME, raw=b"{}", detail=ResponsesDetail(tools=tools, fields=fields))
    context = AnswerContext(model=MODEL, message_id="msg_x1", created=1700000000, native=native)
    reader, writer = AnthropicStreamReader(context, AnthropicOptions()), ResponsesStreamWriter(context)
    alive = writer.keep_alive() if asked.get("waited") else b""
    return alive + _said_by(TranslatedAnswer(ClientView(wear(safe_ids=False)), reader, writer), pieces)


def _said_by(relay: AnswerStream, pieces: Iterable[bytes]) -> bytes:
    out = b"".join([relay.feed(piece) for piece in pieces])
    return b"".join([out, relay.flush(), *relay.held])
