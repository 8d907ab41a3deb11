"""A conversation as people read it: who speaks, and the pieces of what is said. Markdown and HTML are two ways to set them.

Every text is anybody's. Control characters are shown as escapes here already, for all who set them: a page that is looked at
in a terminal must not move its cursor.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from clew.chat.formats.turns import messages_of
from clew.model.json import JsonObject, JsonValue
from clew.store.endings import ending_word, unfinished_word
from clew.store.values import Thread, Turn

__all__ = ["Kind", "Piece", "Speech", "clean", "heading", "speeches"]

Kind: TypeAlias = Literal["text", "aside", "thinking", "call", "result", "failure", "other"]


_REMINDER = re.compile("<system-reminder>(.*?)</system-reminder>", re.DOTALL)


class Piece(Struct, frozen=True):
    """One block: its kind, what stands over it, and its text."""

    kind: Kind
    label: str
    text: str


class Speech(Struct, frozen=True):
    """What one of them says at one time."""

    who: str
    at: str
    note: str
    pieces: Sequence[Piece]


def clean(text: str) -> str:
    """The text with nothing in it that a terminal would obey; line breaks and tabs stay."""
    return "".join(char if char.isprintable() or char in "\n\t" else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode()


def heading(thread: Thread) -> str:
    return clean(" ".join(thread.title.split())) or f"Conversation {clean(thread.id)}"


def speeches(turns: Sequence[Turn]) -> Iterator[Speech]:
    """Everything in the order in which it was said, every branch."""
    newest: str | None = None
    for turn in turns:
        if turn.exchange.kind != "messages":
            continue
        asked = _time(turn.exchange.started)
        for message in messages_of(turn):
            role = str(message.get("role"))
            yield Speech(clean(role), asked, "", [*_folded(_pieces(message.get("content")), role)])
        yield _answer(turn, newest)
        newest = turn.recording.id if turn.recording and turn.recording.blocks else newest


def _answer(turn: Turn, newest: str | None) -> Speech:
    recording, at = turn.recording, _time(turn.exchange.ended)
    if recording is None or not recording.blocks:
        return Speech("no answer", at, clean(f"{ending_word(turn.exchange)}, {turn.exchange.status}"), ())
    notes = [] if recording.whole else [unfinished_word(turn.exchange)]
    if newest is not None and recording.followed != newest:
        notes.append("goes on from an earlier answer" if recording.followed else "begins anew")
    blocks = [msgspec.json.decode(raw, type=JsonObject) for raw in recording.blocks]
    who = clean(f"{recording.origin.model} ({recording.origin.backend})")
    return Speech(who, at, ", ".join(notes), [_piece(block) for block in blocks])


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _pieces(content: JsonValue) -> list[Piece]:
    if isinstance(content, list):
        return [_piece(block) for block in content if isinstance(block, dict)]
    return [Piece("text", "", clean(str(content or "")))]


def _folded(pieces: Sequence[Piece], role: str) -> Iterator[Piece]:
    """What a client tells the model beside what a person said: it can fill pages, so it is there to be opened."""
    for piece in pieces:
        if piece.kind != "text":
            yield piece
        elif role == "system":
            yield _aside("System text", piece.text)
        else:
            yield from _without_reminders(piece.text)


def _without_reminders(text: str) -> Iterator[Piece]:
    at = 0
    for found in _REMINDER.finditer(text):
        yield from _words(text[at : found.start()])
        yield _aside("System reminder", found[1])
        at = found.end()
    if at == 0 or text[at:].strip():
        yield Piece("text", "", text[at:])


def _words(text: str) -> Iterator[Piece]:
    if text.strip():
        yield Piece("text", "", text)


def _aside(label: str, text: str) -> Piece:
    return Piece("aside", f"{label}, {len(text):,} characters", text.strip())


def _piece(block: JsonObject) -> Piece:
    kind = str(block.get("type"))
    if kind == "text":
        return Piece("text", "", clean(str(block.get("text") or "")))
    if kind == "thinking":
        return Piece("thinking", "Thinking", clean(str(block.get("thinking") or "")) or "(its maker does not show it)")
    if kind.endswith("tool_use"):
        return Piece("call", clean(str(block.get("name"))), clean(msgspec.json.encode(block.get("input")).decode()))
    if kind.endswith("tool_result"):
        failed = bool(block.get("is_error"))
        return Piece("failure" if failed else "result", "Error" if failed else "Result", _result(block.get("content")))
    return Piece("other", clean(kind.replace("_", " ")), "")


def _result(content: JsonValue) -> str:
    return "\n".join(piece.text or f"({piece.label})" for piece in _pieces(content))
