"""OpenAI's chat messages as JSON, written by the same code that writes requests to such backends.

Reasoning is exported as text (`reasoning_content`), which many backends show and accept; there is no place for signatures.
The reader converts messages to Anthropic's form: tool messages become results, calls become tool uses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from clew.chat.formats.anthropic import BRANCHES, ORIGINS, UNKEPT, document_reader, messages_in
from clew.chat.formats.format import UNREADABLE, Format
from clew.chat.formats.stored_turns import answers_in_line, asked_messages, held_blocks, model_of
from clew.dialects.openai_chat.options import ChatOptions, ChatRequestOptions
from clew.dialects.openai_chat.requests import write_request
from clew.errors import ClewError
from clew.model.blocks import FILLER
from clew.model.json import JsonObject, JsonValue
from clew.model.turn import TurnRecord
from clew.store.values import Thread
from clew.wire.requests import parse

_OPTIONS: Final = ChatOptions(ChatRequestOptions(documents="file"))
_REMINDER: Final = re.compile("(<system-reminder>.*?</system-reminder>)", re.DOTALL)


# Writing


def write(thread: Thread, turns: Sequence[TurnRecord]) -> Iterator[bytes]:
    line = answers_in_line(turns)
    messages: list[JsonValue] = []
    for turn in line:
        messages += (*asked_messages(turn, system=True), *_answer_of(turn))
    model = model_of(line[-1]) if line else ""
    body = msgspec.json.encode({"model": model, "max_tokens": 1, "messages": messages})
    try:
        written = msgspec.json.decode(write_request(parse(body), _OPTIONS).body, type=JsonObject)
        document: JsonObject = {name: value for name, value in written.items() if name in ("model", "messages")}
    except ClewError as error:  # a conversation that chat messages cannot hold is reported, and never written in part
        document = {"model": model, "messages": [], "error": str(error)}
    yield msgspec.json.encode(document) + b"\n"


def _answer_of(turn: TurnRecord) -> Iterator[JsonObject]:
    if turn.recording is None:
        return
    content: list[JsonValue] = []
    for block in (msgspec.json.decode(raw, type=JsonObject) for raw in held_blocks(turn.recording)):
        if block.get("type") != "redacted_thinking":
            content.append({**block, "signature": ""} if block.get("type") == "thinking" else block)
    yield {"role": "assistant", "content": content or FILLER}


# Reading


def _anthropic_message(message: JsonObject) -> JsonObject:
    role, content = message.get("role"), message.get("content")
    if role == "tool":
        output = _blocks(content) if isinstance(content, list) else str(content or "")
        result: JsonValue = {"type": "tool_result", "tool_use_id": message.get("tool_call_id"), "content": output}
        return {"role": "user", "content": [result]}
    if role == "assistant":
        reasoning = message.get("reasoning_content") or message.get("reasoning")
        thinking: JsonValue = {"type": "thinking", "thinking": reasoning, "signature": ""}
        said = [*_blocks(content), *_tool_uses(message)]
        return {"role": "assistant", "content": [thinking, *said] if isinstance(reasoning, str) else said}
    if isinstance(content, str):
        # A reminder that was joined to the user's words becomes a text of its own again: recognition needs it so.
        parts = [part.strip() for part in _REMINDER.split(content)]
        asked: list[JsonValue] = [{"type": "text", "text": part} for part in parts if part]
    else:
        asked = _blocks(content)
    return {"role": "system" if role == "developer" else role, "content": asked}


def _blocks(content: JsonValue) -> list[JsonValue]:
    if not isinstance(content, list):
        return [{"type": "text", "text": str(content)}] if content else []
    return [_block(part) for part in content if isinstance(part, dict)]


def _block(part: JsonObject) -> JsonValue:
    """A text or an image. Any other part becomes its JSON as text, so that no content is lost."""
    if part.get("type") == "text":
        return {"type": "text", "text": part.get("text")}
    image = part.get("image_url")
    url = image.get("url") if isinstance(image, dict) else None
    if not isinstance(url, str):
        return {"type": "text", "text": msgspec.json.encode(part).decode()}
    media_type, mark, data = url.removeprefix("data:").partition(";base64,")
    source: JsonObject = {"type": "base64", "media_type": media_type, "data": data} if mark else {"type": "url", "url": url}
    return {"type": "image", "source": source}


def _tool_uses(message: JsonObject) -> Iterator[JsonValue]:
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, dict):
            function = call.get("function")
            named = function if isinstance(function, dict) else {}
            input = _tool_input(named.get("arguments"))
            yield {"type": "tool_use", "id": call.get("id"), "name": named.get("name"), "input": input}


def _tool_input(arguments: JsonValue) -> JsonValue:
    """The arguments of a call. A model does not always write JSON; its text is kept then."""
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
    read=document_reader("openai", lambda document: [*map(_anthropic_message, messages_in(document))]),
)
