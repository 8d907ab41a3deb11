"""What only API version 2026-10-21 refuses in messages (R2). Its other novelty, no sampling parameters, is in the tables."""

from __future__ import annotations

from collections.abc import Iterator

from clew.thinking.compliance.reading import Check, Piece, Reading, Spot, at, listed

__all__ = ["RULES"]

NEWER = "2026-10-21"


def _said_by(reading: Reading, role: str, kind: str) -> Iterator[Piece]:
    """Blocks of this kind directly in messages of this role; none under the older version."""
    if reading.version == NEWER:
        messages = (message for message in reading.messages if message.role == role)
        yield from (piece for message in messages for piece in message.pieces if piece.type == kind)


def _document_in_assistant(reading: Reading) -> Iterator[Spot]:
    return (at(piece.path) for piece in _said_by(reading, "assistant", "document"))


def _citations_in_user(reading: Reading) -> Iterator[Spot]:
    cited = (piece for piece in _said_by(reading, "user", "text") if listed(piece.value.get("citations")))
    return (at(f"{piece.path}.text.citations") for piece in cited)


RULES: dict[str, Check] = {
    "R2.document-in-assistant": _document_in_assistant,
    "R2.citations-in-user": _citations_in_user,
}
