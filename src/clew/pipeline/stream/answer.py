"""Answer: what a maker said in all, as blocks, however much of it came.

A stream is folded once, when it is over, and not while it passes: its parts are kept (`AnswerParts`), the deltas of a run
are decoded in one call and joined before the fold sees them, so that an answer of three hundred events costs a few dozen
steps. The fold itself (`model.assemble`) knows the lifecycle; what breaks it is reported, after all that came whole before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final, TypeAlias, cast

from msgspec import Struct

from clew.dialects.optional import JoinedDeltas, Passthrough
from clew.errors import StreamIllegal
from clew.model.assemble import Assembler
from clew.model.change import BrokenCall, broken_calls
from clew.model.events import BlockDelta, Event, MessageStart, Ping, Unknown
from clew.model.json import JsonObject, objects_of, text_of

StreamPart: TypeAlias = bytes | Event
"""Of a stream: a run of deltas as it came, or one other event."""

_ABOUT = ("usage", "input_transformations")
"""What is said about an answer at its start, and asked for at its end."""


class AnswerSoFar(Struct, frozen=True, kw_only=True, eq=False):
    """The blocks that came to their stop, and what was said about the answer."""

    blocks: tuple[JsonObject, ...] = ()
    cut: tuple[JsonObject, ...] = ()
    """Blocks whose stop did not come, as far as they came."""
    message: JsonObject = {}
    illegal: StreamIllegal | None = None
    """What broke the stream's own grammar, if something did: then this is what came before it."""
    broken_calls: tuple[BrokenCall, ...] = ()
    """Calls that are told as whole, though their arguments are not a JSON object."""

    @property
    def stop_reason(self) -> str:
        return text_of(self.message.get("stop_reason"))

    @property
    def model(self) -> str:
        """As the maker names itself."""
        return text_of(self.message.get("model"))

    @property
    def usage(self) -> JsonObject:
        usage = self.message.get("usage")
        return usage if isinstance(usage, dict) else {}

    @property
    def dropped(self) -> tuple[tuple[str, str], ...]:
        """Path and reason of each thinking block that the vendor says it did not read (R46)."""
        rows = objects_of(self.message.get("input_transformations"))
        drops = [row for row in rows if row.get("type") == "thinking_dropped"]
        return tuple((text_of(row.get("path")), text_of(row.get("reason"))) for row in drops)


def answer_of_message(message: JsonObject) -> AnswerSoFar:
    """An answer that came in one piece."""
    return AnswerSoFar(blocks=tuple(objects_of(message.get("content"))), message=message)


def answer_of_parts(
    parts: Iterable[StreamPart], passthrough: Passthrough | None = None, *, blocks: bool = True
) -> AnswerSoFar:
    """What these parts of a stream tell; `passthrough` reads the runs among them. Without `blocks` only what is said about
    the answer."""
    assembler = Assembler()
    illegal: StreamIllegal | None = None
    try:
        for is_run, group in groupby(parts, _is_run):
            if is_run:  # neighbouring runs are one: each was a read, and may have held a single event
                assert passthrough is not None
                _feed_run(assembler, b"".join(cast(Iterable[bytes], group)), passthrough)
            else:
                for event in cast(Iterable[Event], group):
                    assembler.feed(event)
    except StreamIllegal as error:
        illegal = error
    assembled = assembler.blocks() if blocks else ()
    found = [each for each in assembled if each.complete]
    try:
        message = assembler.message()
    except StreamIllegal as error:
        return AnswerSoFar(illegal=illegal or error)
    calls = broken_calls(message, found)
    return AnswerSoFar(
        blocks=tuple([each.block for each in found]),
        cut=tuple([each.block for each in assembled if not each.complete]),
        message=message,
        illegal=illegal,
        broken_calls=calls,
    )


def _is_run(part: StreamPart) -> bool:
    return isinstance(part, bytes)


def _feed_run(assembler: Assembler, run: bytes, passthrough: Passthrough) -> None:
    for block, delta, raw in passthrough.join_run(run):
        if delta is not None:
            assembler.grow(block, delta)
        else:
            for event in passthrough.read_run(raw):
                assembler.feed(event)


_LOOSE: Final = 512
_LOOSE_BYTES: Final = 64 * 1024
"""So many deltas, or so much of them, are kept as they came."""
_FEW: Final = 64

_MEMBERS: Final = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
"""The member that is joined. Of all other deltas the last counts, as of signatures, or they stand alone."""
_KINDS: Final = {"text_delta": 0, "thinking_delta": 1, "signature_delta": 1, "input_json_delta": 2}
"""Deltas with one number may come in any order: the last signature counts, and the others are joined."""


class AnswerParts:
    """The parts of a stream, kept for the answer that is put together of them in the end.

    A block may come in hundreds of thousands of deltas of one letter. As they came they take twenty times as much memory as
    their text, so they are joined now and then: all deltas of one kind become one.
    """

    __slots__ = ("_bytes", "_keeps_blocks", "_loose", "_parts", "_passthrough")

    def __init__(self, passthrough: Passthrough | None, *, blocks: bool) -> None:
        """Without `blocks`, only what is said about the answer is kept, and a stream takes no memory."""
        self._passthrough = passthrough
        self._keeps_blocks = blocks
        self._parts: list[StreamPart] = []
        self._loose = 0
        """How many of the last parts are deltas as they came."""
        self._bytes = 0

    def so_far(self) -> Sequence[StreamPart]:
        """May be asked for from another thread while more come."""
        return tuple(self._parts)

    def add_run(self, run: bytes) -> None:
        if self._keeps_blocks:
            self._bytes += len(run)
            self._add_delta(run)

    def add(self, event: Event) -> None:
        kind = type(event)
        if kind is BlockDelta:
            if self._keeps_blocks:
                self._add_delta(event)
        elif self._keeps_blocks:
            if kind is not Ping and kind is not Unknown:
                self._parts.append(event)
                self._loose = self._bytes = 0
        elif isinstance(event, MessageStart):
            self._parts.append(MessageStart({name: event.message[name] for name in _ABOUT if name in event.message}))
        elif event.type in ("message_delta", "message_stop"):
            self._parts.append(event)

    def _add_delta(self, part: StreamPart) -> None:
        self._parts.append(part)
        self._loose += 1
        if self._loose >= _LOOSE or self._bytes >= _LOOSE_BYTES:
            alike = groupby(self._deltas_of(self._parts[-self._loose :]), _group_of)
            few = [part for _, group in alike for part in _as_few(list(group))]
            if len(few) <= _FEW:  # else other events stand between nearly all of them
                self._parts[-self._loose :] = few
            self._loose = self._bytes = 0

    def _deltas_of(self, parts: Sequence[StreamPart]) -> Iterator[JoinedDeltas]:
        """Deltas of runs, of which neighbours are one, and deltas that were read."""
        for is_run, group in groupby(parts, _is_run):
            if is_run:
                assert self._passthrough is not None
                yield from self._passthrough.join_run(b"".join([part for part in group if isinstance(part, bytes)]))
            else:
                yield from [JoinedDeltas(part.index, part.delta) for part in group if isinstance(part, BlockDelta)]


def _group_of(deltas: JoinedDeltas) -> tuple[int, int]:
    """Deltas of the same group can be joined."""
    delta = deltas.delta
    return (-1, 0) if delta is None else (deltas.block, _KINDS.get(str(delta["type"]), id(delta)))


def _as_few(alike: Sequence[JoinedDeltas]) -> Iterator[StreamPart]:
    """At most one for each kind of delta."""
    by_kind: dict[str, list[JsonObject]] = {}
    for each in alike:
        if each.delta is None:
            yield each.raw
        else:
            by_kind.setdefault(str(each.delta["type"]), []).append(each.delta)
    for kind, deltas in by_kind.items():
        member = _MEMBERS.get(kind)
        if member is None:
            yield BlockDelta(alike[0].block, deltas[-1])
        else:
            yield BlockDelta(alike[0].block, {"type": kind, member: "".join([str(each[member]) for each in deltas])})
