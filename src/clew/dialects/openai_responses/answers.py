"""Answers in one piece, and counts of tokens: read from backends, and written for clients.

The stream's own code reads and writes an answer: a whole one is a stream of which only the last event is there. So an answer
has the same items, with the same ids, however it was asked for.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Raw, structs

from clew.dialects.failures.reading import UNREADABLE, failure_in
from clew.dialects.openai_responses.options import ResponsesOptions
from clew.dialects.openai_responses.requests import write_request
from clew.dialects.openai_responses.stream_decoder import ResponseDecoder
from clew.dialects.openai_responses.stream_writer import ResponsesStreamWriter
from clew.dialects.shape import AnswerContext, Operation, SentEvents, WrittenRequest
from clew.model.assemble import Assembler
from clew.model.change import broken_calls
from clew.model.events import StreamFailed
from clew.model.failure import Failure
from clew.model.json import JsonObject, JsonValue, objects_of, read_object
from clew.model.request import Request
from clew.model.unfold import events_of

_WHOLE = 1 << 30  # characters of a delta: all that there are


def read_answer(
    raw: bytes, operation: Operation, context: AnswerContext, options: ResponsesOptions
) -> JsonObject | StreamFailed | None:
    """The message, or the failure that the body reports."""
    if operation == "count_tokens":
        return read_count(raw)
    found = read_response(raw, context, options)
    return found.event() if isinstance(found, Failure) else found


def read_response(body: bytes, context: AnswerContext, options: ResponsesOptions) -> JsonObject | Failure:
    """The message in a body that came with 200, with what its maker needs back as signatures; or why there is none."""
    response = read_object(body)
    if response is None:
        return UNREADABLE
    if not isinstance(response.get("output"), list):
        return failure_in(response) or UNREADABLE
    decoder = ResponseDecoder(context, options)
    decoder.end(response)
    if decoder.failure is not None:
        return decoder.failure
    assembler = Assembler()
    for event in decoder.take_events():
        assembler.feed(event)
    message = assembler.message()
    if broken := broken_calls(message, assembler.blocks()):
        return Failure(502, "api_error", str(broken[0]))
    return message


def write_answer(message: JsonObject, context: AnswerContext) -> bytes:
    """A canonical message as a whole response."""
    writer = ResponsesStreamWriter(structs.replace(context, sent=SentEvents()))
    blocks: list[JsonValue] = [block for block in objects_of(message.get("content")) if isinstance(block.get("type"), str)]
    for event in events_of({**message, "content": blocks}, chunk=_WHOLE):
        writer.write(event)
    return writer.response


_COUNTED: Final = frozenset(
    {"model", "input", "instructions", "tools", "tool_choice", "reasoning", "text", "truncation", "parallel_tool_calls"}
)
"""The fields of a request whose tokens are counted. The others are about the answer."""
_fields: Final = msgspec.json.Decoder(dict[str, Raw])


def counts_tokens(options: ResponsesOptions) -> bool:
    return options.counts_tokens


def write_count_request(request: Request, options: ResponsesOptions) -> WrittenRequest:
    """As `write_request`, with nothing about the answer. Raises the same."""
    body, changes = write_request(request, options)
    counted = {name: value for name, value in _fields.decode(body).items() if name in _COUNTED}
    return WrittenRequest(msgspec.json.encode(counted), changes)


def read_count(raw: bytes) -> JsonObject | StreamFailed | None:
    """The count in canonical words; the failure that the body reports; None if it is neither."""
    counted = read_object(raw)
    if counted is None:
        return None
    if isinstance(tokens := counted.get("input_tokens"), int):
        return {"input_tokens": tokens}
    failure = failure_in(counted)
    return failure.event() if failure else None


def write_count(tokens: int) -> bytes:
    return b'{"object":"response.input_tokens","input_tokens":%d}' % tokens
