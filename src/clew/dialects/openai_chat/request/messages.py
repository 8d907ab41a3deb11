"""The messages, one after the other.

What a message becomes depends on that message and on those before it, so a conversation that goes on is a list that goes on:
the backend's prefix cache holds, and reasoning that is bound to what came before it stays bound. A message may become none
(nothing in it can be said), or several (tool results, then what the user said with them).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from clew.dialects.openai_chat.request.answers import answer
from clew.dialects.openai_chat.request.contents import content_parts
from clew.dialects.openai_chat.request.notes import Notes
from clew.dialects.openai_chat.request.parts import Part, is_text
from clew.dialects.openai_chat.request.reading import Piece, Reading, Said, pieces
from clew.dialects.openai_chat.request.repeats import without_repeats
from clew.dialects.openai_chat.request.results import tool_result
from clew.dialects.openai_chat.wire import Wire
from clew.errors import RequestInvalid

__all__ = ["BILLING", "Messages", "encode_messages"]

BILLING = "x-anthropic-billing-header:"
"""How the line begins that Claude Code puts before its system prompt: for Anthropic, and another in each conversation."""

EMPTY = "an empty message says nothing"
NOT_TEXT = "a system message holds only text"
NOT_OURS = "this line is for Anthropic's billing, and would defeat the backend's prefix cache"
RESULTS_FIRST = "tool messages come directly after the calls that they answer"
REPEATED = "an entry that is in this history already would be refused by its id"
BEGUN = "this backend refuses an answer as the last message, unless it is told to go on with it"
AS_USER = "this backend takes a system message only at the start"
APART = "this backend refuses a message of role {!r} behind one of role {!r}, so one of role {!r} stands between them"

_KNOWN = frozenset({"role", "content", "output_config"})
_KNOWN_TEXT = frozenset({"type", "text"})
_SPOKEN = frozenset({"role", "content", "tool_calls"})
_BETWEEN: Final = {"assistant": "Noted.", "user": "Go on."}
"""What is said between two messages that may not follow each other. Constant, so that a prefix with it stays stable."""
_Message = dict[str, object]


class Messages(Struct, frozen=True):
    """The messages as they go out. `lost`: a call has no reasoning, and this backend then wants thinking off."""

    sent: list[_Message]
    lost: bool = False


def encode_messages(reading: Reading, wire: Wire, notes: Notes) -> Messages:
    sent = _prompt(reading, wire, notes)
    for said in reading.said:
        notes.unsaid(said.path, said.fields, _KNOWN)
        for message in _encoded(said, wire, notes):
            sent += [*_between(sent, message, said.path, wire, notes), message]
    if wire.entries_once:
        sent = _each_once(sent, notes)
    if wire.begun and sent and sent[-1]["role"] == "assistant":
        notes.add(reading.said[-1].path, "added", BEGUN)
        sent[-1] |= wire.begun
    return Messages(sent, wire.missing == "off" and any(map(_lacks_reasoning, sent)))


def _between(sent: list[_Message], message: _Message, path: str, wire: Wire, notes: Notes) -> list[_Message]:
    """What must stand before this message, where it may not follow the one that was sent last."""
    before, role = str(sent[-1]["role"]) if sent else "", str(message["role"])
    if f"{before} {role}" not in wire.apart:
        return []
    other = "user" if role == "assistant" else "assistant"
    notes.add(path, "added", APART.format(role, before, other))
    return [{"role": other, "content": _BETWEEN[other]}]


def _each_once(sent: list[_Message], notes: Notes) -> list[_Message]:
    once = list(without_repeats(sent))
    if any(a is not b for a, b in zip(once, sent, strict=True)):
        notes.thought("messages", REPEATED)
    return once


def _lacks_reasoning(message: _Message) -> bool:
    return "tool_calls" in message and _SPOKEN.issuperset(message)


def _prompt(reading: Reading, wire: Wire, notes: Notes) -> list[_Message]:
    """The system prompt as the first message, without the line that is not for this backend."""
    ours: list[Piece] = []
    for piece in pieces(reading.fields.get("system"), "system"):
        if piece.string("text").startswith(BILLING):
            notes.left_out(piece.path, NOT_OURS)
        else:
            ours.append(piece)
    text = _text(ours, notes)
    return [{"role": wire.system, "content": text}] if text else []


def _encoded(said: Said, wire: Wire, notes: Notes) -> Iterable[_Message]:
    if said.role == "assistant":
        message = answer(said, wire, notes)
        return () if message is None else (message,)
    if said.role == "system":
        return _late_system(said, wire, notes)
    if said.role != "user":
        raise RequestInvalid(f"{said.path}.role: Input should be 'user' or 'assistant'", path=f"{said.path}.role")
    return _user(said, wire, notes)


def _late_system(said: Said, wire: Wire, notes: Notes) -> Iterable[_Message]:
    text = _text(said.pieces, notes)
    if not text:
        notes.left_out(said.path, EMPTY)
        return ()
    if wire.late_system == "user":
        notes.add(said.path, "replaced", AS_USER)
        return ({"role": "user", "content": f"<system-message>\n{text}\n</system-message>"},)
    return ({"role": wire.system, "content": text},)


def _text(found: Iterable[Piece], notes: Notes) -> str:
    """The texts, one paragraph each."""
    texts: list[str] = []
    for piece in found:
        if piece.type != "text":
            notes.left_out(piece.path, NOT_TEXT)
            continue
        notes.unsaid(piece.path, piece.fields, _KNOWN_TEXT)
        texts.append(piece.string("text"))
    return "\n\n".join(text for text in texts if text)


def _user(said: Said, wire: Wire, notes: Notes) -> Iterable[_Message]:
    """Tool messages in order, then one user message with what is left: their images, and what the user said."""
    _note_order(said, notes)
    results = [tool_result(piece, wire, notes) for piece in said.pieces if piece.type == "tool_result"]
    parts = [part for result in results for part in result.after]
    spoken = (piece for piece in said.pieces if piece.type != "tool_result")
    parts += [part for piece in spoken for part in content_parts(piece, wire, notes)]
    sent = [result.message for result in results]
    if content := _content(parts):
        sent.append({"role": "user", "content": content})
    if not sent:
        notes.left_out(said.path, EMPTY)
    return sent


def _note_order(said: Said, notes: Notes) -> None:
    late = False
    for piece in said.pieces:
        if late and piece.type == "tool_result":
            notes.add(piece.path, "moved", RESULTS_FIRST)
        late = late or piece.type != "tool_result"


def _content(parts: list[Part]) -> str | list[Part]:
    """A plain string if there is only text: the same message, whether the client sent it as a string or as blocks."""
    if not all(map(is_text, parts)):
        return [part for part in parts if part.get("text") != ""]
    return "\n\n".join(text for part in parts if (text := str(part["text"])))
