"""TranslatedAnswer: a stream that is read in the backend's dialect and written in the client's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from clew.dialects.shape import StreamReader, StreamWriter
from clew.errors import StreamIllegal
from clew.model.events import BLOCK_EVENTS, Event, MessageDelta, MessageStart, StreamFailed, altered
from clew.model.json import JsonObject, JsonValue
from clew.model.unfold import events_of
from clew.pipeline.stream.answer_stream import AnswerStream, lacks_usage
from clew.pipeline.stream.client_view import ClientView
from clew.pipeline.stream.secrets import without_secret_in

_TEXTS: Final = {"text": ("text",), "thinking": ("thinking", "signature")}
"""Members that are told in deltas, by the type of their block."""
_DELTA_CHARACTERS: Final = 4096
"""Of a delta of an answer that came in one piece."""


class TranslatedAnswer(AnswerStream):
    """One answer."""

    __slots__ = ("_reader", "_writer")

    def __init__(
        self, view: ClientView, reader: StreamReader, writer: StreamWriter, *, keep: bool = True, blocks: bool = True
    ) -> None:
        super().__init__(view, None, keep=keep, blocks=blocks)
        self._reader = reader
        self._writer = writer

    @property
    def late(self) -> JsonObject | None:
        return self._reader.late

    def begin(self) -> bytes:
        return self._write(self._reader.begin())

    def feed(self, data: bytes) -> bytes:
        self.size += len(data)
        if self._keeps_raw:
            self._raw.append(data)
        return self._write(self._reader.feed(data))

    def flush(self) -> bytes:
        return self._write(self._reader.flush())

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
                self._place(write(_with_usage(event) if lacks_usage(event) else event), out)
        return out[0] if len(out) == 1 else b"".join(out)


def _with_usage(event: Event) -> Event:
    """Clients read usage without asking whether it is there. What is recorded stays as the backend said it."""
    if isinstance(event, MessageStart):
        return altered(event, message={**event.message, "usage": {"input_tokens": 0, "output_tokens": 0}})
    assert isinstance(event, MessageDelta)
    return altered(event, usage={"output_tokens": 0})


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
        _check_blocks(self._message.get("content"))
        start, *rest = events_of(self._message, chunk=_DELTA_CHARACTERS)
        assert isinstance(start, MessageStart)
        return [altered(start, message={**start.message, "model": self._model}), *rest]

    def flush(self) -> Sequence[Event]:
        return ()


def _check_blocks(content: JsonValue) -> None:
    """Nothing is told in part: a client takes a stream for all that there is."""
    if not isinstance(content, list):
        raise StreamIllegal("the message has no list of blocks")
    for place, block in enumerate(content):
        kind = block.get("type") if isinstance(block, dict) else None
        if not isinstance(block, dict) or not isinstance(kind, str):
            raise StreamIllegal(f"content.{place} of the message is no block with a type")
        for name in _TEXTS.get(kind, ()):
            if not isinstance(block.get(name) or "", str):
                raise StreamIllegal(f"content.{place}.{name} of the message is no text")
