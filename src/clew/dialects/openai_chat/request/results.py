"""Tool results: one tool message each, in the order in which they came.

A tool message has no word for failure, so a failed one says so in its text. Most backends take only text in it: then each
image leaves a numbered note where it stood, and follows in the user message after the tool messages, under the same number
and the id of its call. A loaded tool (`tool_reference`) is named in words; `tools` sends its definition.
"""

from __future__ import annotations

from msgspec import Struct, field

from clew.dialects.openai_chat.request.call_ids import call_id
from clew.dialects.openai_chat.request.contents import content_parts
from clew.dialects.openai_chat.request.notes import Notes
from clew.dialects.openai_chat.request.parts import Part, is_text, text_part
from clew.dialects.openai_chat.request.reading import BOOLEAN, Piece, pieces
from clew.dialects.openai_chat.wire import Wire

__all__ = ["Result", "tool_result"]

FAILED = "Error: "
"""What a failed tool's text begins with."""

ONLY_TEXT = "a tool message takes only text: images and files follow in a user message"

_KNOWN = frozenset({"type", "tool_use_id", "content", "is_error"})
_KNOWN_REFERENCE = frozenset({"type", "tool_name"})


class Result(Struct):
    """A tool message, and the parts that have to follow in a user message."""

    message: dict[str, object]
    after: list[Part] = field(default_factory=list[Part])


def tool_result(piece: Piece, wire: Wire, notes: Notes) -> Result:
    notes.unsaid(piece.path, piece.fields, _KNOWN)
    call = call_id(piece, "tool_use_id", wire, notes)
    after: list[Part] = []
    inner = pieces(piece.fields.get("content"), f"{piece.path}.content")
    parts = [part for each in inner for part in _parts(each, wire, notes)]
    if not wire.tool_images:
        parts = _without_images(parts, piece, call, after, notes)
    if piece.value("is_error", BOOLEAN):
        notes.add(f"{piece.path}.is_error", "replaced", f"a tool message has no such field; its text begins with {FAILED!r}")
        parts = _failed(parts)
    return Result({"role": "tool", "tool_call_id": call, "content": _content(parts)}, after)


def _parts(piece: Piece, wire: Wire, notes: Notes) -> list[Part]:
    if piece.type != "tool_reference":
        return content_parts(piece, wire, notes)
    notes.unsaid(piece.path, piece.fields, _KNOWN_REFERENCE)
    notes.add(piece.path, "replaced", "a loaded tool is named in words; its definition is among the tools")
    return [text_part(f"Tool loaded: {piece.string('tool_name')}")]


def _without_images(parts: list[Part], piece: Piece, call: str, after: list[Part], notes: Notes) -> list[Part]:
    """The parts as text only; images go to `after`, each under its number."""
    texts: list[Part] = []
    for part in parts:
        if is_text(part):
            texts.append(part)
            continue
        number, kind = len(after) // 2 + 1, "Image" if part["type"] == "image_url" else "File"
        texts.append(text_part(f"[{kind} {number} of this result follows in the next message.]"))
        after += [text_part(f"[{kind} {number} of the result of tool call {call}:]"), part]
    if after:
        notes.add(f"{piece.path}.content", "moved", ONLY_TEXT)
    return texts


def _failed(parts: list[Part]) -> list[Part]:
    """The same, with the word for failure before its first text."""
    if parts and is_text(parts[0]):
        return [text_part(f"{FAILED}{parts[0]['text']}"), *parts[1:]]
    return [text_part(FAILED.rstrip()), *parts]


def _content(parts: list[Part]) -> str | list[Part]:
    """A plain string wherever that says it all: not every server reads lists."""
    if not all(map(is_text, parts)):
        return parts
    return "\n".join(str(part["text"]) for part in parts)
