"""The timeline of an exchange: the wait for the first byte, then thinking, text and tools, as they came.

A stream is kept as bytes, and beside it some moments: how much of it was here when. What lies between two of them is taken
to have come evenly, so the times are about right, to a second where an answer is long.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec import Raw, Struct

from clew.store.values import Bodies, Exchange

__all__ = ["Phase", "phases_of"]

Kind: TypeAlias = Literal["waiting", "thinking", "text", "tool", "answer"]

MOST: Final = 60
"""Phases that are shown."""

_EVENT: Final = re.compile(rb"^data: ?(\{.*\})\r?$", re.MULTILINE)
_KINDS: Final[dict[str, Kind]] = {
    "thinking": "thinking",
    "redacted_thinking": "thinking",
    "text": "text",
    "tool_use": "tool",
    "server_tool_use": "tool",
    "mcp_tool_use": "tool",
}
_NOTHING: Final = (b"", b"null", b'""', b"[]")


class Phase(Struct, frozen=True, kw_only=True):
    """What came from when to when, in seconds after the request; `x` and `width` are shares of the whole."""

    kind: Kind
    name: str
    began: float
    ended: float
    x: float
    width: float


class _Block(Struct, frozen=True):
    type: str = ""
    name: str = ""


class _Function(Struct, frozen=True):
    name: str | None = None


class _Call(Struct, frozen=True):
    function: _Function = _Function()


class _Delta(Struct, frozen=True):
    content: Raw = Raw(b"null")
    reasoning_content: Raw = Raw(b"null")
    reasoning: Raw = Raw(b"null")
    tool_calls: list[_Call] | None = None


class _Choice(Struct, frozen=True):
    delta: _Delta = _Delta()


class _Event(Struct, frozen=True):
    """In either dialect; whatever is not there has no say."""

    type: str = ""
    content_block: _Block | None = None
    choices: list[_Choice] | None = None


class _Piece(Struct):
    kind: Kind
    name: str
    first: int
    last: int


def phases_of(exchange: Exchange, bodies: Bodies | None) -> tuple[Phase, ...]:
    """Empty where nothing came."""
    total = exchange.ended - exchange.started
    if exchange.first_byte is None or total <= 0:
        return ()
    pieces = list(_pieces(bodies.answered))[:MOST] if bodies and exchange.streamed else []
    marks = _marks(exchange.first_byte, bodies, total)
    phases = [_phase("waiting", "", 0.0, exchange.first_byte, total)]
    if not pieces:
        return (*phases, _phase("answer", "", exchange.first_byte, total, total))
    ends = [piece.first for piece in pieces[1:]] + [pieces[-1].last]
    starts = [0, *ends[:-1]]
    for piece, start, end in zip(pieces, starts, ends, strict=True):
        phases.append(_phase(piece.kind, piece.name, _time_at(start, marks), _time_at(end, marks), total))
    return tuple(phases)


def _phase(kind: Kind, name: str, began: float, ended: float, total: float) -> Phase:
    ended = max(began, ended)
    share = round(100 * began / total, 2), round(100 * (ended - began) / total, 2)
    return Phase(kind=kind, name=name, began=began, ended=ended, x=share[0], width=share[1])


def _pieces(stream: bytes) -> Iterator[_Piece]:
    """Runs of events of one kind, with where they stand in the stream."""
    piece: _Piece | None = None
    for found in _EVENT.finditer(stream):
        news = _news(found[1])
        if news is not None and (piece is None or news.begins or (news.kind, news.name) != (piece.kind, piece.name)):
            if piece is not None:
                yield piece
            piece = _Piece(news.kind, news.name, found.start(), found.end())
        elif piece is not None:
            piece.last = found.end()
    if piece is not None:
        yield piece


class _News(Struct, frozen=True):
    kind: Kind
    name: str
    begins: bool


def _news(data: bytes) -> _News | None:
    """What an event brings: another block, or more of the same kind; None if neither."""
    try:
        event = msgspec.json.decode(data, type=_Event)
    except (ValueError, RecursionError):
        return None
    if event.content_block is not None:
        kind = _KINDS.get(event.content_block.type, "tool" if event.content_block.type.endswith("_use") else "answer")
        return _News(kind, event.content_block.name, begins=True)
    delta = event.choices[0].delta if event.choices else None
    return _of_delta(delta) if delta else None


def _of_delta(delta: _Delta) -> _News | None:
    if delta.tool_calls:
        name = delta.tool_calls[0].function.name or ""
        return _News("tool", name, begins=True) if name else None
    if any(bytes(each) not in _NOTHING for each in (delta.reasoning_content, delta.reasoning)):
        return _News("thinking", "", begins=False)
    return _News("text", "", begins=False) if bytes(delta.content) not in _NOTHING else None


def _marks(first_byte: float, bodies: Bodies | None, total: float) -> list[tuple[int, float]]:
    """Moments in order, from the first byte to the last."""
    marks = [(0, first_byte)]
    size = len(bodies.answered) if bodies else 0
    for bytes_, seconds in (*(bodies.times if bodies else ()), (size, total)):
        if marks[-1][0] <= bytes_ <= size and marks[-1][1] <= seconds <= total:
            marks.append((bytes_, seconds))
    return marks


def _time_at(offset: int, marks: Sequence[tuple[int, float]]) -> float:
    for (size0, time0), (size1, time1) in pairwise(marks):
        if offset <= size1:
            share = (offset - size0) / (size1 - size0) if size1 > size0 else 1.0
            return time0 + share * (time1 - time0)
    return marks[-1][1]
