"""Answers in one piece: read from backends as the message that the same answer would have told as a stream.

An answer is decoded as a stream of one chunk, so that there is one reading of the protocol and not two.
"""

from __future__ import annotations

from clew.dialects.failures.reading import UNREADABLE, failure_in
from clew.dialects.openai_chat.options import ChatOptions
from clew.dialects.openai_chat.stream_chunks import chunk_of
from clew.dialects.openai_chat.stream_decoder import AnswerDecoder
from clew.dialects.shape import AnswerContext
from clew.model.assemble import Assembler
from clew.model.broken_calls import broken_calls
from clew.model.failure import Failure
from clew.model.json import JsonObject, JsonValue
from clew.model.loose_json import object_of, objects_of, read_object

__all__ = ["read_message"]


def read_message(body: bytes, context: AnswerContext, options: ChatOptions) -> JsonObject | Failure:
    """The message in a body that came with 200, with what its maker needs back as signatures; or why there is none."""
    value = read_object(body)
    if value is None:
        return UNREADABLE
    if (failure := failure_in(value)) is not None:
        return failure
    decoder = AnswerDecoder(context, options.answer)
    decoder.take(chunk_of({**value, "choices": [_as_delta(choice) for choice in objects_of(value.get("choices"))]}))
    decoder.end()
    if decoder.failure is not None:
        return decoder.failure
    assembler = Assembler()
    for event in decoder.take_events():
        assembler.feed(event)
    message = assembler.message()
    if broken := broken_calls(message, assembler.blocks()):
        return Failure(502, "api_error", str(broken[0]))
    return message


def _as_delta(choice: JsonObject) -> JsonObject:
    """The choice with its whole message as the only delta. Its calls are told apart by their order."""
    message = object_of(choice.get("message"))
    calls: list[JsonValue] = [{**call, "index": at} for at, call in enumerate(objects_of(message.get("tool_calls")))]
    return {**choice, "delta": {**message, "tool_calls": calls}}
