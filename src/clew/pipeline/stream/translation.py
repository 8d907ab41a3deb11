"""TranslatedAnswer: a stream that is read in the backend's dialect and written in the client's.

Two readers stand in for a dialect's own: `WholeAnswerReader` for an answer in one piece, and `TracedReader` around another
one, to report the life of its blocks for debugging. A stream that nobody follows pays nothing for that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Literal, TypeAlias

from msgspec import Struct, structs

from clew.dialects.optional import PassedDeltas
from clew.dialects.shape import StreamReader, StreamWriter
from clew.errors import StreamIllegal
from clew.model.events import BLOCK_EVENTS, BlockDelta, BlockStart, BlockStop, Event, MessageStart, StreamFailed, altered
from clew.model.json import JsonObject
from clew.model.unfold import events_of
from clew.pipeline.stream.answer_stream import AnswerStream
from clew.pipeline.stream.client_view import ClientView, lacks_usage, without_secret_in

_TEXTS: Final = {"text": ("text",), "thinking": ("thinking", "signature")}
"""Members that are told in deltas, by the type of their block."""
_DELTA_CHARACTERS: Final = 4096  # of an answer that came in one piece


class TranslatedAnswer(AnswerStream):
    """One answer."""

    __slots__ = ("_passed", "_reader", "_writer")

    def __init__(
        self,
        view: ClientView,
        reader: StreamReader,
        writer: StreamWriter,
        *,
        passed: PassedDeltas | None = None,
        keep: bool = True,
        blocks: bool = True,
    ) -> None:
        """`passed`: how deltas pass where both sides speak the same dialect."""
        super().__init__(view, None, keep=keep, blocks=blocks)
        self._reader = reader
        self._writer = writer
        self._passed = None if view.options.hide else passed

    @property
    def late(self) -> JsonObject | None:
        return self._reader.late

    def begin(self) -> bytes:
        return self._write(self._reader.begin())

    def feed(self, data: bytes) -> bytes:
        self.size += len(data)
        if self._keeps_raw:
            self._raw.append(data)
        passed = self._passed
        if passed is None:
            return self._write(self._reader.feed(data))
        if told := passed.take(data):
            if passed.waits:
                self._settle()
            return told
        self._settle()
        told = self._write(self._reader.feed(data))
        passed.learn(data)
        return told

    def flush(self) -> bytes:
        self._settle()
        return self._write(self._reader.flush())

    def _settle(self) -> None:
        """The client has it already."""
        event = self._passed.settle() if self._passed is not None else None
        if event is not None:
            self._take(event)
            if self._sealed is not None and isinstance(event, BLOCK_EVENTS):
                self._sealed.feed(event)

    def _write(self, events: Iterable[Event]) -> bytes:
        out: list[bytes] = []
        sealed, write = self._sealed, self._writer.write
        for event in events:
            if isinstance(event, StreamFailed):
                event = without_secret_in(event, self._view.options.secret)
            self._take(event)
            if sealed is not None and isinstance(event, BLOCK_EVENTS):
                for each in sealed.feed(event):
                    self._place(write(each), out)
            else:
                self._place(write(self._with_usage(event) if lacks_usage(event) else event), out)
        return out[0] if len(out) == 1 else b"".join(out)

    def _with_usage(self, event: Event) -> Event:
        usage = self._usage_for(event)
        if isinstance(event, MessageStart):
            return altered(event, message={**event.message, "usage": usage})
        return altered(event, usage=usage)


class WholeAnswerReader:
    """Reads an answer that came in one piece as the stream that it would have been: the first `feed` says all of it.

    `model` is the name that the client asked for. Raises StreamIllegal for what no stream can tell.
    """

    late: JsonObject | None = None

    def __init__(self, message: JsonObject, model: str) -> None:
        self._message = message
        self._model = model

    def begin(self) -> Sequence[Event]:
        return ()

    def feed(self, data: bytes) -> Sequence[Event]:
        content = self._message.get("content")
        if not isinstance(content, list):
            raise StreamIllegal("the message has no list of blocks")
        for place, block in enumerate(content):  # nothing is told in part: a client takes a stream for all that there is
            kind = block.get("type") if isinstance(block, dict) else None
            if not isinstance(block, dict) or not isinstance(kind, str):
                raise StreamIllegal(f"content.{place} of the message is not a block with a type")
            for name in _TEXTS.get(kind, ()):
                if not isinstance(block.get(name) or "", str):
                    raise StreamIllegal(f"content.{place}.{name} of the message is not a text")
        start, *rest = events_of(self._message, chunk=_DELTA_CHARACTERS)
        assert isinstance(start, MessageStart)
        return [altered(start, message={**start.message, "model": self._model}), *rest]

    def flush(self) -> Sequence[Event]:
        return ()


class BlockStep(Struct, frozen=True):
    """A block of a translated answer has started, grown or stopped."""

    state: Literal["started", "delta", "stopped"]
    index: int
    type: str
    """Of the block; or of the delta, where it has grown."""
    deltas: int
    """How many it had so far."""
    next: str = ""
    """The type of the block that takes its place, where it has stopped for that."""


ReportBlock: TypeAlias = Callable[[BlockStep], None]


class TracedReader:
    """Reads as the reader that it is made of. A stop is reported with what follows it, so that one line can say both."""

    def __init__(self, reader: StreamReader, report: ReportBlock) -> None:
        self._reader = reader
        self._report = report
        self._kind = ""
        self._deltas = 0
        self._stopped: BlockStep | None = None

    @property
    def late(self) -> JsonObject | None:
        return self._reader.late

    def begin(self) -> Iterator[Event]:
        return self._traced(self._reader.begin())

    def feed(self, data: bytes) -> Iterator[Event]:
        return self._traced(self._reader.feed(data))

    def flush(self) -> Iterator[Event]:
        return self._traced(self._reader.flush())

    def _traced(self, events: Iterable[Event]) -> Iterator[Event]:
        for event in events:
            self._report_stop(event.block_type if isinstance(event, BlockStart) else "")
            match event:
                case BlockStart():
                    self._kind, self._deltas = event.block_type, 0
                    self._report(BlockStep("started", event.index, self._kind, 0))
                case BlockDelta():
                    self._deltas += 1
                    self._report(BlockStep("delta", event.index, event.kind, self._deltas))
                case BlockStop():
                    self._stopped = BlockStep("stopped", event.index, self._kind, self._deltas)
                case _:
                    pass
            yield event
        self._report_stop()

    def _report_stop(self, next: str = "") -> None:
        if self._stopped is not None:
            stopped, self._stopped = self._stopped, None
            self._report(structs.replace(stopped, next=next))
