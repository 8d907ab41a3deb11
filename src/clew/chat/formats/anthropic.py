"""Anthropic's messages as JSON: `{"model": …, "max_tokens": …, "messages": […]}`, one document for each conversation.

It is what could be sent to Claude again, so thinking is in it only where Claude signed it: a block without a seal can only
be Anthropic's, and a block of another maker would be refused there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Raw

from clew.chat.formats.documents import document_reader
from clew.chat.formats.resendable import asked_messages, claude_model, held_blocks
from clew.chat.formats.shape import Format
from clew.chat.formats.turns import answers_in_line
from clew.model.blocks import filler, is_thinking, made
from clew.model.halves import encoded
from clew.model.json import JsonObject
from clew.model.origin import ANTHROPIC
from clew.model.recording import Recording
from clew.store.values import Thread, Turn
from clew.thinking.keys import proof_of
from clew.thinking.seal import is_seal

__all__ = ["ANTHROPIC_JSON", "BRANCHES", "EXPORT", "FOREIGN", "MARKS", "ORIGINS", "UNKEPT", "shown_blocks"]

BRANCHES = "branches other than the newest answer's, and questions that nobody answered"
FOREIGN = "thinking that no Claude signed"
MAX_TOKENS = 4096
"""A request must say it, and every model takes this; what was asked for is not kept."""
EXPORT = "clew-export"
"""The `user_id` of an export, by which `clew check` knows that it ends with an answer because nobody asked on yet."""
MARKS = "cache marks, fields that need a beta, and the role of system messages (they are said as reminders)"
ORIGINS = "who made an answer, when, its tokens, and what was changed on the way"
UNKEPT = "the system prompt, the tools and the parameters (they are not kept)"


def write(thread: Thread, turns: Sequence[Turn]) -> Iterator[bytes]:
    line = answers_in_line(turns)
    about = (encoded(claude_model(line)), MAX_TOKENS, EXPORT.encode())
    yield b'{"model":%b,"max_tokens":%d,"metadata":{"user_id":"%b"},"messages":[' % about
    mark = b""
    for message in (message for turn in line for message in _messages(turn)):
        yield mark + message
        mark = b","
    yield b"]}\n"


def _messages(turn: Turn) -> Iterator[bytes]:
    yield from map(encoded, asked_messages(turn))
    if turn.recording is not None:
        yield msgspec.json.encode({"role": "assistant", "content": list(map(Raw, shown_blocks(turn.recording)))})


def shown_blocks(recording: Recording) -> list[bytes]:
    """The answer's blocks without thinking that Claude could not read; never empty."""
    kept = [raw for raw in held_blocks(recording) if _may_go(recording, raw)]
    return kept or [filler().raw]


def _may_go(recording: Recording, raw: bytes) -> bool:
    block = made(raw)
    if not is_thinking(block):
        return True
    proof = proof_of(block)
    return recording.origin.realm == ANTHROPIC and bool(proof) and not is_seal(proof)


def _messages_in(document: JsonObject) -> list[JsonObject]:
    messages = document.get("messages")
    return [each for each in messages if isinstance(each, dict)] if isinstance(messages, list) else []


ANTHROPIC_JSON = Format(
    name="anthropic",
    suffix=".anthropic.json",
    does="The messages of Anthropic's API as one JSON document.",
    losses=(BRANCHES, FOREIGN, ORIGINS, UNKEPT, MARKS),
    write=write,
    read=document_reader("anthropic", _messages_in),
)
