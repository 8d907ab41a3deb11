"""Anthropic's messages as JSON: `{"model": …, "messages": […]}`, one document for each conversation.

It is what could be sent to Claude again, so thinking is in it only where Claude signed it: a block without a seal can only
be Anthropic's, and a block of another maker would be refused there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Raw

from clew.chat.formats.documents import document_reader
from clew.chat.formats.shape import Format
from clew.chat.formats.turns import answers_in_line
from clew.model.blocks import filler, is_thinking, made
from clew.model.json import JsonObject
from clew.model.origin import ANTHROPIC
from clew.model.recording import Recording
from clew.store.values import Thread, Turn
from clew.thinking.keys import proof_of
from clew.thinking.seal import is_seal

__all__ = ["ANTHROPIC_JSON", "BRANCHES", "FOREIGN", "ORIGINS", "UNKEPT", "shown_blocks"]

BRANCHES = "branches other than the newest answer's, and questions that nobody answered"
FOREIGN = "thinking that no Claude signed"
ORIGINS = "who made an answer, when, its tokens, and what was changed on the way"
UNKEPT = "the system prompt, the tools and the parameters (they are not kept)"


def write(thread: Thread, turns: Sequence[Turn]) -> Iterator[bytes]:
    line = answers_in_line(turns)
    last = line[-1].recording if line else None
    yield b'{"model":%b,"messages":[' % msgspec.json.encode(last.origin.model if last else "")
    mark = b""
    for message in (message for turn in line for message in _messages(turn)):
        yield mark + message
        mark = b","
    yield b"]}\n"


def _messages(turn: Turn) -> Iterator[bytes]:
    yield from (raw.replace(b"\n", b" ").replace(b"\r", b" ") for raw in turn.asked)  # white space between values
    if turn.recording is not None:
        yield msgspec.json.encode({"role": "assistant", "content": list(map(Raw, shown_blocks(turn.recording)))})


def shown_blocks(recording: Recording) -> list[bytes]:
    """The answer's blocks without thinking that Claude could not read; never empty."""
    kept = [raw for raw in recording.blocks if _may_go(recording, raw)]
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
    losses=(BRANCHES, FOREIGN, ORIGINS, UNKEPT),
    write=write,
    read=document_reader("anthropic", _messages_in),
)
