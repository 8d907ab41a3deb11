"""Anthropic's messages as JSON: `{"model": …, "max_tokens": …, "messages": […]}`; and the reader of all such documents.

An export could be sent to Claude again, so it has thinking only where Claude signed it: a block without a seal can only be
Anthropic's, and Claude would refuse a block of another maker.

Reading: a file is one document, or one document on each line. Nothing in it says when an answer was given or what its id
was, so its name is a hash over everything before it. The same conversation imported again, or with more at its end, adds
only what is new.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import msgspec
from msgspec import Raw

from clew.chat.formats.answers import IMPORTED, Chain, FileAnswer, ImportedAnswer, asked_in, hash_of, import_answer, title_of
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
)
from clew.chat.formats.stored_turns import answers_in_line, asked_messages, claude_model, held_blocks
from clew.model.blocks import filler, is_thinking, made
from clew.model.json import JsonObject, encoded
from clew.model.origin import ANTHROPIC
from clew.model.recording import Recording
from clew.model.turn import Exchange, TurnRecord
from clew.store.values import Thread
from clew.thinking.keys import proof_of
from clew.thinking.seal import is_seal

EXPORT: Final = "clew-export"
"""The `user_id` of an export. It tells `clew check` that the request ends with an answer on purpose."""
_MAX_TOKENS: Final = 4096
"""A request must have it, and every model takes this number. The original value is not stored."""
_MOST_BYTES: Final = 64 * 1024 * 1024
"""A document is read as a whole. Larger files are not conversations."""

BRANCHES = "branches other than the newest answer's, and questions that nobody answered"
FOREIGN = "thinking that no Claude signed"
MARKS = "cache marks, fields that need a beta, and the role of system messages (they are said as reminders)"
ORIGINS = "who made an answer, when, its tokens, and what was changed on the way"
UNKEPT = "the system prompt, the tools and the parameters (they are not kept)"


# Writing


def write(thread: Thread, turns: Sequence[TurnRecord]) -> Iterator[bytes]:
    line = answers_in_line(turns)
    about = (encoded(claude_model(line)), _MAX_TOKENS, EXPORT.encode())
    yield b'{"model":%b,"max_tokens":%d,"metadata":{"user_id":"%b"},"messages":[' % about
    comma = b""
    for turn in line:
        for message in _messages_of(turn):
            yield comma + message
            comma = b","
    yield b"]}\n"


def _messages_of(turn: TurnRecord) -> Iterator[bytes]:
    yield from map(encoded, asked_messages(turn))
    if turn.recording is not None:
        yield msgspec.json.encode({"role": "assistant", "content": list(map(Raw, blocks_for_claude(turn.recording)))})


def blocks_for_claude(recording: Recording) -> list[bytes]:
    """The answer's blocks without thinking that Claude could not read; never empty."""

    def may_go(raw: bytes) -> bool:
        block = made(raw)
        if not is_thinking(block):
            return True
        proof = proof_of(block)
        return recording.origin.realm == ANTHROPIC and bool(proof) and not is_seal(proof)

    return [raw for raw in held_blocks(recording) if may_go(raw)] or [filler().raw]


# Reading


def messages_in(document: JsonObject) -> list[JsonObject]:
    """The messages of a document."""
    messages = document.get("messages")
    return [each for each in messages if isinstance(each, dict)] if isinstance(messages, list) else []


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
    return TurnRecord(exchange=exchange, recording=recording, asked=answer.asked, title=title_of(asked_in(answer.asked)))


ANTHROPIC_JSON = Format(
    name="anthropic",
    suffix=".anthropic.json",
    does="The messages of Anthropic's API as one JSON document.",
    losses=(BRANCHES, FOREIGN, ORIGINS, UNKEPT, MARKS),
    write=write,
    read=document_reader("anthropic", messages_in),
)
