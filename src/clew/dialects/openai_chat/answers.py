"""Answers in one piece: read from backends, and written for clients.

An answer of a backend is decoded as a stream of one chunk, so that there is one reading of the protocol and not two.
"""

from __future__ import annotations

from clew.dialects.failures.reading import UNREADABLE, failure_in
from clew.dialects.openai_chat.client_parts import calls_of, detail_of
from clew.dialects.openai_chat.detail import chat_detail
from clew.dialects.openai_chat.endings import chat_usage, finish_reason_of
from clew.dialects.openai_chat.options import ChatOptions
from clew.dialects.openai_chat.stream_chunks import chunk_of
from clew.dialects.openai_chat.stream_decoder import AnswerDecoder
from clew.dialects.shape import AnswerContext, Operation
from clew.model.assemble import Assembler
from clew.model.change import broken_calls
from clew.model.events import StreamFailed
from clew.model.failure import Failure
from clew.model.json import JsonObject, JsonValue, encoded, object_of, objects_of, read_object, text_of
from clew.model.tokens import OUTPUT_ESTIMATED


def read_answer(
    raw: bytes, operation: Operation, context: AnswerContext, options: ChatOptions
) -> JsonObject | StreamFailed | None:
    """The message, or the failure that the body reports."""
    found = read_message(raw, context, options)
    return found.event() if isinstance(found, Failure) else found


def read_message(body: bytes, context: AnswerContext, options: ChatOptions) -> JsonObject | Failure:
    """The message in a body that came with 200, with what its maker needs back as signatures; or why there is none."""
    value = read_object(body)
    if value is None:
        return UNREADABLE
    if (failure := failure_in(value)) is not None:
        return failure
    decoder = AnswerDecoder(context, options.answer)
    choices: list[JsonValue] = []
    for choice in objects_of(value.get("choices")):
        # The whole message is the only delta. Its calls are told apart by their order.
        message = object_of(choice.get("message"))
        calls: list[JsonValue] = [{**call, "index": at} for at, call in enumerate(objects_of(message.get("tool_calls")))]
        choices.append({**choice, "delta": {**message, "tool_calls": calls}})
    decoder.take(chunk_of({**value, "choices": choices}))
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


def completion_id(context: AnswerContext) -> str:
    """The id of an answer, as clients of this dialect know ids."""
    return f"chatcmpl-{context.message_id.removeprefix('msg_')}"


def write_answer(message: JsonObject, context: AnswerContext) -> bytes:
    """A canonical message as a whole completion."""
    blocks, usage = objects_of(message.get("content")), object_of(message.get("usage"))
    choice: JsonObject = {
        "index": 0,
        "message": _chat_message(blocks, context),
        "logprobs": None,
        "finish_reason": finish_reason_of(text_of(message.get("stop_reason")), chat_detail(context.native)),
    }
    return encoded(
        {
            "id": completion_id(context),
            "object": "chat.completion",
            "created": context.created,
            "model": context.model,
            "choices": [choice],
            **({} if OUTPUT_ESTIMATED in usage else {"usage": chat_usage(usage)}),
        }
    )


def _chat_message(blocks: list[JsonObject], context: AnswerContext) -> JsonObject:
    text, thought = "", ""
    calls: list[JsonObject] = []
    details: list[JsonValue] = []
    for block in blocks:
        match block.get("type"):
            case "text":
                text += text_of(block.get("text"))
            case "thinking" | "redacted_thinking":
                thought += text_of(block.get("thinking"))
                if (detail := detail_of(block, len(details))) is not None:
                    details.append(detail)
            case "tool_use":
                calls.append(block)
            case kind:
                context.unsaid(str(kind))
    said: JsonObject = {"role": "assistant", "content": text or (None if calls else ""), "refusal": None}
    said |= {"reasoning_content": thought, "reasoning": thought} if thought else {}
    said |= {"reasoning_details": details} if details else {}
    return {**said, **calls_of(calls, context)}
