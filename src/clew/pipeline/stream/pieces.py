"""Cuts whole server-sent events into runs that nobody has to open, and single events that somebody does.

Nine events of ten are deltas. A run of them is one match of one expression, so a read that holds nothing else costs one step
however many events it has. A delta counts as such only if its bytes begin exactly as the vendor writes them: an unusual
spelling is never missed, only slower.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, Protocol, TypeAlias

from clew.wire.chunks import SIZE_LINES, WHOLE, Beginnings
from clew.wire.sse import OTHER, USUAL, SseEvent, read_fields

__all__ = ["ALL_DELTAS", "NO_DELTAS", "UNSIGNED_DELTAS", "Alone", "Cut", "Piece", "data_in", "pieces_of"]

_OPENING = b"event: content_block_delta\ndata: "
_BEGINS = _OPENING + b'{"type":"content_block_delta",'
_HEAD = re.escape(_BEGINS)
_REST = rb"[^\n]*+\n\n"


_DELTAS: Final = Beginnings(_BEGINS)
_SAID = len(b"1\r\n" + _BEGINS)
"""Where nothing but the last of what a delta begins with stands before what it says."""

Alone: TypeAlias = Callable[[bytes, int], bytes]
"""A chunk of this length, if it is one event, whole, that passes, and nothing else; else b""."""


class Fits(Protocol):
    """Whether bytes between two places are what is looked for."""

    def __call__(self, string: bytes, pos: int = 0, endpos: int = ...) -> re.Match[bytes] | None: ...


class Cut(NamedTuple):
    """One way to cut: `run` fits a run of what passes, and nothing else; `pieces` finds runs and single events."""

    run: re.Pattern[bytes]
    pieces: re.Pattern[bytes]
    fits: Fits
    """`run.fullmatch`, bound once for all answers."""
    alone: Alone


def _cut(dull: bytes, alone: Alone | None = None) -> Cut:
    runs = re.compile(b"((?:" + dull + b")++)")
    fits = runs.fullmatch
    return Cut(runs, re.compile(runs.pattern + b"|" + USUAL + b"|" + OTHER), fits, alone or _alone(fits))


def _alone(fits: Fits) -> Alone:
    def alone(chunk: bytes, size: int) -> bytes:
        line, end = SIZE_LINES[size], size - 2
        if not (chunk.startswith(line) and chunk.endswith(WHOLE) and fits(chunk, start := len(line), end)):
            return b""
        return chunk if chunk.find(b"\r", start, end) < 0 else b""

    return alone


def _delta_alone(chunk: bytes, size: int) -> bytes:
    """Any delta. Nearly every event of a stream passes here; numbers are found in bytes much sooner than bytes."""
    said = chunk[_SAID:-4]
    if chunk.startswith(_DELTAS[size]) and chunk.endswith(WHOLE) and 10 not in said and 13 not in said:
        return chunk
    return b""


ALL_DELTAS = _cut(_HEAD + _REST, _delta_alone)
"""Every delta passes: for a stream that is only relayed."""
UNSIGNED_DELTAS = _cut(_HEAD + rb'"index":\d++,"delta":\{"type":"(?:text|thinking|input_json)_delta"' + _REST)
"""Text, thinking and tool input pass; a signature has to be read, because a seal takes its place."""
NO_DELTAS = _cut(rb"(?!)")
"""Every event is looked at: for a stream whose blocks are counted anew."""


class Piece(NamedTuple):
    """A run of deltas (`event` is None), or one event; `raw` are its bytes. An event without data is only bytes."""

    raw: bytes
    event: SseEvent | None
    is_run: bool


def pieces_of(whole: bytes, cut: Cut) -> Iterator[Piece]:
    """The pieces of these events, in order; together they are all the bytes."""
    for match in cut.pieces.finditer(whole):
        run, name, data, other = match.groups()
        if run:
            yield Piece(run, None, True)
        elif name is not None:
            yield Piece(match[0], SseEvent(name, data), False)
        else:
            yield Piece(other, read_fields(other), False)


def data_in(run: bytes) -> list[bytes]:
    """The data of each event of a run. They are all spelled alike, and no data holds a line end."""
    return run[len(_OPENING) : -2].split(b"\n\n" + _OPENING) if run else []
