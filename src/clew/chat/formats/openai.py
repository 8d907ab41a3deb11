"""OpenAI's chat messages as JSON, written by the same code that writes requests to such backends.

Reasoning is in it as text (`reasoning_content`), which many backends show and take; signatures have no place there. Reading
puts the messages into Anthropic's words: tool messages become results, calls become tool uses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from clew.chat.formats.anthropic import BRANCHES, ORIGINS, UNKEPT
from clew.chat.formats.documents import document_reader
from clew.chat.formats.resendable import asked_messages, held_blocks, model_of
from clew.chat.formats.shape import UNREADABLE, Format
from clew.chat.formats.turns import answers_in_line
from clew.dialects.openai_chat.request.requests import encode
from clew.dialects.openai_chat.wire import Wire
from clew.errors import ClewError
from clew.model.blocks import FILLER
from clew.model.json import JsonObject, JsonValue
from clew.store.values import Thread, Turn
from clew.wire.requests import parse

__all__ = ["OPENAI_JSON"]

_WIRE: Final = Wire(documents="file")
_REMINDER: Final = re.compile("(<system-reminder>.*?</system-reminder>)", re.DOTALL)
_ASKING: Final = frozenset({"model", "messages"})


def write(thread: Thread, turns: Sequence[Turn]) -> Iterator[bytes]:
    line = answers_in_line(turns)
    messages: list[JsonValue] = [
        message for turn in line for message in (*asked_messages(turn, system=True), *_answer(turn))
    ]
    body: JsonObject = {"model": model_of(line[-1]) if line else "", "max_tokens": 1, "messages": messages}
    yield msgspec.json.encode(_chat(body)) + b"\n"


def _chat(body: JsonObject) -> JsonObject:
    """What cannot be said in chat messages at all is told in the document itself: a conversation is never half of one."""
    try:
        written = msgspec.json.decode(encode(parse(msgspec.json.encode(body)), _WIRE).body, type=JsonObject)
    except ClewError as error:
        return {"model": body["model"], "messages": [], "error": str(error)}
    return {name: value for name, value in written.items() if name in _ASKING}


def _answer(turn: Turn) -> Iterator[JsonObject]:
    if turn.recording is not None:
        blocks = [msgspec.json.decode(raw, type=JsonObject) for raw in held_blocks(turn.recording)]
        content: list[JsonValue] = [_unsigned(block) for block in blocks if block.get("type") != "redacted_thinking"]
        yield {"role": "assistant", "content": content or FILLER}


def _unsigned(block: JsonObject) -> JsonObject:
    return {**block, "signature": ""} if block.get("type") == "thinking" else block


# Reading


def _messages_in(document: JsonObject) -> list[JsonObject]:
    messages = document.get("messages")
    given = [each for each in messages if isinstance(each, dict)] if isinstance(messages, list) else []
    return [_message(each) for each in given]


def _message(message: JsonObject) -> JsonObject:
    role, content = message.get("role"), message.get("content")
    if role == "tool":
        result: JsonValue = {"type": "tool_result", "tool_use_id": message.get("tool_call_id"), "content": _said(content)}
        return {"role": "user", "content": [result]}
    if role == "assistant":
        return {"role": "assistant", "content": [*_thought(message), *_texts(content), *_calls(message)]}
    return {"role": "system" if role == "developer" else role, "content": _asked(content)}


def _asked(content: JsonValue) -> list[JsonValue]:
    """A reminder that was joined to what a person said is a text of its own again, as recognition wants it."""
    if not isinstance(content, str):
        return _texts(content)
    parts = [part.strip() for part in _REMINDER.split(content)]
    return [{"type": "text", "text": part} for part in parts if part]


def _thought(message: JsonObject) -> list[JsonValue]:
    text = message.get("reasoning_content") or message.get("reasoning")
    return [{"type": "thinking", "thinking": text, "signature": ""}] if isinstance(text, str) else []


def _texts(content: JsonValue) -> list[JsonValue]:
    if not isinstance(content, list):
        return [{"type": "text", "text": str(content)}] if content else []
    return [_part(part) for part in content if isinstance(part, dict)]


def _part(part: JsonObject) -> JsonValue:
    """A text or an image; another part as its JSON, so that nothing is lost without a trace."""
    if part.get("type") == "text":
        return {"type": "text", "text": part.get("text")}
    image = part.get("image_url")
    url = image.get("url") if isinstance(image, dict) else None
    if not isinstance(url, str):
        return {"type": "text", "text": msgspec.json.encode(part).decode()}
    kind, mark, data = url.removeprefix("data:").partition(";base64,")
    source: JsonObject = {"type": "base64", "media_type": kind, "data": data} if mark else {"type": "url", "url": url}
    return {"type": "image", "source": source}


def _said(content: JsonValue) -> JsonValue:
    return _texts(content) if isinstance(content, list) else str(content or "")


def _calls(message: JsonObject) -> list[JsonValue]:
    calls = message.get("tool_calls")
    return [_call(each) for each in calls if isinstance(each, dict)] if isinstance(calls, list) else []


def _call(call: JsonObject) -> JsonValue:
    function = call.get("function")
    named = function if isinstance(function, dict) else {}
    return {"type": "tool_use", "id": call.get("id"), "name": named.get("name"), "input": _input(named.get("arguments"))}


def _input(arguments: JsonValue) -> JsonValue:
    """What a model wrote is not always JSON; it is kept all the same."""
    try:
        return msgspec.json.decode(arguments if isinstance(arguments, str) and arguments else "{}", type=JsonObject)
    except UNREADABLE:
        return {"arguments": arguments}


OPENAI_JSON = Format(
    name="openai",
    suffix=".openai.json",
    does="The messages of OpenAI's chat API as one JSON document.",
    losses=(
        BRANCHES,
        "signatures and redacted thinking, so no backend can be given its own thinking back",
        "blocks that chat messages do not have: server tools, citations",
        "cache marks, and fields that need a beta",
        ORIGINS,
        UNKEPT,
    ),
    write=write,
    read=document_reader("openai", _messages_in),
)
