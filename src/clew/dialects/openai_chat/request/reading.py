"""Reads what is to go out, key by key, so that nothing is lost without a note.

The typed views of a `Request` hold only what decisions look at; a translation has to see every key, if only to say that it
was left out. So the projected bytes are read again, one level at a time: objects as raw values by key, decoded where they
are used. Each piece knows where the client had it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias, TypeVar

import msgspec
from msgspec import Raw, Struct
from msgspec.json import Decoder

from clew.errors import RequestInvalid
from clew.model.request import Message, Request, blocks_of
from clew.wire.requests import encode

__all__ = [
    "BOOLEAN",
    "INTEGER",
    "NULL",
    "OBJECT",
    "OBJECTS",
    "STRING",
    "Fields",
    "Piece",
    "Reading",
    "Said",
    "decoded",
    "pieces",
    "read",
]

Fields: TypeAlias = dict[str, Raw]
_Content: TypeAlias = str | list[Fields] | None
_T = TypeVar("_T")

NULL = Raw(b"null")
STRING = Decoder(str)
INTEGER = Decoder(int)
BOOLEAN = Decoder(bool)
OBJECT = Decoder(Fields)
OBJECTS = Decoder(list[Fields])
_CONTENT: Decoder[_Content] = Decoder(_Content)


class Piece(Struct, frozen=True):
    """An object, most often a content block: its place in the client's request, and its keys."""

    path: str
    fields: Fields

    @property
    def type(self) -> str:
        return self.string("type")

    def string(self, key: str) -> str:
        """A string that must be there; "" where it is null or absent."""
        return self.value(key, STRING) or ""

    def value(self, key: str, decoder: Decoder[_T]) -> _T | None:
        raw = self.fields.get(key)
        return None if raw is None or raw == NULL else decoded(raw, decoder, f"{self.path}.{key}")


class Said(Struct, frozen=True):
    """One message: its role, its pieces (a plain string is one text), its other keys."""

    path: str
    role: str
    pieces: tuple[Piece, ...]
    fields: Fields


class Reading(Struct, frozen=True):
    """The request: everything but the messages by key, and the messages."""

    fields: Fields
    said: tuple[Said, ...]


def read(request: Request) -> Reading:
    """What is to go out; a field that is null is absent. Raises RequestInvalid with a path for a value of the wrong kind."""
    given = decoded(Raw(encode(request)), OBJECT, "")
    fields = {key: raw for key, raw in given.items() if raw != NULL}
    messages = decoded(fields.pop("messages"), OBJECTS, "messages")
    said = (_said(request, *each) for each in enumerate(zip(request.messages, messages, strict=True)))
    return Reading(fields, tuple(said))


def decoded(raw: Raw, decoder: Decoder[_T], path: str) -> _T:
    try:
        return decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RequestInvalid(f"{path}: {error}", path=path) from None


def pieces(raw: Raw | None, path: str) -> tuple[Piece, ...]:
    """The pieces of a content value: a string is one text, null and "" are none."""
    content = None if raw is None else decoded(raw, _CONTENT, path)
    if isinstance(content, list):
        return tuple(Piece(f"{path}.{index}", fields) for index, fields in enumerate(content))
    return (Piece(path, {"type": Raw(b'"text"'), "text": Raw(msgspec.json.encode(content))}),) if content else ()


def _said(request: Request, index: int, pair: tuple[Message, Fields]) -> Said:
    message, fields = pair
    request.source.wanted.check()
    given = request.source.index_of(message)
    path = f"messages.{index if given is None else given}"
    found = pieces(fields.get("content"), f"{path}.content")
    return Said(path, message.role, tuple(_placed(request, message, found)), fields)


def _placed(request: Request, message: Message, found: tuple[Piece, ...]) -> Iterator[Piece]:
    """The pieces, each named by its place in the client's request where it has one."""
    blocks = blocks_of(message)
    if not blocks:
        yield from found
        return
    for piece, block in zip(found, blocks, strict=True):
        place = request.source.place_of(block)
        path = piece.path if place is None else f"messages.{place[0]}.content.{place[1]}"
        yield Piece(path, piece.fields)
