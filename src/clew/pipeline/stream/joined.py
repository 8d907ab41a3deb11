"""The deltas of a run as a few: neighbours of one block and kind become one, with their strings joined.

A vendor spells all its deltas alike: between the strings of two neighbours stand the same bytes every time. Without those,
what is left are the strings as JSON writes them, and these can be joined before they are read: one call reads a hundred
deltas (`wire.strings`). What cannot be read so is read delta by delta, as is all that is unusual.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple

from clew.model.events import BlockDelta, Event
from clew.model.json import JsonObject
from clew.pipeline.stream.pieces import data_in
from clew.wire.events import decode_event, marked, read_marked
from clew.wire.sse import SseEvent

__all__ = ["Stretch", "joined", "stretches", "stretches_of"]

_ALIKE = re.compile(
    rb'(event: content_block_delta\ndata: \{"type":"content_block_delta","index":(0|[1-9]\d{0,5}),"delta":'
    rb'\{"type":"(text|thinking|input_json|signature)_delta","(text|thinking|partial_json|signature)":")[^\n]*+\n\n'
    rb"(?:\1[^\n]*+\n\n){0,4095}+"
)
"""A delta, and those behind it that begin as it does: not more than a few thousand, since each takes memory of its own until
they are joined."""
_KINDS = {
    (b"text", b"text"): ("text_delta", "text"),
    (b"thinking", b"thinking"): ("thinking_delta", "thinking"),
    (b"input_json", b"partial_json"): ("input_json_delta", "partial_json"),
    (b"signature", b"signature"): ("signature_delta", "signature"),
}
"""What a delta says, by its kind and the member that has it."""
_CLOSING = b'"}}\n\n'
_EVENT = b"event: "
_BETWEEN = _CLOSING + _EVENT
"""Short, because looking for all that stands between two strings takes four times as long."""


class Stretch(NamedTuple):
    """Neighbours in a run that are alike: which block they are for, and all of them as one delta; None if they have to be
    read one by one, and then `raw` are their bytes."""

    block: int
    delta: JsonObject | None
    raw: bytes = b""


def joined(run: bytes) -> Iterator[Event]:
    """The events of a run. Raises StreamIllegal at the first that cannot be read."""
    for block, delta, raw in stretches(run):
        if delta is None:
            yield from _one_by_one(raw)
        else:
            yield BlockDelta(block, delta)


def stretches(run: bytes) -> Iterator[Stretch]:
    """The same, for whoever needs no events."""
    at = 0
    while at < len(run):
        alike = _ALIKE.match(run, at)
        kind = _KINDS.get((alike[3], alike[4])) if alike else None
        if alike is None or kind is None:
            end = run.index(b"\n\n", at) + 2
            yield Stretch(0, None, run[at:end])
        else:
            end = alike.end()
            said = _said_by(alike[0], alike[1], is_signature=alike[3] == b"signature")
            yield Stretch(0, None, alike[0]) if said is None else Stretch(int(alike[2]), {"type": kind[0], kind[1]: said})
        at = end


def stretches_of(parts: Iterable[bytes | Event]) -> Iterator[Stretch]:
    """Those of runs, of which neighbours are one, and of deltas that were read."""
    run: list[bytes] = []
    for part in parts:
        if isinstance(part, bytes):
            run.append(part)
            continue
        yield from stretches(b"".join(run))
        run.clear()
        if isinstance(part, BlockDelta):
            yield Stretch(part.index, part.delta)
    yield from stretches(b"".join(run))


def _said_by(run: bytes, opening: bytes, *, is_signature: bool) -> str | None:
    """What deltas with this opening say; None if they do not all end alike, or cannot be read together."""
    head = opening[len(_EVENT) :]
    events = run[len(_EVENT) :].removesuffix(_CLOSING).split(_BETWEEN)
    strings = list(map(itemgetter(slice(len(head), None)), events))
    if run != opening + (_BETWEEN + head).join(strings) + _CLOSING:
        return None
    return _said(strings, is_signature=is_signature)


def _said(strings: Sequence[bytes], *, is_signature: bool) -> str | None:
    """The strings as one, or, since a second signature replaces the first, the last. None if they cannot be read so."""
    said = read_marked(marked(strings), len(strings))
    return read_marked(strings[-1], 1) if is_signature and said is not None else said


def _one_by_one(run: bytes) -> Iterator[Event]:
    """The slow way, which names what is wrong."""
    for data in data_in(run):
        yield decode_event(SseEvent(b"content_block_delta", data))
