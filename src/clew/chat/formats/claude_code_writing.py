"""Claude Code transcripts, written: lines that `claude --resume` goes on from, and that importing reads again.

One line for each block, as Claude Code itself writes, linked by `parentUuid`, so that branches stay branches. Ids are made
from the thread's and the answers' own: the same conversation is written the same each time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final
from uuid import NAMESPACE_URL, UUID, uuid5

import msgspec
from msgspec import Raw

from clew.chat.formats.anthropic import FOREIGN, MARKS, shown_blocks
from clew.chat.formats.claude_code import read_transcript
from clew.chat.formats.resendable import asked_messages, model_of
from clew.chat.formats.shape import UNREADABLE, Format
from clew.model.halves import encoded
from clew.store.values import Thread, Turn, Usage

__all__ = ["CLAUDE_CODE", "session_of"]

LOOKED_AT: Final = 50
_TELLING: Final = ("uuid", "sessionId", "leafUuid", "messageId", "timestamp", "summary")
_loose = msgspec.json.Decoder(dict[str, Raw])


def write(thread: Thread, turns: Sequence[Turn]) -> Iterator[bytes]:
    ends: dict[str, str] = {}
    last: str | None = None
    for turn in turns:
        if turn.exchange.kind != "messages":
            continue
        recording = turn.recording
        last = ends.get(recording.followed or "") if recording else last
        for number, (kind, message) in enumerate(_messages(turn)):
            uuid = str(uuid5(NAMESPACE_URL, f"clew:{thread.id}:{turn.exchange.id}:{number}"))
            yield _line(thread, turn, kind, message, uuid, last)
            last = uuid
        if recording and last:
            ends[recording.id] = last


def _messages(turn: Turn) -> Iterator[tuple[str, object]]:
    for message in asked_messages(turn):
        yield "user", Raw(encoded(message))
    for raw in shown_blocks(turn.recording) if turn.recording and turn.recording.blocks else ():
        yield "assistant", _answer(turn, raw)


def _answer(turn: Turn, block: bytes) -> dict[str, object]:
    exchange = turn.exchange
    return {
        "id": f"msg_{exchange.id}",
        "type": "message",
        "role": "assistant",
        "model": model_of(turn),
        "content": [Raw(block)],
        "stop_reason": exchange.stop_reason or ("end_turn" if exchange.outcome == "whole" else None),
        "stop_sequence": None,
        "usage": _counts(exchange.usage),
    }


def _counts(usage: Usage | None) -> dict[str, int]:
    given = usage or Usage()
    return {
        "input_tokens": given.input,
        "output_tokens": given.output,
        "cache_read_input_tokens": given.cache_read,
        "cache_creation_input_tokens": given.cache_written,
    }


def _line(thread: Thread, turn: Turn, kind: str, message: object, uuid: str, parent: str | None) -> bytes:
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
    agent = {"agentId": thread.agent} if thread.agent else {}
    made = {"requestId": turn.exchange.request_id} if kind == "assistant" and turn.exchange.request_id else {}
    return msgspec.json.encode(line | agent | made) + b"\n"


def session_of(thread: Thread) -> str:
    """Claude Code wants a UUID; a conversation of another client gets one of its own."""
    try:
        return str(UUID(thread.session))
    except ValueError:
        return str(uuid5(NAMESPACE_URL, f"clew:{thread.id}"))


def _fits(head: bytes) -> bool:
    return any(map(_is_telling, head.split(b"\n", LOOKED_AT)[:LOOKED_AT]))


def _is_telling(line: bytes) -> bool:
    try:
        keys = _loose.decode(line)
    except UNREADABLE:
        return False
    return "messages" not in keys and "type" in keys and any(key in keys for key in _TELLING)


CLAUDE_CODE = Format(
    name="claude-code",
    suffix=".jsonl",
    does="A Claude Code transcript, one line for each block.",
    losses=(
        FOREIGN,
        "which backend made an answer, its account, and what was changed on the way",
        "the model that answered, where another one was asked for",
        MARKS,
        "what Claude Code noted besides (attachments): a model that binds its thinking to all before it leaves it out",
    ),
    write=write,
    read=read_transcript,
    fits=_fits,
)
