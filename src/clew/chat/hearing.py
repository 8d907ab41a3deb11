"""An answer of the engine in this process, while it comes: its events, as an application sees them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec.structs import replace

from clew.chat.event_front import EventFront
from clew.chat.events import AnswerEvent, TextDelta, ThinkingDelta
from clew.chat.failures import broken_off, in_their_words
from clew.chat.joining import Joining
from clew.chat.listener import EngineListener
from clew.chat.messages import format_response
from clew.engine.call import Call
from clew.errors import BackendError, ClewError, StreamIllegal
from clew.model.assemble import Assembler
from clew.model.events import BlockDelta, Event, StreamFailed

if TYPE_CHECKING:
    from clew.chat.local import LocalThreadService


class LocalAnswerReader:
    """Listens to one answer."""

    def __init__(self, service: LocalThreadService) -> None:
        self.id = ""
        self._service = service
        self._listener = EngineListener()
        self.front = EventFront()
        self._joining = Joining()
        self._assembler = Assembler()
        self._told: ClewError | None = None
        self._broken: BackendError | None = None

    def listen(self, call: Call) -> None:
        """Begin. Raises ClewError for a call that cannot be read."""
        self._listener.ask(self._service.runtime.engine, call)

    def begin(self, backend: str, model: str) -> None:
        """Its first content is here, and so it is known who answers."""
        if self._service.answers is not None:
            self._service.answers(self.id, backend, model)

    def fail(self, failure: ClewError) -> None:
        """Why there is no whole answer, as the engine has it."""
        self._told = in_their_words(failure)

    @property
    def failure(self) -> BaseException | None:
        """What the engine raised or told. Of an error in mid-stream it knows less than the stream itself."""
        told = self._broken if type(self._told) is BackendError and self._broken else self._told
        return self._listener.failure or told or self._broken

    async def next_events(self) -> Sequence[AnswerEvent]:
        while data := await self._listener.chunk():
            if self._listener.status == 200 and (said := self._read(data)):
                return said
        return ()

    async def wait_stored(self) -> None:
        await self._listener.over()
        await self._service.settle(self.id)

    def leave(self) -> None:
        self._listener.leave()

    def _read(self, data: bytes) -> list[AnswerEvent]:
        """What breaks the rules of a stream is not heard: the engine reads the same, ends it there, and says why."""
        heard: list[AnswerEvent] = []
        for event in self.front.read(data):
            with suppress(StreamIllegal):
                heard += (said for whole in self._joining.feed(event) for said in self._hear(whole))
        return heard

    def _hear(self, event: Event) -> Iterator[AnswerEvent]:
        if isinstance(event, StreamFailed):
            self._broken = broken_off(event.error)
            return
        whole = self._assembler.feed(event)
        if self._service.overheard is not None:
            self._service.overheard(self.id, event)
        if isinstance(event, BlockDelta):
            yield from _deltas(event)
        elif whole is not None and whole.block.get("type") == "tool_use":
            [call] = format_response({"content": [whole.block]}).tool_calls
            yield call if whole.unparsed is None else replace(call, arguments=whole.unparsed)


def _deltas(event: BlockDelta) -> Iterator[AnswerEvent]:
    delta = event.delta
    if event.kind == "text_delta" and delta["text"]:
        yield TextDelta(str(delta["text"]))
    elif event.kind == "thinking_delta" and delta["thinking"]:
        yield ThinkingDelta(str(delta["thinking"]))
