"""The deltas of a run as a few: neighbours of one block and kind become one, with their strings joined.

A vendor spells all its deltas alike: between the strings of two neighbours stand the same bytes every time. Without those,
what is left are the strings as JSON writes them, and these can be joined before they are read: one call reads a hundred
deltas (`wire.strings`). What cannot be read so is read delta by delta, as is all that is unusual.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple

from clew.model.events import BlockDelta, Event
from clew.model.json import JsonObject
from clew.pipeline.stream.pieces import data_in
from clew.wire.events import decode_event
from clew.wire.sse import SseEvent
from clew.wire.strings import marked, read_marked

__all__ = ["joined", "stretches"]

_USUAL = re.compile(
    rb'event: content_block_delta\ndata: \{"type":"content_block_delta","index":(0|[1-9]\d{0,5}),"delta":'
    rb'\{"type":"(text|thinking|input_json|signature)_delta","(text|thinking|partial_json|signature)":"'
)
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
        usual = _USUAL.match(run, at)
        if usual is None or (kind := _KINDS.get((usual[2], usual[3]))) is None:
            end, said, kind = run.index(b"\n\n", at) + 2, None, ("", "")
        else:
            end, said = _alike(run, at, usual[0], is_signature=usual[2] == b"signature")
        if usual is None or said is None:
            yield Stretch(0, None, run[at:end])
        else:
            yield Stretch(int(usual[1]), {"type": kind[0], kind[1]: said})
        at = end


def _alike(run: bytes, at: int, opening: bytes, *, is_signature: bool) -> tuple[int, str | None]:
    """Where the last delta with this opening ends, and what all of them say; None if others stand between them."""
    head = opening[len(_EVENT) :]
    events = run[at + len(_EVENT) :].removesuffix(_CLOSING).split(_BETWEEN)
    while not events[-1].startswith(head):
        events.pop()
    strings = list(map(itemgetter(slice(len(head), None)), events))
    whole = opening + (_BETWEEN + head).join(strings)
    if run.startswith(whole, at):
        return at + len(whole) + len(_CLOSING), _said(strings, is_signature=is_signature)
    return at + len(_EVENT + _BETWEEN.join(events) + _CLOSING), None


def _said(strings: Sequence[bytes], *, is_signature: bool) -> str | None:
    """The strings as one, or, since a second signature replaces the first, the last. None if they cannot be read so."""
    said = read_marked(marked(strings), len(strings))
    return read_marked(strings[-1], 1) if is_signature and said is not None else said


def _one_by_one(run: bytes) -> Iterator[Event]:
    """The slow way, which names what is wrong."""
    for data in data_in(run):
        yield decode_event(SseEvent(b"content_block_delta", data))
