"""Assistant messages: text, calls and reasoning, each in its own field."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from clew.dialects.openai_chat.call_ids import call_id
from clew.dialects.openai_chat.notes import Notes
from clew.dialects.openai_chat.passing_back import Payloads, filled, given_back, payload_of
from clew.dialects.openai_chat.reading import Piece, Said
from clew.dialects.openai_chat.wire import Wire
from clew.errors import RequestInvalid
from clew.model.blocks import THINKING_TYPES

__all__ = ["answer"]

SERVER_SIDE = "a block that only its own vendor can read"
EMPTY = "nothing is left of this message"
AFTER_CALLS = "text comes before tool calls in a message of Chat Completions"

_SPOKEN = frozenset({"text", "tool_use"})
_KNOWN = {"text": frozenset({"type", "text"}), "tool_use": frozenset({"type", "id", "name", "input"})}


def answer(said: Said, wire: Wire, payloads: Payloads, notes: Notes) -> dict[str, object] | None:
    """The message; None if nothing of it can be said."""
    calls = [_call(piece, wire, payloads) for piece in said.pieces if piece.type == "tool_use"]
    text = "".join(piece.string("text") for piece in said.pieces if piece.type == "text")
    _note(said.pieces, notes)
    reasoning = given_back(said.pieces, wire, payloads, notes)
    if not (calls or text or reasoning):
        notes.left_out(said.path, EMPTY)
        return None
    reasoning = filled(reasoning, bool(calls), said.path, wire, notes)
    content = text or (None if calls else "")
    return {"role": "assistant", "content": content} | ({"tool_calls": calls} if calls else {}) | reasoning


def _call(piece: Piece, wire: Wire, payloads: Payloads) -> dict[str, object]:
    """A call, with what its maker keeps on it (a signature, for one)."""
    function = {"name": piece.string("name"), "arguments": _arguments(piece)}
    call: dict[str, object] = {"id": call_id(piece.string("id"), wire), "type": "function", "function": function}
    payload = payload_of(piece, payloads) if wire.reasoning else None
    return {**call, **payload} if isinstance(payload, dict) else call


def _arguments(piece: Piece) -> str:
    """JSON text without white space: two spellings of one input are one text, and no number is read and written anew."""
    try:
        return msgspec.json.format(bytes(piece.fields.get("input", b"{}")), indent=-1).decode()
    except UnicodeDecodeError as error:
        raise RequestInvalid(f"{piece.path}.input: {error}", path=f"{piece.path}.input") from None


def _note(pieces: Sequence[Piece], notes: Notes) -> None:
    calls = False
    for piece in pieces:
        if piece.type in _SPOKEN:
            notes.unsaid(piece.path, piece.fields, _KNOWN[piece.type])
        elif piece.type not in THINKING_TYPES:
            notes.left_out(piece.path, SERVER_SIDE)
        if calls and piece.type == "text":
            notes.add(piece.path, "moved", AFTER_CALLS)
        calls = calls or piece.type == "tool_use"
