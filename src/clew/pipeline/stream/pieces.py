"""Cuts whole server-sent events into runs that nobody has to open, and single events that somebody does.

Nine events of ten are deltas. A run of them is one match of one expression, so a read that holds nothing else costs one step
however many events it has. A delta counts as such only if its bytes begin exactly as the vendor writes them: an unusual
spelling is never missed, only slower.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from clew.wire.sse import OTHER, USUAL, SseEvent, read_fields

__all__ = ["ALL_DELTAS", "NO_DELTAS", "UNSIGNED_DELTAS", "Cut", "Piece", "data_in", "pieces_of"]

_OPENING = b"event: content_block_delta\ndata: "
_HEAD = _OPENING + rb'\{"type":"content_block_delta",'
_REST = rb"[^\n]*+\n\n"


class Fits(Protocol):
    """Whether bytes between two places are what is looked for."""

    def __call__(self, string: bytes, pos: int = 0, endpos: int = ...) -> re.Match[bytes] | None: ...


class Cut(NamedTuple):
    """One way to cut: `run` fits a run of what passes, and nothing else; `pieces` finds runs and single events."""

    run: re.Pattern[bytes]
    pieces: re.Pattern[bytes]
    fits: Fits
    """`run.fullmatch`, bound once for all answers."""


def _cut(dull: bytes) -> Cut:
    runs = re.compile(b"((?:" + dull + b")++)")
    return Cut(runs, re.compile(runs.pattern + b"|" + USUAL + b"|" + OTHER), runs.fullmatch)


ALL_DELTAS = _cut(_HEAD + _REST)
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
