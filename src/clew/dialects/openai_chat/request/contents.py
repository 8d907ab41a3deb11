"""What users and tools say, as parts: texts and images, and documents and search results as the text that they are.

A document that is no text (a PDF) is sent as a file where the backend takes files. Otherwise a text stands in its place, so
that the model knows what it was not given; or it is refused, as the `Wire` says.
"""

from __future__ import annotations

from collections.abc import Iterable

from clew.dialects.openai_chat.request.images import image_part
from clew.dialects.openai_chat.request.notes import Notes
from clew.dialects.openai_chat.request.parts import Part, text_part
from clew.dialects.openai_chat.request.reading import OBJECT, Piece, pieces
from clew.dialects.openai_chat.wire import Wire
from clew.errors import Unrepresentable

__all__ = ["OMITTED_DOCUMENT", "content_parts"]

OMITTED_DOCUMENT = "[A document was left out here: this model cannot read it.]"
"""Stands where a document was. Constant, so that a prefix with it stays stable."""

AS_TEXT = "a document is sent as its text"
RESULT_AS_TEXT = "a search result is sent as its text"
UNREAD = "this backend does not read documents of this kind"

_KNOWN_TEXT = frozenset({"type", "text"})
_KNOWN_DOCUMENT = frozenset({"type", "source", "title", "context"})
_KNOWN_RESULT = frozenset({"type", "source", "title", "content"})


def content_parts(piece: Piece, wire: Wire, notes: Notes) -> list[Part]:
    """One block as the parts that say it. Raises Unrepresentable with its path."""
    if piece.type == "text":
        notes.unsaid(piece.path, piece.fields, _KNOWN_TEXT)
        return [text_part(piece.string("text"))]
    if piece.type == "image":
        return [image_part(piece, wire, notes)]
    if piece.type == "document":
        return _document(piece, wire, notes)
    if piece.type == "search_result":
        return _search_result(piece, wire, notes)
    raise Unrepresentable(
        f"{piece.path}: a block of type {piece.type!r} cannot be sent to this backend: take it out, or ask a Claude model"
    )


def _all(found: Iterable[Piece], wire: Wire, notes: Notes) -> list[Part]:
    return [part for piece in found for part in content_parts(piece, wire, notes)]


def _document(piece: Piece, wire: Wire, notes: Notes) -> list[Part]:
    source = Piece(f"{piece.path}.source", piece.value("source", OBJECT) or {})
    notes.unsaid(piece.path, piece.fields, _KNOWN_DOCUMENT)
    notes.unsaid(source.path, source.fields, {"type", "media_type", "data", "content", "url", "file_id"})
    heading = _heading("Document", piece.string("title"), piece.string("context"))
    if source.type == "text":
        notes.add(piece.path, "replaced", AS_TEXT)
        return [text_part(f"{heading}\n{source.string('data')}")]
    if source.type == "content":
        notes.add(piece.path, "replaced", AS_TEXT)
        return [text_part(heading), *_all(pieces(source.fields.get("content"), f"{source.path}.content"), wire, notes)]
    return [text_part(heading), _file(piece, source, wire, notes)]


def _file(piece: Piece, source: Piece, wire: Wire, notes: Notes) -> Part:
    """A document that is no text."""
    if wire.documents == "file" and source.type == "base64":
        data = f"data:{source.string('media_type')};base64,{source.string('data')}"
        return {"type": "file", "file": {"filename": piece.string("title") or "document.pdf", "file_data": data}}
    if wire.documents == "omit":
        notes.add(piece.path, "replaced", UNREAD)
        return text_part(OMITTED_DOCUMENT)
    raise Unrepresentable(f"{piece.path}: {UNREAD}: send its text instead, or ask a model that can read it")


def _search_result(piece: Piece, wire: Wire, notes: Notes) -> list[Part]:
    notes.unsaid(piece.path, piece.fields, _KNOWN_RESULT)
    notes.add(piece.path, "replaced", RESULT_AS_TEXT)
    heading = _heading("Search result", piece.string("title"), piece.string("source"))
    return [text_part(heading), *_all(pieces(piece.fields.get("content"), f"{piece.path}.content"), wire, notes)]


def _heading(kind: str, title: str, more: str) -> str:
    return f"[{': '.join(filter(None, (kind, title)))}]" + (f"\n{more}" if more else "")
