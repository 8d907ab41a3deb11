"""What it costs to read a stream in one dialect and to write it in another, against passing it.

`cases()` returns functions to be timed in turn; each works through the same answer of 300 events with a read for each event,
and puts it together at the end, as the gateway does.
"""

from __future__ import annotations

from collections.abc import Callable

import sse
from clew.dialects.anthropic.passthrough import PASSTHROUGH
from clew.dialects.anthropic.requests import AnthropicOptions
from clew.dialects.anthropic.streams import AnthropicStreamReader, AnthropicStreamWriter
from clew.dialects.openai_chat import ChatOptions
from clew.dialects.openai_chat.streams import ChatStreamReader, ChatStreamWriter
from clew.dialects.openai_responses.options import ResponsesOptions
from clew.dialects.openai_responses.passed_deltas import passed_deltas
from clew.dialects.openai_responses.stream_writer import ResponsesStreamWriter
from clew.dialects.openai_responses.streams import ResponsesStreamReader
from clew.dialects.shape import AnswerContext, StreamReader, StreamWriter
from clew.model.origin import Origin
from clew.pipeline.stream.answer_stream import AnswerStream
from clew.pipeline.stream.client_view import ClientView, ViewOptions
from clew.pipeline.stream.passthrough import PassedAnswer
from clew.pipeline.stream.translation import TranslatedAnswer
from clew.wire.events import decode_event
from clew.wire.sse import SseReader

__all__ = ["cases"]

_MODEL = "claude-opus-5-5"
_WEAR = ViewOptions(model=_MODEL, exchange="x1", origin=Origin(realm="anthropic", backend="claude", model=_MODEL))

Reads = list[bytes]


def cases() -> dict[str, Callable[[], object]]:
    """Named functions, the baseline first."""
    messages = sse.stream()
    chat, responses = _written(messages, ChatStreamWriter(_context())), _written(messages, ResponsesStreamWriter(_context()))
    return {
        "Messages, passed": lambda: _run(messages, PassedAnswer(ClientView(_WEAR), PASSTHROUGH)),
        "Chat to Messages": lambda: _translate(chat, _chat(), AnthropicStreamWriter(_context())),
        "Messages to Chat": lambda: _translate(messages, _anthropic(), ChatStreamWriter(_context())),
        "Responses to Messages": lambda: _translate(responses, _responses(), AnthropicStreamWriter(_context())),
        "Messages to Responses": lambda: _translate(messages, _anthropic(), ResponsesStreamWriter(_context())),
        "Responses to Responses": lambda: _pass(responses, _responses(), ResponsesStreamWriter(_context())),
    }


def _context() -> AnswerContext:
    return AnswerContext(model=_MODEL, message_id="msg_x1")


def _chat() -> StreamReader:
    return ChatStreamReader(_context(), ChatOptions())


def _anthropic() -> StreamReader:
    return AnthropicStreamReader(_context(), AnthropicOptions())


def _responses() -> StreamReader:
    return ResponsesStreamReader(_context(), ResponsesOptions())


def _written(messages: Reads, writer: StreamWriter) -> Reads:
    """The same answer in another dialect, an event in each read."""
    events = [decode_event(event) for event in SseReader().feed(b"".join(messages))]
    told = b"".join(map(writer.write, events))
    return [event + b"\n\n" for event in told.split(b"\n\n")[:-1]]


def _translate(reads: Reads, reader: StreamReader, writer: StreamWriter) -> object:
    return _run(reads, TranslatedAnswer(ClientView(_WEAR), reader, writer))


def _pass(reads: Reads, reader: StreamReader, writer: StreamWriter) -> object:
    return _run(reads, TranslatedAnswer(ClientView(_WEAR), reader, writer, passed=passed_deltas(reader, writer)))


def _run(reads: Reads, answer: AnswerStream) -> object:
    for read in reads:
        answer.feed(read)
    answer.flush()
    return answer.answer()
