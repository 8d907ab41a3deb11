"""Images as Chat Completions takes them: a URL, which may hold the data itself."""

from __future__ import annotations

from clew.dialects.openai_chat.request.notes import Notes
from clew.dialects.openai_chat.request.parts import Part, text_part
from clew.dialects.openai_chat.request.reading import OBJECT, Piece
from clew.dialects.openai_chat.wire import Wire
from clew.errors import Unrepresentable

__all__ = ["OMITTED", "image_part"]

OMITTED = "[An image was left out here: this model cannot see images.]"
"""Stands where an image was. Constant, so that a prefix with it stays stable."""

_WEB = ("http://", "https://", "data:")
BLIND = "this backend does not take images"


def image_part(piece: Piece, wire: Wire, notes: Notes) -> Part:
    """The image, or a text in its place if this backend's policy says so."""
    notes.unsaid(piece.path, piece.fields, {"type", "source"})
    if wire.images == "refuse":
        raise Unrepresentable(f"{piece.path}: {BLIND}: take it out, or ask a model that can see")
    if wire.images == "omit":
        notes.add(piece.path, "replaced", BLIND)
        return text_part(OMITTED)
    return {"type": "image_url", "image_url": {"url": _url(piece, wire, notes)}}


def _url(piece: Piece, wire: Wire, notes: Notes) -> str:
    source = Piece(f"{piece.path}.source", piece.value("source", OBJECT) or {})
    notes.unsaid(source.path, source.fields, {"type", "media_type", "data", "url"})
    if source.type == "base64":
        return f"data:{source.string('media_type')};base64,{source.string('data')}"
    if source.type == "url" and wire.image_urls:
        return _on_the_web(source)
    if source.type == "url":
        raise Unrepresentable(f"{source.path}: this backend takes images only as base64 data, not by URL")
    raise Unrepresentable(
        f"{source.path}: an image of source type {source.type!r} cannot be sent to this backend: send it as base64 data"
    )


def _on_the_web(source: Piece) -> str:
    """A URL that the backend fetches, not clew. A server on this machine could open any file that it is told to."""
    url = source.string("url")
    if not url.lower().startswith(_WEB):
        raise Unrepresentable(
            f"{source.path}.url: an image can be fetched from http:// and https:// only: send it as base64 data"
        )
    return url
