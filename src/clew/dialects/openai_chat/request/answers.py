"""Assistant messages: text, calls and reasoning, each in its own field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from clew.dialects.openai_chat.request.call_ids import call_id
from clew.dialects.openai_chat.request.notes import Notes
from clew.dialects.openai_chat.request.passing_back import Back, backs_of, filled, joined
from clew.dialects.openai_chat.request.reading import Piece, Said
from clew.dialects.openai_chat.request.tool_names import tool_name
from clew.dialects.openai_chat.wire import Wire
from clew.errors import RequestInvalid
from clew.model.blocks import THINKING_TYPES
from clew.model.json import JsonObject, JsonValue

__all__ = ["answer"]

SERVER_SIDE = "a block that only its own vendor can read"
EMPTY = "nothing is left of this message"
AFTER_CALLS = "text comes before tool calls in a message of Chat Completions"
WORDLESS = "this backend refuses an answer that was thought and not said"
UNSIGNED_CALL = "this backend refuses a call without its signature, and this is its word for a call that has none"

_SPOKEN = frozenset({"text", "tool_use"})
_KNOWN = {"text": frozenset({"type", "text"}), "tool_use": frozenset({"type", "id", "name", "input"})}


def answer(said: Said, wire: Wire, notes: Notes) -> dict[str, object] | None:
    """The message; None if nothing of it can be said."""
    _note(said.pieces, notes)
    backs = backs_of(said.pieces, wire, notes)
    calls = _calls(said.pieces, backs, wire, notes)
    content = _content(said.pieces, backs)
    reasoning = joined(list(backs.values()))
    if not (calls or content or reasoning):
        notes.left_out(said.path, EMPTY)
        return None
    reasoning = filled(reasoning, bool(calls), said.path, wire, notes)
    if wire.wordless and not (calls or content):
        notes.add(said.path, "added", WORDLESS)
        content = wire.wordless
    spoken = content or (None if calls else "")
    return {"role": "assistant", "content": spoken} | ({"tool_calls": calls} if calls else {}) | reasoning


def _content(pieces: Sequence[Piece], backs: Mapping[int, Back]) -> str | list[JsonValue]:
    """The text; with thoughts in it where they stood, if that is where the backend keeps them."""
    parts: list[str | list[JsonValue]] = []
    for at, piece in enumerate(pieces):
        inline = backs[at].inline if at in backs else None
        parts += [inline] if inline else [piece.string("text")] if piece.type == "text" else []
    if any(isinstance(part, list) for part in parts):
        return [chunk for part in parts if part for chunk in _chunks(part)]
    return "".join(part for part in parts if isinstance(part, str))


def _chunks(part: str | list[JsonValue]) -> list[JsonValue]:
    return part if isinstance(part, list) else [{"type": "text", "text": part}]


def _calls(pieces: Sequence[Piece], backs: Mapping[int, Back], wire: Wire, notes: Notes) -> list[dict[str, object]]:
    """The calls, each with what its maker keeps on it (a signature, for one)."""
    calls: list[dict[str, object]] = []
    extra: JsonObject = {}
    for at, piece in enumerate(pieces):
        if at in backs:
            extra = backs[at].call or extra
        elif piece.type == "tool_use":
            if not calls and not extra and wire.unsigned_call:
                notes.add(piece.path, "added", UNSIGNED_CALL)
                extra = wire.unsigned_call
            calls.append({**_call(piece, wire, notes), **extra})
            extra = {}
    return calls


def _call(piece: Piece, wire: Wire, notes: Notes) -> dict[str, object]:
    name = tool_name(piece.string("name"), f"{piece.path}.name", notes)
    function = {"name": name, "arguments": _arguments(piece)}
    return {"id": call_id(piece, "id", wire, notes), "type": "function", "function": function}


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
