"""AnswerStream: one streamed answer on its way from the backend to the client.

`feed` it what came; it returns what may go on now. Only whole events go on, so that the client can always be told of a break
between two of them. Three things are decided here, whatever the dialects:

- *begun*: nothing goes on before the first content event; until then the whole request can still go elsewhere;
- *ending*: the `message_delta` that carries the stop reason, and all after it, is held back until the store has the turn;
- *ended*: without the end event an answer is not whole, however complete it looks.

What came is kept in the backend's own bytes only if they are wanted: there may be thousands of long streams.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial

from clew.errors import StreamIllegal
from clew.model.assemble import Assembler
from clew.model.bounds import check_before, check_blocks, check_held, check_updates
from clew.model.events import (
    BlockDelta,
    BlockStart,
    BlockStop,
    Event,
    MessageDelta,
    MessageStart,
    MessageStop,
    StreamFailed,
    Unknown,
)
from clew.model.json import JsonObject
from clew.pipeline.stream.answer import AnswerSoFar, answer_of
from clew.pipeline.stream.client_view import ClientView, MissingUsage
from clew.pipeline.stream.sealed_blocks import SealedBlocks
from clew.wire.sse_runs import PassChunk


class AnswerStream(ABC):
    """One answer. Raises StreamIllegal for what no stream may do, SseTooLarge for what is too long."""

    __slots__ = (
        *("_assembler", "_before", "_held_size", "_illegal", "_is_ending", "_keeps_raw", "_order", "_raw", "_sealed"),
        *("_uncounted", "_updates", "_view", "begun", "ended", "failure", "held", "size", "stops"),
    )

    def __init__(
        self, view: ClientView, read_run: Callable[[bytes], Iterable[Event]] | None, *, keep: bool, blocks: bool
    ) -> None:
        """`read_run` reads deltas that passed as bytes; None where none do. `keep` the backend's bytes; with `blocks`, all
        that is read, and else only what is said about the answer."""
        self.begun = False
        self.ended = False
        self.stops = 0
        """How many blocks have come to their stop."""
        self.failure: StreamFailed | None = None
        """The error event, if one came."""
        self.held: list[bytes] = []
        """The end of the answer, which waits for the store."""
        self.size = 0
        """How many bytes came."""
        self._view = view
        self._sealed = None if view.options.is_plain else SealedBlocks(view, read_run)
        self._keeps_raw = keep
        self._raw: list[bytes] = []
        self._assembler = Assembler(blocks=blocks)
        self._order = self._assembler.order
        self._illegal: StreamIllegal | None = None
        """What broke the stream's own grammar, where that was found in what had passed."""
        self._before: list[bytes] = []
        self._is_ending = False
        self._held_size = 0
        self._updates = 0
        self._uncounted: MissingUsage | None = None
        """Counts in place of a backend that does not."""

    @property
    def raw(self) -> bytes:
        """All that came, as it came. May be asked for from another thread while more come."""
        return b"".join(self._raw)

    def so_far(self) -> Callable[[], AnswerSoFar]:
        """What came of the answer until now, to be put together by any thread while more comes."""
        with suppress(StreamIllegal):  # the next event raises it
            self._settle()
        return partial(answer_of, self._assembler.copy(), self._illegal)

    def answer(self) -> AnswerSoFar:
        """What came of the answer. Nothing may be fed meanwhile."""
        with suppress(StreamIllegal):
            self._settle()
        return answer_of(self._assembler, self._illegal)

    @property
    def late(self) -> JsonObject | None:
        """A thinking block for the recording alone, which came too late for the client."""
        return None

    @property
    def pass_chunk(self) -> PassChunk | None:
        """What the client gets for a chunk of HTTP/1.1, framing and all; b"" if the chunk has to be fed, else it counts as
        fed. Holds until something is fed. None if no chunk passes."""
        return None

    def begin(self) -> bytes:
        """What may go to the client before anything came."""
        return b""

    @abstractmethod
    def _settle(self) -> None:
        """Read what passed unread, and note what is illegal in it. Raises StreamIllegal."""

    @abstractmethod
    def feed(self, data: bytes) -> bytes:
        """What may go to the client now."""

    @abstractmethod
    def flush(self) -> bytes:
        """The same at the end of the stream."""

    def _take(self, event: Event) -> None:
        """Check the event against those before it, keep it for the answer, and note what it says of the answer's state."""
        self._assembler.take(event)
        if self._uncounted is not None:
            self._uncounted.note((event,))
        kind = type(event)
        if kind is BlockDelta:
            return
        if kind is BlockStart:
            check_blocks(self._order.blocks)
            self.begun = True
        elif kind is BlockStop:
            self.stops += 1
        elif isinstance(event, StreamFailed):
            self.failure = event
            self._is_ending = False  # the failure is told at once, and the end that was held back never is
        elif kind is MessageStop or (isinstance(event, MessageDelta) and event.delta.get("stop_reason")):
            self.begun = self._is_ending = True
            self.ended = self.ended or kind is MessageStop
        elif self.begun and (kind is MessageDelta or kind is Unknown):
            self._updates += 1
            check_updates(self._updates)

    def _place(self, new: bytes, out: list[bytes]) -> None:
        """Put these bytes with what goes out now, with what waits for the first content, or with the end."""
        if not new:
            return
        if not self.begun:
            self._before.append(new)
            check_before(len(self._before), self.size)
            return
        target = self.held if self._is_ending else out
        if self._before:
            target += self._before
            self._before = []
        target.append(new)
        if self._is_ending and not self.ended:
            self._held_size += len(new)
            check_held(len(target), self._held_size)

    def _usage_for(self, event: Event) -> JsonObject:
        """For an event that should report usage, and does not."""
        if isinstance(event, MessageStart):
            self._uncounted = MissingUsage()
            return {"input_tokens": 0, "output_tokens": 0}
        return self._uncounted.at_end() if self._uncounted else {"output_tokens": 0}
