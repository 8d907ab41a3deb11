"""Streams of the Messages API: canonical events are its own, so reading and writing are nearly the same bytes.

Some servers (llama.cpp) leave every block open until the answer ends, and put a thought that comes late into the first.
Clients and seals need one open block at a time. With the option `overlaps`, a block is stopped when another one is
spoken of; words for a block that is stopped already open another of its kind; what only ends it again is dropped, its
signature included: such a server signs with nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from clew.dialects.anthropic.passthrough import ALL_DELTAS, read_run, read_stream_event
from clew.dialects.anthropic.requests import AnthropicOptions
from clew.dialects.failures.reading import CUT
from clew.dialects.shape import AnswerContext
from clew.errors import StreamIllegal
from clew.model.events import (
    BlockDelta,
    BlockStart,
    BlockStop,
    Event,
    MessageDelta,
    MessageStart,
    MessageStop,
    StreamFailed,
    altered,
)
from clew.model.json import JsonObject
from clew.model.lifecycle import LENIENT, Lifecycle
from clew.wire.events import encode_event
from clew.wire.sse import PING, Frames, SseLimits
from clew.wire.sse_runs import pieces_of

_REOPENED: Final = ("text", "thinking")
"""Blocks whose words may go on in another block. Half a tool call cannot."""


class AnthropicStreamReader:
    """One answer, for a front of another dialect or from a server whose blocks overlap."""

    late: JsonObject | None = None
    __slots__ = ("_frames", "_is_over", "_model", "_one_by_one")

    def __init__(self, context: AnswerContext, options: AnthropicOptions) -> None:
        self._model = context.model
        self._frames = Frames(SseLimits())
        self._one_by_one = _OneBlockAtATime() if options.overlaps else None
        self._is_over = False

    def begin(self) -> Sequence[Event]:
        return ()

    def feed(self, data: bytes) -> Iterator[Event]:
        return self._read(self._frames.feed(data))

    def flush(self) -> Iterator[Event]:
        yield from self._read(self._frames.flush())
        if not self._is_over:
            self._is_over = True
            yield CUT.event()

    def _read(self, whole: bytes) -> Iterator[Event]:
        for raw, sse, is_run in pieces_of(whole, ALL_DELTAS):
            if sse is None and not is_run:
                continue  # a comment
            for event in read_run(raw) if sse is None else (read_stream_event(sse),):
                if type(event) is not BlockDelta:
                    if isinstance(event, MessageStart):
                        event = altered(event, message={**event.message, "model": self._model})
                    self._is_over = self._is_over or isinstance(event, MessageStop | StreamFailed)
                if self._one_by_one is None:
                    yield event
                else:
                    yield from self._one_by_one.place(event)


class _OneBlockAtATime:
    """Blocks one after the other, counted again."""

    def __init__(self) -> None:
        self._starts: dict[int, JsonObject] = {}
        self._open: int | None = None  # as the server counts
        self._count = 0

    def place(self, event: Event) -> Iterable[Event]:
        match event:
            case BlockStart():
                self._starts[event.index] = event.content_block
                return self._start(event.index)
            case BlockDelta():
                return self._grow(event)
            case BlockStop():
                return self._stop() if event.index == self._open else ()
            case MessageDelta():
                return (*self._stop(), event)
            case _:
                return (event,)

    def _start(self, index: int) -> Iterator[Event]:
        yield from self._stop()
        self._open = index
        self._count += 1
        yield BlockStart(self._count - 1, self._starts[index])

    def _grow(self, event: BlockDelta) -> Iterator[Event]:
        if event.index != self._open:
            if event.kind == "signature_delta":
                return
            if self._starts.get(event.index, {}).get("type") not in _REOPENED:
                raise StreamIllegal(f"{event.kind} for block {event.index}, which is not open", event=event.type)
            yield from self._start(event.index)
        yield altered(event, index=self._count - 1)

    def _stop(self) -> Iterator[Event]:
        if self._open is not None:
            self._open = None
            yield BlockStop(self._count - 1)


class AnthropicStreamWriter:
    """One answer: events as the vendor writes them."""

    __slots__ = ("_lifecycle",)

    def __init__(self, context: AnswerContext) -> None:
        self._lifecycle = Lifecycle(LENIENT)

    def write(self, event: Event) -> bytes:
        self._lifecycle.accept(event)
        return encode_event(event)

    def keep_alive(self) -> bytes:
        return PING
