"""Answers in one piece: read from backends, and written for clients.

Either way the stream's own code does it: a whole answer is a stream of which only the last event is there. So an answer has
the same items, with the same ids, however it was asked for.
"""

from __future__ import annotations

from msgspec import structs

from clew.dialects.failures.reading import UNREADABLE, failure_in
from clew.dialects.openai_responses.counting import read_count
from clew.dialects.openai_responses.options import ResponsesOptions
from clew.dialects.openai_responses.stream_decoder import ResponseDecoder
from clew.dialects.openai_responses.stream_writer import ResponsesStreamWriter
from clew.dialects.shape import AnswerContext, Operation, SentEvents
from clew.model.assemble import Assembler
from clew.model.change import broken_calls
from clew.model.events import StreamFailed
from clew.model.failure import Failure
from clew.model.json import JsonObject, JsonValue, objects_of, read_object
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
