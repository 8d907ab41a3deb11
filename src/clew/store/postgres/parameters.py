"""Parameters as bytes, by their types: what a turn needs dozens of, at once and without asking each value for its type.

A statement that is prepared with other types is another statement, so the type of a parameter must not depend on its value:
a NULL and a small number have the type of any other. Texts are sent without one, and the server gives them that of their
column.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from struct import Struct
from typing import Final

from psycopg.postgres import types

INTEGER, FLOAT, BYTES = (types[name].oid for name in ("int8", "float8", "bytea"))
TEXT: Final = 0
"""No type of its own."""
_pack_integer: Final = Struct(">q").pack
_pack_float: Final = Struct(">d").pack


def encode_parameters(
    texts: Iterable[str | None],
    integers: Iterable[int | None],
    floats: Iterable[float | None],
    blobs: Iterable[bytes | None],
) -> list[bytes | None]:
    """In this order. Texts must be clean (`clean_texts`)."""
    return [
        *[None if each is None else each.encode() for each in texts],
        *[None if each is None else _pack_integer(each) for each in integers],
        *[None if each is None else _pack_float(each) for each in floats],
        *blobs,
    ]


def clean_texts(texts: Sequence[str | None]) -> Sequence[str | None]:
    """Texts as PostgreSQL takes them, looked through all at once, since nearly all of them are so."""
    joined = "".join(filter(None, texts))
    if joined.isascii() and "\0" not in joined:
        return texts
    return [each and clean_text(each) for each in texts]


def clean_text(text: str) -> str:
    """As PostgreSQL takes it: its texts have neither a NUL nor half a surrogate pair."""
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def array_text(items: Sequence[str]) -> str:
    """An array as the server reads it, of items that need no quotes."""
    return "{" + ",".join(items) + "}"


def bytes_array_text(items: Sequence[bytes]) -> str:
    return "{" + ",".join([f'"\\\\x{item.hex()}"' for item in items]) + "}"
