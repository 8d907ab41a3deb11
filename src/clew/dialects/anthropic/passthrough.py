"""Messages on both sides: bytes pass, and a few of them are replaced.

The model's name becomes the one that the client asked for. Usage that a backend does not report is put in, because clients
read it without asking whether it is there: the SDKs end a stream with an error of their own, and Claude Code adds up. What
is recorded stays as the backend said it.

Errors come in whatever shape: relays and other vendors have one for all of their paths. Read as events of an unknown type
they would pass, and the answer would just end.

Runs of deltas pass unread, and are read later in few steps. A vendor spells all its deltas alike: between the strings of two
neighbours stand the same bytes every time. Without those, what is left are the strings as JSON writes them, and these can be
joined before they are read: one call reads a hundred deltas. A run that cannot be read so is read delta by delta.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Final

import msgspec
from msgspec import Struct

from clew.dialects.failures.reading import failure_in, failure_named
from clew.dialects.optional import JoinedDeltas, Passthrough
from clew.errors import RequestInvalid, StreamIllegal
from clew.model.events import BlockDelta, Event, MessageStart, StreamFailed, Unknown, data_of
from clew.model.failure import ERROR_TYPES
from clew.model.json import JsonObject, read_object
from clew.wire.events import decode_event, encode_event, marked, read_marked
from clew.wire.splice import Edit, apply, locate, set_key
from clew.wire.sse import SseEvent, sse_bytes
from clew.wire.sse_runs import WHOLE, Beginnings, run_pattern

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
"""Every event is looked at: for a stream whose blocks are counted again."""

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


def read_run(run: bytes) -> Iterable[Event]:
    """The events of a run, neighbours joined. Raises StreamIllegal at the first that cannot be read."""
    if run.find(b"\n\n") == len(run) - 2:  # a single one
        return (decode_event(SseEvent(b"content_block_delta", run[len(_OPENING) : -2])),)
    return _read_several(run)


def _read_several(run: bytes) -> Iterator[Event]:
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
        if alike is None:
            end = run.index(b"\n\n", at) + 2
            yield JoinedDeltas(0, None, run[at:end])
        else:
            end, deltas = alike.end(), alike[0]
            opening, block, kind, member = alike.groups()
            named = _KINDS.get((kind, member))
            text = None if named is None else _text_of(deltas, opening, is_signature=kind == b"signature")
            if named is None or text is None:
                yield JoinedDeltas(0, None, deltas)
            else:
                yield JoinedDeltas(int(block), {"type": named[0], named[1]: text})
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


_ERROR_NAMES: Final = frozenset({"error", *ERROR_TYPES.values()})
_UNNAMED: Final = (b"", b"message")


class _Message(Struct):
    model: str = ""


class _Start(Struct):
    message: _Message | None = None


_message = msgspec.json.Decoder(_Message)
_start = msgspec.json.Decoder(_Start)


def rename(data: bytes, model: str, path: tuple[str, ...] = ("model",)) -> bytes:
    """The JSON with that model's name; the very same bytes if it has it already, or has no name that could be replaced."""
    try:
        found = _message.decode(data) if len(path) == 1 else _start.decode(data).message
        if found is not None and found.model == model:  # as nearly always
            return data
    except (msgspec.MsgspecError, UnicodeDecodeError):
        pass
    try:
        start, end = locate(data, path)
    except RequestInvalid:
        return data
    name = msgspec.json.encode(model)
    return data if data[start:end] == name else apply(data, [Edit(start, end, name)])


def rename_start(raw: bytes, event: SseEvent, model: str) -> bytes:
    """A `message_start` that names this model."""
    data = rename(event.data, model, ("message", "model"))
    return raw if data is event.data else sse_bytes(event.name, data)


def fill_usage(event: Event, raw: bytes, model: str, usage: JsonObject) -> bytes:
    """An event that lacks usage, with it; its other data stay as they came. `model` is the name as asked."""
    data = data_of(event)
    try:
        if isinstance(event, MessageStart):
            start, end = locate(data, ("message",))
            message = rename(set_key(data[start:end], "usage", msgspec.json.encode(usage)), model)
            data = apply(data, [Edit(start, end, message)])
        else:
            data = set_key(data, "usage", msgspec.json.encode(usage))
    except RequestInvalid:
        return raw
    return sse_bytes(event.type.encode(), data)


def pass_answer(raw: bytes, model: str, usage: JsonObject | None) -> bytes:
    """An answer in one piece: the model's name as asked, and usage where it has none."""
    named = rename(raw, model)
    try:
        return named if usage is None else set_key(named, "usage", msgspec.json.encode(usage))
    except RequestInvalid:
        return named


def read_stream_event(sse: SseEvent) -> Event:
    """As `decode_event`, but for errors, which may have any shape. Raises StreamIllegal."""
    try:
        event = decode_event(sse)
    except StreamIllegal:
        failed = _error_in(sse)
        if failed is None:
            raise
        return failed
    return _error_in(sse) or event if isinstance(event, Unknown) else event


def _error_in(sse: SseEvent) -> StreamFailed | None:
    """An event with a type of its own is no error, whatever is in it: the vendor may add types at any time."""
    data = read_object(sse.data) or {}
    kind = data.get("type")
    if sse.name == b"error" or (isinstance(kind, str) and kind in _ERROR_NAMES):
        return failure_named(sse.data).event()
    failure = failure_in(data) if kind is None and sse.name in _UNNAMED else None
    return failure.event() if failure else None


PASSTHROUGH: Final = Passthrough(
    all_runs=ALL_DELTAS,
    unsigned_runs=UNSIGNED_DELTAS,
    no_runs=NO_DELTAS,
    read_run=read_run,
    join_run=join_run,
    read_event=read_stream_event,
    write_event=encode_event,
    rename_start=rename_start,
    fill_usage=fill_usage,
    pass_answer=pass_answer,
)
