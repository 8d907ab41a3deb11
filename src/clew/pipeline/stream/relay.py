"""Relay: an Anthropic stream on its way to the client, as bytes, with somebody reading along.

`feed` it what came; it returns what may go on now. Only whole events go on, so that whatever happens the client can be told
so between two of them. Three things are decided here:

- *begun*: nothing goes on before the first content event; until then the whole request can still go elsewhere;
- *ending*: the `message_delta` that carries the stop reason, and all after it, is held back until the store has the turn;
- *ended*: without the end event an answer is not whole, however complete it looks.

What came is kept as it came, for the recording, or not at all where nobody wants it: a stream may be long, and there may be
thousands of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from clew.dialects.anthropic.stream_errors import read_any
from clew.errors import StreamIllegal
from clew.model.bounds import check_before, check_blocks, check_held, check_updates
from clew.model.events import (
    BlockDelta,
    BlockStart,
    BlockStop,
    Event,
    MessageDelta,
    MessageStart,
    MessageStop,
    Ping,
    StreamFailed,
    Unknown,
)
from clew.model.json import JsonObject
from clew.model.lifecycle import LENIENT, Lifecycle
from clew.pipeline.stream.answer import Answer, Part, about, answer_of_parts
from clew.pipeline.stream.dress import Dress
from clew.pipeline.stream.hidden import without_secret
from clew.pipeline.stream.kept_parts import KeptParts
from clew.pipeline.stream.pieces import ALL_DELTAS, NO_DELTAS, UNSIGNED_DELTAS, Cut, Piece, pieces_of
from clew.pipeline.stream.rename import renamed_start
from clew.pipeline.stream.sealing import Sealing
from clew.pipeline.stream.usage import lacks_usage, written_with_usage
from clew.wire.chunks import body_of
from clew.wire.events import encode_event
from clew.wire.sse import Frames, SseLimits

__all__ = ["Relay", "Relays"]

_LIMITS = SseLimits()
_ABOUT = (MessageStart, MessageDelta, MessageStop)
_OF_BLOCKS = (BlockStart, BlockDelta, BlockStop)
"""Named, because a union is made anew each time that it is written out."""


class Relays(Protocol):
    """What whoever passes an answer on asks of its relay; see `Relay`."""

    begun: bool
    ended: bool
    failure: StreamFailed | None
    held: list[bytes]
    size: int

    @property
    def stops(self) -> int: ...
    @property
    def raw(self) -> bytes: ...
    @property
    def late(self) -> JsonObject | None: ...
    @property
    def passes(self) -> Callable[[bytes, int], bytes] | None: ...
    def begin(self) -> bytes: ...
    def feed(self, data: bytes) -> bytes: ...
    def flush(self) -> bytes: ...
    def answer(self, *, blocks: bool) -> Answer: ...


class Relay:
    """One answer. Raises StreamIllegal for what no stream may do, SseTooLarge for what is too long."""

    __slots__ = (
        *("_before", "_blocks", "_cut", "_dress", "_ending", "_fits", "_frames", "_held_size", "_is_usual", "_keep"),
        *("_lifecycle", "_most", "_notes", "_open", "_parts", "_raw", "_sealing", "_updates"),
        *("begun", "ended", "failure", "held", "size", "stops"),
    )

    def __init__(self, dress: Dress, limits: SseLimits | None = None, *, keep: bool = True, blocks: bool = True) -> None:
        """`keep` the bytes; with `blocks`, all that is read, and else only what is said about the answer."""
        self.begun = False
        self.ended = False
        self.stops = 0
        """How many blocks have come to their stop."""
        self.failure: StreamFailed | None = None
        """The error event, if one came."""
        self.held: list[bytes] = []
        """The end of the answer, which waits for the store."""
        self._held_size = 0
        self._updates = 0
        self.size = 0
        """The bytes of all whole events so far."""
        self._dress = dress
        self._keep = keep
        self._blocks = blocks
        limits = limits or _LIMITS
        self._frames = Frames(limits)
        self._most = limits.line
        self._raw: list[bytes] = []
        self._parts = KeptParts()
        self._lifecycle = Lifecycle(LENIENT)
        self._sealing = None if dress.wear.is_plain else Sealing(dress)
        self._cut = _cut(dress)
        self._fits = self._cut.fits
        self._open = False
        self._is_usual = False
        """Deltas of the open block may come, and nothing that came before has to do with them."""
        self._notes = keep or blocks or self._sealing is not None
        self._before: list[bytes] = []
        self._ending = False

    @property
    def raw(self) -> bytes:
        """All whole events so far, as they came. May be asked for from another thread while more come."""
        return b"".join(self._raw)

    @property
    def parts(self) -> Sequence[Part]:
        """The same as it was read on the way: runs of deltas as bytes, or joined; and every other event that says something.
        From any thread, too."""
        return self._parts.so_far()

    def answer(self, *, blocks: bool) -> Answer:
        """What came so far, without `blocks` only what is said about it. From any thread, too."""
        return answer_of_parts(self.parts, blocks=blocks)

    @property
    def late(self) -> JsonObject | None:
        """A thinking block for the recording alone, which came too late for the client."""
        return None

    def begin(self) -> bytes:
        """What may go to the client before anything came."""
        return b""

    def feed(self, data: bytes) -> bytes:
        """What may go to the client now.

        A read like most is deltas of the open block, and nothing else. Written in one piece, because every read of every
        stream goes through it.
        """
        size = len(data)
        if not (self._is_usual and size <= self._most and self._fits(data) and b"\r" not in data):
            return self._looked_at(data)
        self.size += size
        if self._notes:
            self._noted(data)
        return data

    def _looked_at(self, data: bytes) -> bytes:
        new = self._passed(self._frames.feed(data))
        self._is_usual = self._open and self._frames.is_clean
        return new

    @property
    def passes(self) -> Callable[[bytes, int], bytes] | None:
        """What the client gets for a chunk of HTTP/1.1, framing and all, that is so long; b"" if it has to be fed, else it
        counts as fed. Holds until something is fed; None if none passes. Where nothing is noted, no bytes are counted."""
        if not self._is_usual:
            return None
        return self._passes if self._notes else self._cut.alone

    def _passes(self, chunk: bytes, size: int) -> bytes:
        if not self._cut.alone(chunk, size):
            return b""
        data = body_of(chunk)
        self.size += len(data)
        self._noted(data)
        return chunk

    def _noted(self, data: bytes) -> None:
        if self._keep:
            self._raw.append(data)
        if self._blocks:
            self._parts.append(data)
        if self._sealing is not None:
            self._sealing.ran(data)

    def _came(self, whole: bytes) -> None:
        self.size += len(whole)
        if self._keep:
            self._raw.append(whole)

    def flush(self) -> bytes:
        """At the end of the stream."""
        return self._passed(self._frames.flush())

    def _passed(self, whole: bytes) -> bytes:
        if not whole:
            return b""
        self._came(whole)
        out: list[bytes] = []
        for piece in pieces_of(whole, self._cut):
            self._place(self._run(piece) if piece.is_run else self._event(piece), out)
        return self._went(out)

    def _went(self, out: list[bytes]) -> bytes:
        self._open = self._lifecycle.is_open and self.begun and not self._ending
        return out[0] if len(out) == 1 else b"".join(out)

    def _place(self, new: bytes, out: list[bytes]) -> None:
        """Now, or with the end, or not before the beginning."""
        if not new:
            return
        if not self.begun:
            self._before.append(new)
            check_before(len(self._before), self.size)
            return
        going = self.held if self._ending else out
        if self._before:
            going += self._before
            self._before = []
        going.append(new)
        if self._ending and not self.ended:
            self._held_size += len(new)
            check_held(len(going), self._held_size)

    def _run(self, piece: Piece) -> bytes:
        if not self._lifecycle.is_open:
            raise StreamIllegal("a delta came while no block was open", state=self._lifecycle.state.name)
        return self._ran(piece.raw)

    def _ran(self, run: bytes) -> bytes:
        if self._blocks:
            self._parts.append(run)
        if self._sealing is not None:
            self._sealing.ran(run)
        return run

    def _event(self, piece: Piece) -> bytes:
        if piece.event is None:
            return piece.raw  # a comment
        event = read_any(piece.event)
        model, raw = self._dress.wear.model, piece.raw
        if isinstance(event, MessageStart) and event.message.get("model") != model:
            raw = renamed_start(raw, piece.event, model)
        elif isinstance(event, StreamFailed) and not event.raw:
            raw = encode_event(event)  # in a shape that clients do not know
        return self._read(event, raw)

    def _read(self, event: Event, raw: bytes) -> bytes:
        """What goes on for an event with these bytes."""
        if isinstance(event, StreamFailed):
            event, raw = without_secret(event, raw, self._dress.wear.secret)
        elif lacks_usage(event):
            raw = written_with_usage(event, raw, self._dress.wear.model)
        self._lifecycle.accept(event)
        if self._blocks and not isinstance(event, Ping):
            self._parts.append(event)
        elif isinstance(event, _ABOUT):
            self._parts.append(about(event))
        self._note(event)
        if self._sealing is not None and isinstance(event, _OF_BLOCKS):
            return self._sealing.feed(event, raw)
        return raw

    def _note(self, event: Event) -> None:
        if isinstance(event, BlockStart):
            check_blocks(self._lifecycle.blocks)
            self.begun = True
        elif isinstance(event, BlockStop):
            self.stops += 1
        elif isinstance(event, StreamFailed):
            self.failure = event
            self._ending = False  # it is told at once, and the end that was held back never is
        elif isinstance(event, MessageStop) or (isinstance(event, MessageDelta) and event.delta.get("stop_reason")):
            self.begun = self._ending = True
            self.ended = self.ended or isinstance(event, MessageStop)
        elif self.begun and isinstance(event, MessageDelta | Unknown):
            self._updates += 1
            check_updates(self._updates)


def _cut(dress: Dress) -> Cut:
    if dress.wear.is_plain:
        return ALL_DELTAS
    return NO_DELTAS if dress.wear.hide else UNSIGNED_DELTAS
