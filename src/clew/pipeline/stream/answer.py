"""Answer: what a maker said in all, as blocks, however much of it came.

From a stream it is folded once, when the stream is over, and not while it passes: the deltas of a run are decoded in one
call and joined before the fold sees them, so that an answer of three hundred events costs a few dozen steps. The fold itself
(`model.assemble`) knows the lifecycle; what breaks it is reported, after all that came whole before.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from msgspec import Struct

from clew.errors import StreamIllegal
from clew.model.assemble import Assembler
from clew.model.broken_calls import BrokenCall, broken_calls
from clew.model.events import Event, MessageStart
from clew.model.json import JsonObject, JsonValue
from clew.pipeline.stream.joined import joined
from clew.pipeline.stream.pieces import ALL_DELTAS, pieces_of
from clew.wire.events import decode_event

__all__ = ["Answer", "Part", "about", "answer_of", "answer_of_message", "answer_of_parts", "said_of"]

Part: TypeAlias = bytes | Event
"""Of a stream: a run of deltas as it came, or one other event."""


_SAID = ("usage", "input_transformations")
"""What is said about an answer at its start, and asked for at its end."""


class Answer(Struct, frozen=True, kw_only=True, eq=False):
    """The blocks that came to their stop, and what was said about the answer."""

    blocks: tuple[JsonObject, ...] = ()
    message: JsonObject = {}
    illegal: StreamIllegal | None = None
    """What broke the stream's own grammar, if something did: then this is what came before it."""
    broken_calls: tuple[BrokenCall, ...] = ()
    """Calls that are told as whole, though their arguments are no JSON object."""

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
    """The same for a reader that has read them already. Without `blocks` only what its first and its last events say."""
    return _folded(_opened(parts), blocks)


def about(event: Event) -> Event:
    """As much of it as is said about the answer at its end, if nobody wants its blocks: it waits for that end."""
    if not isinstance(event, MessageStart):
        return event
    return MessageStart(said_of(event.message))


def said_of(message: JsonObject) -> JsonObject:
    return {name: message[name] for name in _SAID if name in message}


def _opened(parts: Iterable[Part]) -> Iterable[Event]:
    """Neighbouring runs are one: each was a read, and may have held a single event."""
    run: list[bytes] = []
    for part in parts:
        if isinstance(part, bytes):
            run.append(part)
            continue
        yield from joined(b"".join(run))
        run.clear()
        yield part
    yield from joined(b"".join(run))


def _folded(events: Iterable[Event], blocks: bool) -> Answer:
    assembler = Assembler()
    illegal: StreamIllegal | None = None
    try:
        for event in events:
            assembler.feed(event)
    except StreamIllegal as error:
        illegal = error
    found = [each for each in assembler.blocks() if each.complete] if blocks else []
    said = tuple([each.block for each in found])
    try:
        message = assembler.message()
        return Answer(blocks=said, message=message, illegal=illegal, broken_calls=broken_calls(message, found))
    except StreamIllegal as error:
        return Answer(illegal=illegal or error)


def answer_of_message(message: JsonObject) -> Answer:
    """The same, of an answer that came in one piece."""
    content = message.get("content")
    blocks = tuple([each for each in content if isinstance(each, dict)]) if isinstance(content, list) else ()
    return Answer(blocks=blocks, message=message)


def _events(raw: bytes, deltas: bool) -> Iterable[Event]:
    for piece in pieces_of(raw, ALL_DELTAS):
        if piece.is_run:
            yield from joined(piece.raw) if deltas else ()
        elif piece.event is not None:
            yield decode_event(piece.event)
