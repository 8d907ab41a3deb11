"""Tool call ids that every backend takes. The same id always becomes the same one, so that calls and results still meet."""

from __future__ import annotations

import hashlib
import re

from clew.dialects.openai_chat.request.notes import Notes
from clew.dialects.openai_chat.request.reading import Piece
from clew.dialects.openai_chat.wire import Wire

__all__ = ["call_id"]

NINE = "this backend takes only ids of nine letters and digits"

_NINE = re.compile(r"[a-zA-Z0-9]{9}")
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def call_id(piece: Piece, key: str, wire: Wire, notes: Notes) -> str:
    """The id to send of a call or of a result: as given where the backend takes any, or if it fits."""
    given = piece.string(key)
    if wire.call_ids == "kept" or _NINE.fullmatch(given):
        return given
    notes.alike("call_ids", f"{piece.path}.{key}", "replaced", NINE)
    number = int.from_bytes(hashlib.sha256(given.encode()).digest()[:8], "big")
    return "".join(_DIGITS[number // 62**place % 62] for place in range(9))
