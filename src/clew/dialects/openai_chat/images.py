"""Images as Chat Completions takes them: a URL, which may hold the data itself."""

from __future__ import annotations

from clew.dialects.openai_chat.notes import Notes
from clew.dialects.openai_chat.reading import OBJECT, Piece
from clew.dialects.openai_chat.wire import Wire
from clew.errors import Unrepresentable

__all__ = ["OMITTED", "Part", "image_part", "text_part"]

Part = dict[str, object]
"""A content part, as it goes out."""

OMITTED = "[An image was left out here: this model cannot see images.]"
"""Stands where an image was. Constant, so that a prefix with it stays stable."""


def text_part(text: str) -> Part:
    return {"type": "text", "text": text}


def image_part(piece: Piece, wire: Wire, notes: Notes) -> Part:
    """The image, or a text in its place if this backend's policy says so."""
    if wire.images == "refuse":
        raise Unrepresentable(f"{piece.path}: this backend does not take images; ask a model that can see")
    if wire.images == "omit":
        notes.add(piece.path, "replaced", "this backend does not take images")
        return text_part(OMITTED)
    return {"type": "image_url", "image_url": {"url": _url(piece, wire)}}


def _url(piece: Piece, wire: Wire) -> str:
    source = Piece(f"{piece.path}.source", piece.value("source", OBJECT) or {})
    if source.type == "base64":
        return f"data:{source.string('media_type')};base64,{source.string('data')}"
    if source.type == "url" and wire.image_urls:
        return source.string("url")
    if source.type == "url":
        raise Unrepresentable(f"{source.path}: this backend takes images only as base64 data, not by URL")
    raise Unrepresentable(f"{source.path}: an image of source type {source.type!r} cannot be sent to this backend")
