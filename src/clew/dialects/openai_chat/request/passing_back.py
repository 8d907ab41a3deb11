"""Puts reasoning back where its backend looks for it: in fields of the assistant message, never in its text.

A thinking block of this backend carries, where Anthropic has a signature, what the backend needs back (`payloads`): the name
under which the text came, entries that go back as they came, markup around a thought in the content, or what stood on the
call behind it or on the message itself. A block without that is another maker's, handed over: its text goes into the field
that the `Wire` names. Three states stay apart: no reasoning (the key is absent, and the backend's policy for what is missing
applies), reasoning that was empty (""), and text. Several blocks of one message join without a seam, because the backend had
sent one string.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, cast

from msgspec import Struct, structs

from clew.dialects.openai_chat.answer.payloads import payload_of
from clew.dialects.openai_chat.request.late_signatures import reunited
from clew.dialects.openai_chat.request.notes import Notes
from clew.dialects.openai_chat.request.reading import Piece
from clew.dialects.openai_chat.wire import Wire
from clew.model.blocks import THINKING_TYPES
from clew.model.json import JsonObject, JsonValue

__all__ = ["Back", "backs_of", "filled", "joined"]

NO_FIELD = "this backend takes no reasoning back"
NO_TEXT = "this backend takes only its own reasoning back, and this is none of its own"
NO_TAGS = "it stood between tags in the text, and this backend does not read it there again"
NOTHING = "there is nothing in it that this backend could read"
UNSIGNED = "the model behind this backend refuses a thought without its signature"
NEEDED = "this backend refuses an assistant message of this kind without reasoning"

_FILL: Final = {"empty": "", "space": " "}
_LISTS: Final = ("reasoning_details", "thinking_blocks")
_INLINE: Final = ("content", "tags")
"""Where a thought stood that came in the content itself."""


class Back(Struct, frozen=True):
    """What goes back for one thinking block."""

    fields: Mapping[str, JsonValue] = {}
    """Of the assistant message."""
    inline: str | list[JsonValue] | None = None
    """In its content, in place: markup with the thought in it, or chunks."""
    call: JsonObject = {}
    """On the call that follows."""


def backs_of(pieces: Sequence[Piece], wire: Wire, notes: Notes) -> dict[int, Back]:
    """What goes back for each thinking block of an answer, by its place; where that is nothing, a note says why."""
    payloads = {at: _payload_of(piece) for at, piece in enumerate(pieces) if piece.type in THINKING_TYPES}
    return {at: _back_of(pieces[at], payload, wire, notes) for at, payload in reunited(payloads).items()}


def _back_of(piece: Piece, payload: JsonObject | None, wire: Wire, notes: Notes) -> Back:
    if not wire.reasoning:
        notes.thought(piece.path, NO_FIELD)
        return Back()
    back, why = _handed_over(piece, wire) if payload is None else _returned(payload, piece, wire)
    if why:
        notes.thought(piece.path, why)
    return back


def joined(backs: Sequence[Back]) -> dict[str, object]:
    """The fields of an assistant message that carry its reasoning."""
    fields: dict[str, object] = {}
    for back in backs:
        for key, value in back.fields.items():
            fields[key] = _joined(fields.get(key), value)
    return fields


def filled(fields: dict[str, object], calls: bool, path: str, wire: Wire, notes: Notes) -> dict[str, object]:
    """The fields with the least that the backend accepts, where it needs some and there is none."""
    word = _FILL.get(wire.missing)
    if word is None or not wire.reasoning or not (calls or wire.missing_on == "all"):
        return fields
    told = list(fields.values())
    if any(told) or (told and not word):
        return fields
    notes.add(f"{path}.{wire.reasoning}", "added", NEEDED)
    return {**fields, **(wire.empty or {wire.reasoning: word})}


def _payload_of(piece: Piece) -> JsonObject | None:
    return payload_of(piece.string("signature" if piece.type == "thinking" else "data"))


def _handed_over(piece: Piece, wire: Wire) -> tuple[Back, str]:
    if piece.type != "thinking":
        return Back(), NOTHING
    if not wire.reasoning_text:
        return Back(), NO_TEXT
    return _said(wire.reasoning, piece.string("thinking"), wire), ""


def _said(field: str, text: str, wire: Wire, call: JsonObject | None = None) -> Back:
    """A plain text: in its field, or between tags in the content."""
    if wire.between:
        return Back(inline=f"{wire.between[0]}{text}{wire.between[-1]}" if text else None, call=call or {})
    return Back({field: text} if field else {}, call=call or {})


def _returned(payload: JsonObject, piece: Piece, wire: Wire) -> tuple[Back, str]:
    """The richest form in which it came, with what its message bore."""
    back, why = _in_its_form(payload, piece, wire)
    bore = payload.get("message") if wire.entries else None
    return (structs.replace(back, fields={**back.fields, **bore}) if isinstance(bore, dict) else back), why


def _in_its_form(payload: JsonObject, piece: Piece, wire: Wire) -> tuple[Back, str]:
    call = _of_call(payload) if wire.entries else {}
    entries, lost = _entries(payload, wire)
    if entries:
        return Back(entries, call=call), UNSIGNED if lost else ""
    if lost:
        return Back(call=call), UNSIGNED
    field, text = str(payload.get("field", "")), piece.string("thinking")
    if field in _INLINE:
        return _in_place(payload, text, wire, call)
    if field in _LISTS or (text and not field):  # no field of its own for the text alone
        return _handed_over(piece, wire)
    return _said(field, text, wire, call), ""


def _in_place(payload: JsonObject, text: str, wire: Wire, call: JsonObject) -> tuple[Back, str]:
    chunks = payload.get("content")
    if isinstance(chunks, list):
        return Back(inline=chunks, call=call), ""
    tags = payload.get("tags")
    if not wire.tags_back or not isinstance(tags, dict):
        return Back(call=call), NO_TAGS
    return Back(inline=f"{tags.get('open', '')}{text}{tags.get('close', '')}", call=call), ""


def _entries(payload: JsonObject, wire: Wire) -> tuple[dict[str, JsonValue], bool]:
    """Lists that go back as they came, less what the model behind the backend refuses; and whether there was any."""
    found: dict[str, JsonValue] = {}
    lost = False
    for name in _LISTS if wire.entries else ():
        entries = payload.get(name)
        if isinstance(entries, list):
            signed = [entry for entry in entries if not _is_unsigned(entry, wire)]
            lost = lost or len(signed) < len(entries)
            found |= {name: signed} if signed or not entries else {}
    return found, lost


def _is_unsigned(entry: JsonValue, wire: Wire) -> bool:
    if not isinstance(entry, dict) or entry.get("type") != "reasoning.text" or entry.get("signature"):
        return False
    return str(entry.get("format") or "") in wire.signed_formats


def _of_call(payload: JsonObject) -> JsonObject:
    """What stood on the call behind this block. Each such call has a block of its own before it."""
    calls = payload.get("tool_calls")
    extra = next(iter(calls.values()), None) if isinstance(calls, dict) else None
    return extra if isinstance(extra, dict) else {}


def _joined(before: object, value: object) -> object:
    """Strings and lists go on; anything else is said once, by the last."""
    if isinstance(before, str) and isinstance(value, str):
        return before + value
    if isinstance(before, list) and isinstance(value, list):
        return [*cast("list[object]", before), *cast("list[object]", value)]
    return value
