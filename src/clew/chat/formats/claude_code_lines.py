"""The lines of a Claude Code transcript: one line decoded, and a conversation written as lines.

The format is internal to Claude Code and changes, so every field is optional, and unknown lines are skipped. Lines are
written as Claude Code writes them: one for each block, linked by `parentUuid`, so that branches stay branches. Their ids are
made from the ids of the thread and the answers: the same conversation is written the same each time. `claude --resume`
continues from such a file, and importing reads it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final
from uuid import NAMESPACE_URL, UUID, uuid5

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from clew.chat.formats.documents import blocks_for_claude
from clew.chat.formats.format import UNREADABLE, asked_messages, model_of
from clew.errors import BodyTooLarge
from clew.model.json import JsonValue, encoded
from clew.model.turn import TokenUsage, TurnRecord
from clew.store.values import Thread
from clew.wire.strict_json import find_fault

_COUNTS: Final = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_LINES_TO_CHECK: Final = 50
_TYPICAL_KEYS: Final = ("uuid", "sessionId", "leafUuid", "messageId", "timestamp", "summary")


class TranscriptMessage(Struct, frozen=True):
    """The message of a line, nearly as the API has it."""

    role: str
    content: Raw
    id: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    usage: dict[str, JsonValue] | None = None


class TranscriptLine(Struct, frozen=True, rename="camel"):
    """The fields of a line that a conversation needs."""

    type: str = ""
    message: Raw | UnsetType = UNSET
    uuid: str | None = None
    parent_uuid: str | None = None
    session_id: str | None = None
    is_sidechain: bool | None = False
    agent_id: str | None = None
    subtype: str | None = None
    timestamp: str | None = None
    request_id: str | None = None
    requested_model: str | None = None


_line = msgspec.json.Decoder(TranscriptLine)
_message = msgspec.json.Decoder(TranscriptMessage)
_any = msgspec.json.Decoder(Raw)
_block_list = msgspec.json.Decoder(list[Raw])
_object = msgspec.json.Decoder(dict[str, Raw])


# Reading


def decode_line(raw: bytes) -> tuple[TranscriptLine, TranscriptMessage | None] | None:
    """The line and its message; None for JSON of another shape. Raises the decoder's exceptions for anything but JSON."""
    raw.decode()  # the parts that are not decoded must be UTF-8 too
    try:
        line = _line.decode(raw)
        if line.type not in ("user", "assistant") or not isinstance(line.message, Raw):
            return line, None
        return line, _message.decode(line.message)
    except msgspec.ValidationError:
        _any.decode(raw)  # after the wrong shape, the line may also be broken JSON
        return None


def why_broken(raw: bytes, error: Exception) -> str:
    """The reason why a line is not JSON, with its column."""
    try:
        fault = find_fault(raw, str(error))
    except BodyTooLarge as too_deep:
        return str(too_deep)
    return f"{fault.reason} (column {fault.column})"


def is_notice(message: TranscriptMessage) -> bool:
    """Is this a message of Claude Code itself in the place of an answer, such as an error? It is never sent to a model."""
    return (message.model or "").startswith("<")


def time_of(line: TranscriptLine) -> float | None:
    try:
        return datetime.fromisoformat(line.timestamp or "").timestamp()
    except ValueError:
        return None


def blocks_in(content: Raw) -> list[bytes]:
    """The blocks; a string is one text. Anything else becomes a block that cannot be read, and is reported later."""
    try:
        return [bytes(block) for block in _block_list.decode(content)]
    except msgspec.ValidationError:
        raw = bytes(content)
        return [b'{"type":"text","text":%b}' % raw if raw[:1] == b'"' else raw]


def usage_of(message: TranscriptMessage) -> TokenUsage | None:
    """The tokens of an answer. Every line of the answer repeats them."""
    if not message.usage:
        return None
    counts = [value if type(value) is int and value > 0 else 0 for value in map(message.usage.get, _COUNTS)]
    return TokenUsage(input=counts[0], output=counts[1], cache_read=counts[2], cache_written=counts[3])


def fits(head: bytes) -> bool:
    """Does a file with these first bytes look like a transcript?"""
    for raw in head.split(b"\n", _LINES_TO_CHECK)[:_LINES_TO_CHECK]:
        with suppress(*UNREADABLE):
            keys = _object.decode(raw)
            if "messages" not in keys and "type" in keys and any(key in keys for key in _TYPICAL_KEYS):
                return True
    return False


# Writing


def write(thread: Thread, turns: Sequence[TurnRecord]) -> Iterator[bytes]:
    last_lines: dict[str, str] = {}  # the last line of each answer, by the answer's id
    parent: str | None = None
    for turn in turns:
        if turn.exchange.kind != "messages":
            continue
        recording = turn.recording
        parent = last_lines.get(recording.followed or "") if recording else parent
        for number, (kind, message) in enumerate(_messages_of(turn)):
            uuid = str(uuid5(NAMESPACE_URL, f"clew:{thread.id}:{turn.exchange.id}:{number}"))
            yield _encode_line(thread, turn, kind, message, uuid, parent)
            parent = uuid
        if recording and parent:
            last_lines[recording.id] = parent


def _messages_of(turn: TurnRecord) -> Iterator[tuple[str, object]]:
    for message in asked_messages(turn):
        yield "user", Raw(encoded(message))
    exchange, usage = turn.exchange, turn.exchange.usage or TokenUsage()
    for raw in blocks_for_claude(turn.recording) if turn.recording and turn.recording.blocks else ():
        yield (
            "assistant",
            {
                "id": f"msg_{exchange.id}",
                "type": "message",
                "role": "assistant",
                "model": model_of(turn),
                "content": [Raw(raw)],
                "stop_reason": exchange.stop_reason or ("end_turn" if exchange.outcome == "whole" else None),
                "stop_sequence": None,
                "usage": dict(zip(_COUNTS, (usage.input, usage.output, usage.cache_read, usage.cache_written), strict=True)),
            },
        )


def _encode_line(thread: Thread, turn: TurnRecord, kind: str, message: object, uuid: str, parent: str | None) -> bytes:
    at = turn.exchange.started if kind == "user" else turn.exchange.ended
    line = {
        "parentUuid": parent,
        "isSidechain": bool(thread.agent),
        "userType": "external",
        "cwd": ".",
        "sessionId": session_of(thread),
        "version": "clew",
        "type": kind,
        "message": message,
        "uuid": uuid,
        "timestamp": datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
    }
    if thread.agent:
        line["agentId"] = thread.agent
    if kind == "assistant" and turn.exchange.request_id:
        line["requestId"] = turn.exchange.request_id
    return msgspec.json.encode(line) + b"\n"


def session_of(thread: Thread) -> str:
    """The session id in the file. Claude Code wants a UUID; a conversation of another client gets one made from its id."""
    try:
        return str(UUID(thread.session))
    except ValueError:
        return str(uuid5(NAMESPACE_URL, f"clew:{thread.id}"))
