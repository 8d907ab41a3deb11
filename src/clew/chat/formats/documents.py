"""Conversations as JSON documents with messages: Anthropic's, and OpenAI's chat messages; and the reader of such documents.

Anthropic's export could be sent to Claude again, so it has thinking only where Claude signed it: a block without a seal can
only be Anthropic's, and Claude would refuse a block of another maker. OpenAI's is written by the code that writes requests
to such backends; reasoning is text there (`reasoning_content`), and there is no place for signatures.

Reading: a file is one document, or one document on each line. Nothing in it says when an answer was given or what its id
was, so its name is a hash over everything before it. The same conversation imported again, or with more at its end, adds
only what is new.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

import msgspec
from msgspec import Raw

from clew.chat.formats.answers import IMPORTED, Chain, FileAnswer, ImportedAnswer, asked_in, hash_of, import_answer
from clew.chat.formats.format import (
    KNOWN,
    UNREADABLE,
    BrokenLine,
    Format,
    ImportContext,
    NumberedLine,
    Read,
    ReadItem,
    Skipped,
    asked_messages,
    claude_model,
    held_blocks,
    model_of,
    reminders_in,
)
from clew.chat.messages import objects_from
from clew.chat.turns import line_of
from clew.dialects.openai_chat.options import ChatOptions, ChatRequestOptions
from clew.dialects.openai_chat.requests import write_request
from clew.errors import ClewError
from clew.exchange.turns import titled
from clew.model.blocks import FILLER, filler, is_thinking, made
from clew.model.json import JsonObject, JsonValue, encoded
from clew.model.origin import ANTHROPIC
from clew.model.recording import Recording
from clew.model.turn import Exchange, TurnRecord
from clew.store.values import Thread
from clew.thinking.keys import proof_of
from clew.thinking.seal import is_seal
from clew.wire.requests import parse

EXPORT: Final = "clew-export"
"""The `user_id` of an export. It tells `clew check` that the request ends with an answer on purpose."""
_MAX_TOKENS: Final = 4096
"""A request must have it, and every model takes this number. The original value is not stored."""
_MOST_BYTES: Final = 64 * 1024 * 1024
"""A document is read as a whole. Larger files are not conversations."""

BRANCHES = "branches other than the one of the newest answer, and questions without an answer"
FOREIGN = "thinking that was not signed by Claude"
MARKS = "cache marks, fields that need a beta, and the role of system messages (they become reminders)"
ORIGINS = "the backend, time and tokens of each answer, and the changes to its request"
UNKEPT = "the system prompt, the tools and the parameters (they are not kept)"


# Anthropic's messages


def write_anthropic(thread: Thread, turns: Sequence[TurnRecord]) -> Iterator[bytes]:
    line = line_of(turns)
    about = (encoded(claude_model(line)), _MAX_TOKENS, EXPORT.encode())
    yield b'{"model":%b,"max_tokens":%d,"metadata":{"user_id":"%b"},"messages":[' % about
    comma = b""
    for turn in line:
        messages = [*map(encoded, asked_messages(turn))]
        if turn.recording is not None:
            blocks = [*map(Raw, blocks_for_claude(turn.recording))]
            messages.append(msgspec.json.encode({"role": "assistant", "content": blocks}))
        for message in messages:
            yield comma + message
            comma = b","
    yield b"]}\n"


def blocks_for_claude(recording: Recording) -> list[bytes]:
    """The answer's blocks without thinking that Claude could not read; never empty."""

    def may_go(raw: bytes) -> bool:
        block = made(raw)
        if not is_thinking(block):
            return True
        proof = proof_of(block)
        return recording.origin.realm == ANTHROPIC and bool(proof) and not is_seal(proof)

    return [raw for raw in held_blocks(recording) if may_go(raw)] or [filler().raw]


# Reading documents


def messages_in(document: JsonObject) -> list[JsonObject]:
    """The messages of a document."""
    return objects_from(document.get("messages"))


def document_reader(name: str, messages_in: Callable[[JsonObject], list[JsonObject]]) -> Read:
    """A reader of documents with messages; `messages_in` gives a document's messages in Anthropic's form."""

    def read(lines: Iterable[NumberedLine], context: ImportContext) -> Iterator[ReadItem]:
        for number, raw in _documents(lines):
            try:
                document = msgspec.json.decode(raw, type=JsonObject)
                messages = messages_in(document)
            except UNREADABLE as error:
                yield BrokenLine(number, str(error))
                continue
            yield from _read_conversation(number, name, str(document.get("model") or ""), messages, context)

    return read


def _documents(lines: Iterable[NumberedLine]) -> Iterator[NumberedLine]:
    """Each line, if the first line is a document by itself; else all lines together are one document."""
    rest = iter(lines)
    first = next((line for line in rest if line.raw.strip()), None)
    if first is None:
        return
    try:
        msgspec.json.decode(first.raw, type=Raw)
    except UNREADABLE:
        parts, size = [first.raw], len(first.raw)
        for line in rest:
            parts.append(line.raw)
            size += len(line.raw) + 1
            if size > _MOST_BYTES:
                break
        yield NumberedLine(first.number, b"\n".join(parts))
    else:
        yield first
        yield from (line for line in rest if line.raw.strip())


def _read_conversation(
    number: int, name: str, model: str, messages: list[JsonObject], context: ImportContext
) -> Iterator[ReadItem]:
    asked: list[bytes] = []
    chain: Chain | None = None
    path = hash_of(name)
    for message in messages:
        raw = msgspec.json.encode(message)
        path = hash_of(path, raw.decode())
        if message.get("role") != "assistant":
            asked.append(raw)
            continue
        content = message.get("content")
        blocks = content if isinstance(content, list) else [{"type": "text", "text": str(content or "")}]
        encoded_blocks = tuple(map(msgspec.json.encode, blocks))
        answer = FileAnswer(name=path, thread=path, model=model, asked=tuple(asked), blocks=encoded_blocks)
        try:
            imported = import_answer(answer, chain, context)
        except UNREADABLE as error:
            yield BrokenLine(number, str(error))
            return
        yield _turn_of(imported, answer, context.at) if imported.new else Skipped(KNOWN)
        asked, chain = [], imported.chain


def _turn_of(imported: ImportedAnswer, answer: FileAnswer, at: float) -> TurnRecord:
    recording = imported.recording
    exchange = Exchange(
        id=recording.id,
        principal=recording.principal,
        thread=recording.thread,
        started=at,
        ended=at,
        asked_model=answer.model,
        backend=IMPORTED,
        model=recording.origin.model,
    )
    return TurnRecord(exchange=exchange, recording=recording, asked=answer.asked, title=titled(asked_in(answer.asked)))


# OpenAI's chat messages

_OPTIONS: Final = ChatOptions(ChatRequestOptions(documents="file"))


def write_openai(thread: Thread, turns: Sequence[TurnRecord]) -> Iterator[bytes]:
    line = line_of(turns)
    messages: list[JsonValue] = []
    for turn in line:
        messages += asked_messages(turn, system=True)
        if turn.recording is not None:
            blocks = [msgspec.json.decode(raw, type=JsonObject) for raw in held_blocks(turn.recording)]
            content: list[JsonValue] = [
                {**block, "signature": ""} if block.get("type") == "thinking" else block
                for block in blocks
                if block.get("type") != "redacted_thinking"
            ]
            messages.append({"role": "assistant", "content": content or FILLER})
    model = model_of(line[-1]) if line else ""
    body = msgspec.json.encode({"model": model, "max_tokens": 1, "messages": messages})
    try:
        written = msgspec.json.decode(write_request(parse(body), _OPTIONS).body, type=JsonObject)
        document: JsonObject = {name: value for name, value in written.items() if name in ("model", "messages")}
    except ClewError as error:  # a conversation that chat messages cannot hold is reported, and never written in part
        document = {"model": model, "messages": [], "error": str(error)}
    yield msgspec.json.encode(document) + b"\n"


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
        edges = [0, *[edge for found in reminders_in(content) for edge in found.span()], len(content)]
        parts = [content[start:end].strip() for start, end in pairwise(edges)]
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
        if not isinstance(call, dict):
            continue
        function = call.get("function")
        named = function if isinstance(function, dict) else {}
        arguments = named.get("arguments")
        try:
            input = msgspec.json.decode(arguments if isinstance(arguments, str) and arguments else "{}", type=JsonObject)
        except UNREADABLE:  # a model does not always write JSON; its text is kept then
            input = {"arguments": arguments}
        yield {"type": "tool_use", "id": call.get("id"), "name": named.get("name"), "input": input}


# Formats

ANTHROPIC_JSON = Format(
    name="anthropic",
    suffix=".anthropic.json",
    does="The messages of Anthropic's API as one JSON document.",
    losses=(BRANCHES, FOREIGN, ORIGINS, UNKEPT, MARKS),
    write=write_anthropic,
    read=document_reader("anthropic", messages_in),
)
OPENAI_JSON = Format(
    name="openai",
    suffix=".openai.json",
    does="The messages of OpenAI's chat API as one JSON document.",
    losses=(
        BRANCHES,
        "signatures and redacted thinking, so no backend can get its own thinking back",
        "blocks that chat messages do not have: server tools, citations",
        "cache marks, and fields that need a beta",
        ORIGINS,
        UNKEPT,
    ),
    write=write_openai,
    read=document_reader("openai", lambda document: [*map(_anthropic_message, messages_in(document))]),
)
