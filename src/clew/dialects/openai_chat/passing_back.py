"""Puts reasoning back where its backend looks for it: in fields of the assistant message, never in its text.

What goes back is decided elsewhere. Here, a thinking block that is still in the request goes back as its text in the field
that the `Wire` names, unless the caller gave a payload for it: another text, the maker's own fields verbatim (such as
`reasoning_details`, or the content list of a backend that keeps its thoughts there), or None for nothing at all. Three
states stay apart: no reasoning (None: the key is absent, and the backend's policy for what is missing applies), reasoning
that was empty (""), and text. Several blocks of one message join without a seam, because the backend had sent one string.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, cast

from clew.dialects.openai_chat.notes import Notes
from clew.dialects.openai_chat.reading import Piece
from clew.dialects.openai_chat.wire import Wire
from clew.model.blocks import THINKING_TYPES, Block
from clew.model.json import JsonObject

__all__ = ["Payload", "Payloads", "filled", "given_back", "payload_of"]

Payload: TypeAlias = str | JsonObject | None
"""What goes back for a block: a text, fields to put as they are, or nothing."""

Payloads: TypeAlias = Mapping[Block, Payload]

NO_FIELD = "this backend takes no reasoning back"
NO_TEXT = "this backend takes only its own reasoning back, and there is none for this block"
NOTHING = "there is nothing in it that this backend could read"
NEEDED = "this backend refuses an assistant message of this kind without reasoning"

_FILL = {"empty": "", "space": " "}


def given_back(pieces: Sequence[Piece], wire: Wire, payloads: Payloads, notes: Notes) -> dict[str, object]:
    """The fields of an assistant message that carry its reasoning."""
    fields: dict[str, object] = {}
    for piece in pieces:
        payload = _payload(piece, wire, payloads, notes)
        if isinstance(payload, str):
            payload = {wire.reasoning: payload}
        for key, value in (payload or {}).items():
            fields[key] = _joined(fields.get(key), value)
    return fields


def payload_of(piece: Piece, payloads: Payloads) -> Payload:
    """What the caller gave for this piece, if anything."""
    return None if piece.block is None else payloads.get(piece.block)


def filled(fields: dict[str, object], calls: bool, path: str, wire: Wire, notes: Notes) -> dict[str, object]:
    """The fields with the least that the backend accepts, where it needs some and there is none."""
    word = _FILL.get(wire.missing)
    if word is None or not wire.reasoning or not (calls or wire.missing_on == "all"):
        return fields
    if wire.reasoning in fields and (fields[wire.reasoning] or not word):
        return fields
    notes.add(f"{path}.{wire.reasoning}", "added", NEEDED)
    return {**fields, wire.reasoning: word}


def _payload(piece: Piece, wire: Wire, payloads: Payloads, notes: Notes) -> Payload:
    """What goes back for one piece; for one that is no thinking, only what the caller gave."""
    if piece.type not in THINKING_TYPES:
        return payload_of(piece, payloads) if wire.reasoning and piece.type != "tool_use" else None
    if not wire.reasoning:
        notes.left_out(piece.path, NO_FIELD)
        return None
    payload = _own(piece, wire, payloads)
    if payload is None:
        notes.left_out(piece.path, NOTHING if wire.reasoning_text else NO_TEXT)
    return payload


def _own(piece: Piece, wire: Wire, payloads: Payloads) -> Payload:
    text = piece.string("thinking") if piece.type == "thinking" else None
    payload = payloads.get(piece.block, text) if piece.block is not None else text
    return None if isinstance(payload, str) and not wire.reasoning_text else payload


def _joined(before: object, value: object) -> object:
    """Strings and lists go on; anything else is said once, by the last."""
    if isinstance(before, str) and isinstance(value, str):
        return before + value
    if isinstance(before, list) and isinstance(value, list):
        return [*cast("list[object]", before), *cast("list[object]", value)]
    return value
