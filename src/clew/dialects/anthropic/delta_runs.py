"""Runs of deltas in a Messages stream: which bytes are one, and how a run is read in few steps.

A vendor spells all its deltas alike: between the strings of two neighbours stand the same bytes every time. Without those,
what is left are the strings as JSON writes them, and these can be joined before they are read: one call reads a hundred
deltas. A run that cannot be read so is read delta by delta.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Final

from clew.dialects.shape import JoinedDeltas
from clew.model.events import BlockDelta, Event
from clew.wire.chunks import WHOLE, Beginnings
from clew.wire.events import decode_event, marked, read_marked
from clew.wire.sse import SseEvent
from clew.wire.sse_runs import run_pattern

_OPENING = b"event: content_block_delta\ndata: "
_BEGINS = _OPENING + b'{"type":"content_block_delta",'
_HEAD = re.escape(_BEGINS)
_REST = rb"[^\n]*+\n\n"
_DELTAS: Final = Beginnings(_BEGINS)
_AFTER_HEAD = len(b"1\r\n" + _BEGINS)


def _pass_delta(chunk: bytes, size: int) -> bytes:
    """Any delta. Nearly every event of a stream passes here; numbers are found in bytes much sooner than bytes."""
    rest = chunk[_AFTER_HEAD:-4]
    if chunk.startswith(_DELTAS[size]) and chunk.endswith(WHOLE) and 10 not in rest and 13 not in rest:
        return chunk
    return b""


ALL_DELTAS = run_pattern(_HEAD + _REST, _pass_delta)
"""Every delta passes: for a stream that is only relayed."""
UNSIGNED_DELTAS = run_pattern(_HEAD + rb'"index":\d++,"delta":\{"type":"(?:text|thinking|input_json)_delta"' + _REST)
"""Text, thinking and tool input pass; a signature has to be read, because a seal takes its place."""
NO_DELTAS = run_pattern(rb"(?!)")
"""Every event is looked at: for a stream whose blocks are counted anew."""

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
"""The kind of a delta and the member that has its text, as the bytes spell them."""
_CLOSING = b'"}}\n\n'
_EVENT = b"event: "
_BETWEEN = _CLOSING + _EVENT
"""Short, because looking for all that stands between two strings takes four times as long."""


def read_run(run: bytes) -> Iterator[Event]:
    """The events of a run, neighbours joined. Raises StreamIllegal at the first that cannot be read."""
    for block, delta, raw in join_run(run):
        if delta is not None:
            yield BlockDelta(block, delta)
            continue
        for data in raw[len(_OPENING) : -2].split(b"\n\n" + _OPENING):
            yield decode_event(SseEvent(b"content_block_delta", data))


def join_run(run: bytes) -> Iterator[JoinedDeltas]:
    """The deltas of a run, neighbours of one block and kind as one."""
    at = 0
    while at < len(run):
        alike = _ALIKE.match(run, at)
        kind = _KINDS.get((alike[3], alike[4])) if alike else None
        if alike is None or kind is None:
            end = run.index(b"\n\n", at) + 2
            yield JoinedDeltas(0, None, run[at:end])
        else:
            end = alike.end()
            text = _text_of(alike[0], alike[1], is_signature=alike[3] == b"signature")
            if text is None:
                yield JoinedDeltas(0, None, alike[0])
            else:
                yield JoinedDeltas(int(alike[2]), {"type": kind[0], kind[1]: text})
        at = end


def _text_of(run: bytes, opening: bytes, *, is_signature: bool) -> str | None:
    """The strings of deltas with this opening as one; None if they do not all end alike, or cannot be read together."""
    head = opening[len(_EVENT) :]
    events = run[len(_EVENT) :].removesuffix(_CLOSING).split(_BETWEEN)
    strings: Sequence[bytes] = list(map(itemgetter(slice(len(head), None)), events))
    if run != opening + (_BETWEEN + head).join(strings) + _CLOSING:
        return None
    text = read_marked(marked(strings), len(strings))
    # A second signature replaces the first.
    return read_marked(strings[-1], 1) if is_signature and text is not None else text
