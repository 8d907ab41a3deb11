"""Changes as a column: JSON, compressed where there are many.

A client that drops its thinking has all of it restored with each request, so each exchange of a conversation has a Change
for every block before it. These differ by a number in their path, and were most of what a long conversation kept: two
megabytes for two hundred turns. Compressed, one of them takes three or four bytes, however they follow each other. To say
them as ranges would take less where every answer thought, but not where some did, and takes longer. What an ordinary
exchange has is short and stays as it is: to compress that would take longer than to write it.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Final

import msgspec

from clew.errors import RecordCorrupt
from clew.model.change import Change
from clew.store.sqlite.pressing import pressed

__all__ = ["LEAST", "changes_of", "column_of"]

LEAST: Final = 1024
"""Bytes of JSON that are worth compressing: some nine Changes."""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(tuple[Change, ...]).decode
_ZLIB: Final = b"\x78"  # what is compressed begins so, and no JSON does


def column_of(changes: Sequence[Change]) -> bytes:
    raw = _encode(changes)
    return raw if len(raw) < LEAST else pressed(raw)


def changes_of(kept: bytes) -> tuple[Change, ...]:
    """Before schema 9 none was compressed. Raises RecordCorrupt for bytes that no Changes make."""
    try:
        return _decode(zlib.decompress(kept) if kept.startswith(_ZLIB) else kept)
    except (zlib.error, msgspec.MsgspecError) as error:
        raise RecordCorrupt(f"the changes of an exchange cannot be read: {error}") from error
