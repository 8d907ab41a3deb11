"""Answer: what a maker said in all, as blocks, however much of it came.

From a stream it is folded once, when the stream is over, and not while it passes: the deltas of a run are decoded in one
call and joined before the fold sees them, so that an answer of three hundred events costs a few dozen steps. The fold itself
(`model.assemble`) knows the lifecycle; what breaks it is reported, after all that came whole before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter
from typing import TypeAlias

import msgspec
from msgspec import Struct, field

from clew.errors import StreamIllegal
from clew.model.assemble import Assembler
from clew.model.events import BlockDelta, Event, MessageDelta, MessageStart, MessageStop
from clew.model.json import JsonObject, JsonValue
from clew.pipeline.stream.pieces import ALL_DELTAS, data_in, pieces_of
from clew.wire.events import decode_event
from clew.wire.sse import SseEvent

__all__ = ["Answer", "Part", "answer_of", "answer_of_message", "answer_of_parts"]

Part: TypeAlias = bytes | Event
"""Of a stream: a run of deltas as it came, or one other event."""


class Answer(Struct, frozen=True, kw_only=True, eq=False):
    """The blocks that came to their stop, and what was said about the answer."""

    blocks: tuple[JsonObject, ...] = ()
    message: JsonObject = {}
    illegal: StreamIllegal | None = None
    """What broke the stream's own grammar, if something did: then this is what came before it."""

    @property
    def stop_reason(self) -> str:
        return _text(self.message.get("stop_reason"))

    @property
    def model(self) -> str:
        """As the maker names itself."""
        return _text(self.message.get("model"))

    @property
    def usage(self) -> JsonObject:
        usage = self.message.get("usage")
        return usage if isinstance(usage, dict) else {}

    @property
    def dropped(self) -> tuple[tuple[str, str], ...]:
        """Path and reason of each thinking block that the vendor says it did not read (R46)."""
        told = self.message.get("input_transformations")
        rows = [each for each in told if isinstance(each, dict)] if isinstance(told, list) else []
        return tuple((_text(row.get("path")), _text(row.get("reason"))) for row in rows if _is_drop(row))


def _is_drop(row: JsonObject) -> bool:
    return row.get("type") == "thinking_dropped"


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


def answer_of(raw: bytes, *, blocks: bool = True) -> Answer:
    """What these events tell: whole ones, as they came from the maker. Without `blocks` only what is said about it."""
    return _folded(_events(raw, blocks), blocks)


def answer_of_parts(parts: Iterable[Part], *, blocks: bool = True) -> Answer:
    """The same for whoever has read them already. Without `blocks` only what its first and its last events say."""
    if blocks:
        return _folded(_opened(parts), blocks)
    return _folded([part for part in parts if isinstance(part, MessageStart | MessageDelta | MessageStop)], blocks)


def _opened(parts: Iterable[Part]) -> Iterable[Event]:
    """Neighbouring runs are one: each was a read, and may have held a single event."""
    run: list[bytes] = []
    for part in parts:
        if isinstance(part, bytes):
            run.append(part)
            continue
        yield from _joined(data_in(b"".join(run)))
        run.clear()
        yield part
    yield from _joined(data_in(b"".join(run)))


def _folded(events: Iterable[Event], blocks: bool) -> Answer:
    assembler = Assembler()
    illegal: StreamIllegal | None = None
    try:
        for event in events:
            assembler.feed(event)
    except StreamIllegal as error:
        illegal = error
    said = tuple(each.block for each in assembler.blocks() if each.complete) if blocks else ()
    try:
        return Answer(blocks=said, message=assembler.message(), illegal=illegal)
    except StreamIllegal as error:
        return Answer(illegal=illegal or error)


def answer_of_message(message: JsonObject) -> Answer:
    """The same, of an answer that came in one piece."""
    content = message.get("content")
    blocks = tuple(each for each in content if isinstance(each, dict)) if isinstance(content, list) else ()
    return Answer(blocks=blocks, message=message)


def _events(raw: bytes, deltas: bool) -> Iterable[Event]:
    for piece in pieces_of(raw, ALL_DELTAS):
        if piece.is_run:
            yield from _joined(data_in(piece.raw)) if deltas else ()
        elif piece.event is not None:
            yield decode_event(piece.event)


class _Delta(Struct, gc=False, tag_field="type"):
    """One that carries one string."""


class _Text(_Delta, tag="text_delta"):
    said: str = field(name="text")


class _Thinking(_Delta, tag="thinking_delta"):
    said: str = field(name="thinking")


class _Input(_Delta, tag="input_json_delta"):
    said: str = field(name="partial_json")


class _Signature(_Delta, tag="signature_delta"):
    said: str = field(name="signature")


class _Row(Struct, gc=False, tag_field="type", tag=BlockDelta.type):
    index: int
    delta: _Text | _Thinking | _Input | _Signature


_rows = msgspec.json.Decoder(list[_Row])
_block_and_kind = attrgetter("index", "delta.__class__")
_MEMBERS = {_Text: "text", _Thinking: "thinking", _Input: "partial_json", _Signature: "signature"}


def _joined(data: Sequence[bytes]) -> Iterable[Event]:
    """Neighbours of one kind and block as one. Whatever is unusual goes the slow way."""
    try:
        rows = _rows.decode(b"[" + b",".join(data) + b"]")
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _one_by_one(data)
    if len(rows) != len(data):  # a line that reads as two
        return _one_by_one(data)
    return [_merged(list(group)) for _, group in groupby(rows, key=_block_and_kind)]


def _merged(rows: list[_Row]) -> Event:
    """With the strings joined, or, since a second signature replaces the first, with the last."""
    delta = rows[0].delta
    said = rows[-1].delta.said if isinstance(delta, _Signature) else "".join([row.delta.said for row in rows])
    member = _MEMBERS[type(delta)]
    return BlockDelta(rows[0].index, {"type": delta.__struct_config__.tag, member: said})


def _one_by_one(data: Sequence[bytes]) -> Iterable[Event]:
    """The slow way, which names what is wrong."""
    return [decode_event(SseEvent(b"content_block_delta", each)) for each in data]
