"""Cuts whole server-sent events into runs that need not be opened, and single events that somebody reads.

Nine events of ten are deltas. A run of them is one match of one expression, so a read that holds nothing else costs one step
however many events it has. An event belongs to a run only if its bytes begin exactly as the dialect's pattern says: an
unusual spelling is never missed, only slower.

Nearly every event comes alone, in a chunk of HTTP/1.1 that is a read of its own. At a place where a chunk must begin, bytes
that start with their own size and end as an event ends can be read in one way only. How they must start follows from their
length, so it is computed once for each length.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, Protocol, TypeAlias

from clew.wire.sse import OTHER, USUAL, SseEvent, read_fields

WHOLE: Final = b"\n\n\r\n"
"""How a chunk ends that ends with an event. No line of framing can end so."""
_LONGEST: Final = 4096
_CRLF: Final = b"\r\n"


def body_of(chunk: bytes) -> bytes:
    """The bytes between the size line and the end of a chunk."""
    return chunk[chunk.index(b"\n") + 1 : -len(_CRLF)]


class Beginnings(dict[int, bytes]):
    """The first bytes of a chunk whose event begins with `opening`, by the length of the whole chunk.

    Of a chunk that is too long, bytes that no chunk begins with.
    """

    __slots__ = ("_opening",)

    def __init__(self, opening: bytes = b"") -> None:
        super().__init__()
        self._opening = opening

    def __missing__(self, length: int) -> bytes:
        for digits in (1, 2, 3):
            body = length - digits - len(_CRLF) - len(_CRLF)
            if 0 < body < _LONGEST and len(line := b"%x\r\n" % body) == digits + len(_CRLF):
                self[length] = begins = line + self._opening
                return begins
        return bytes(length + 1)  # no chunk begins with bytes that are longer than the chunk


SIZE_LINES: Final = Beginnings()
"""The size line of a chunk, by the length of the whole chunk."""


PassChunk: TypeAlias = Callable[[bytes, int], bytes]
"""A chunk of HTTP/1.1 of this length, if it is one whole event of a run and nothing else; else b""."""


class FullMatch(Protocol):
    """`re.Pattern.fullmatch`, bound."""

    def __call__(self, string: bytes, pos: int = 0, endpos: int = ...) -> re.Match[bytes] | None: ...


class RunPattern(NamedTuple):
    """One way to cut: `run` fits a run and nothing else; `pieces` finds runs and single events."""

    run: re.Pattern[bytes]
    pieces: re.Pattern[bytes]
    fits: FullMatch
    """`run.fullmatch`, bound once for all answers."""
    pass_chunk: PassChunk


def run_pattern(event: bytes, pass_chunk: PassChunk | None = None) -> RunPattern:
    """The pattern for runs of events that this expression fits."""
    runs = re.compile(b"((?:" + event + b")++)")
    fits = runs.fullmatch
    pieces = re.compile(runs.pattern + b"|" + USUAL + b"|" + OTHER)

    def pass_fitting(chunk: bytes, size: int) -> bytes:
        line, end = SIZE_LINES[size], size - 2
        if not (chunk.startswith(line) and chunk.endswith(WHOLE) and fits(chunk, start := len(line), end)):
            return b""
        return chunk if chunk.find(b"\r", start, end) < 0 else b""

    return RunPattern(runs, pieces, fits, pass_chunk or pass_fitting)


class StreamPiece(NamedTuple):
    """A run (`event` is None), or one event; `raw` are its bytes. An event without data is only bytes."""

    raw: bytes
    event: SseEvent | None
    is_run: bool


def pieces_of(whole: bytes, pattern: RunPattern) -> Iterator[StreamPiece]:
    """The pieces of these whole events, in order; together they are all the bytes."""
    for match in pattern.pieces.finditer(whole):
        run, name, data, other = match.groups()
        if run:
            yield StreamPiece(run, None, True)
        elif name is not None:
            yield StreamPiece(match[0], SseEvent(name, data), False)
        else:
            yield StreamPiece(other, read_fields(other), False)
