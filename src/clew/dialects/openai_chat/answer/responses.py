"""A whole answer: the message that the same answer would have told as a stream.

It is decoded as a stream of one chunk, so that there is one reading of the protocol and not two.
"""

from __future__ import annotations

from msgspec import Struct

from clew.dialects.failures.reading import UNREADABLE
from clew.dialects.openai_chat.answer.decoder import Asked, ChatDecoder
from clew.dialects.openai_chat.answer.scribes import EventScribe
from clew.dialects.openai_chat.options import ChatAnswerOptions
from clew.model.assemble import Assembler
from clew.model.broken_calls import broken_calls
from clew.model.failure import Failure
from clew.model.json import JsonObject, JsonValue
from clew.model.loose_json import object_of, objects_of, read_object

__all__ = ["Answer", "answer_of"]


class Answer(Struct, frozen=True):
    """The message, and what a stream of it would have shown beside it."""

    message: JsonObject
    payloads: dict[int, JsonObject]
    wire_ids: dict[str, str]


def answer_of(body: bytes, asked: Asked, speech: ChatAnswerOptions | None = None) -> Answer | Failure:
    """The answer in a body that came with 200; a failure if it holds an error, or no answer at all."""
    value = read_object(body)
    if value is None:
        return UNREADABLE
    scribe = EventScribe()
    decoder = ChatDecoder(asked, speech or ChatAnswerOptions(), scribe)
    decoder.take({**value, "choices": [_as_delta(choice) for choice in objects_of(value.get("choices"))]})
    decoder.end()
    if decoder.failure is not None:
        return decoder.failure
    assembler = Assembler()
    for event in scribe.told:
        assembler.feed(event)
    message = assembler.message()
    if broken := broken_calls(message, assembler.blocks()):
        return Failure(502, "api_error", str(broken[0]))
    return Answer(message, decoder.payloads, decoder.wire_ids)


def _as_delta(choice: JsonObject) -> JsonObject:
    """A whole message as the only delta. Its calls are told apart by their order."""
    message = object_of(choice.get("message"))
    calls: list[JsonValue] = [{**call, "index": at} for at, call in enumerate(objects_of(message.get("tool_calls")))]
    return {**choice, "delta": {**message, "tool_calls": calls}}
