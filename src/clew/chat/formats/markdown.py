"""Markdown, to read and to paste. What a model wrote stands there as it wrote it, Markdown too; all else is fenced."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from clew.chat.formats.pieces import Piece, Speech, heading, speeches
from clew.chat.formats.shape import Format
from clew.store.values import Thread, Turn

__all__ = ["FOR_PEOPLE", "MARKDOWN"]

FOR_PEOPLE = (
    "everything but what people read: signatures, ids, tokens, changes, images",
    "it cannot be imported",
)

_FENCES = re.compile("`{3,}")


def write(thread: Thread, turns: Sequence[Turn]) -> Iterator[bytes]:
    yield f"# {heading(thread)}\n\n".encode(errors="replace")
    for speech in speeches(turns):
        yield "".join(_lines(speech)).encode(errors="replace")


def _lines(speech: Speech) -> Iterator[str]:
    note = f", {speech.note}" if speech.note else ""
    yield f"## {speech.who}\n\n*{speech.at}{note}*\n\n"
    for piece in speech.pieces:
        yield _set(piece)


def _set(piece: Piece) -> str:
    if piece.kind == "text":
        return f"{piece.text}\n\n"
    if piece.kind in ("aside", "other"):
        return f"*({piece.label})*\n\n"
    if piece.kind == "thinking":
        quoted = "\n".join(f"> {line}".rstrip() for line in piece.text.splitlines())
        return f"> **{piece.label}**\n>\n{quoted}\n\n"
    return f"**{piece.label}**\n\n{_fenced(piece.text)}\n\n"


def _fenced(text: str) -> str:
    """A fence that nothing in the text can close."""
    fence = "`" * (max((len(run) for run in _FENCES.findall(text)), default=2) + 1)
    return f"{fence}\n{text}\n{fence}"


MARKDOWN = Format(
    name="markdown",
    suffix=".md",
    does="Markdown to read: thinking quoted, tools fenced.",
    losses=(
        *FOR_PEOPLE,
        "system text and reminders: a line says how long each is",
        "where a model's own Markdown ends: it stands as it was written",
    ),
    write=write,
)
