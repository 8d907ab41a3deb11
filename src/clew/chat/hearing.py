"""An answer of the engine in this process, while it comes: its events and its failure, as an application sees them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from clew.chat.listener import EngineListener, EventFront
from clew.chat.messages import format_response
from clew.chat.service import AnswerEvent, TextDelta, ThinkingDelta
from clew.engine.process_commands import TurnObserver
from clew.errors import (
    BackendBroken,
    BackendError,
    BackendOverloaded,
    BackendRejected,
    BackendTimedOut,
    ClewError,
    StreamIllegal,
)
from clew.exchange.call import Call
from clew.model.assemble import Assembler
from clew.model.events import BlockDelta, BlockStop, Event, StreamFailed, altered
from clew.model.failure import ERROR_TYPES
from clew.model.json import JsonObject, whole_text

if TYPE_CHECKING:
    from clew.chat.local import LocalThreadService


class LocalAnswerReader:
    """Reads one answer of the engine in this process, event by event."""

    def __init__(self, service: LocalThreadService) -> None:
        self.id = ""
        self._service = service
        self._listener = EngineListener()
        self.front = EventFront()
        self._joining = Joining()
        self._assembler = Assembler()
        self._told: ClewError | None = None
        self._broken: BackendError | None = None

    def listen(self, call: Call, observer: TurnObserver) -> None:
        """Begin. Raises ClewError for a call that cannot be read."""
        self._listener.ask(self._service.runtime.engine, call, observer)

    def begin(self, backend: str, model: str) -> None:
        """Report the backend and the model: call it when the first content has come."""
        if self._service.answers is not None:
            self._service.answers(self.id, backend, model)

    def fail(self, failure: ClewError) -> None:
        """Note why there is no whole answer, as the engine has it."""
        self._told = in_their_words(failure)

    @property
    def failure(self) -> BaseException | None:
        """Why the answer failed; None if it did not. For an error in mid-stream, the stream's own words say more than the
        engine's."""
        told = self._broken if type(self._told) is BackendError and self._broken else self._told
        return self._listener.failure or told or self._broken

    async def next_events(self) -> Sequence[AnswerEvent]:
        """The next events; empty at the end. An event that breaks the rules of a stream is ignored here: the engine sees it
        too, ends the stream and reports why."""
        heard: list[AnswerEvent] = []
        while not heard and (data := await self._listener.chunk()):
            if self._listener.status != 200:
                continue
            for event in self.front.read(data):
                with suppress(StreamIllegal):
                    heard += (said for whole in self._joining.feed(event) for said in self._hear(whole))
        return heard

    async def wait_stored(self) -> None:
        await self._listener.over()
        await self._service.settle(self.id)

    def leave(self) -> None:
        self._listener.leave()

    def _hear(self, event: Event) -> Iterator[AnswerEvent]:
        if isinstance(event, StreamFailed):
            self._broken = broken_off(event.error)
            return
        whole = self._assembler.feed(event)
        if self._service.overheard is not None:
            self._service.overheard(self.id, event)
        if isinstance(event, BlockDelta):
            if event.kind == "text_delta" and (text := event.delta["text"]):
                yield TextDelta(str(text))
            elif event.kind == "thinking_delta" and (text := event.delta["thinking"]):
                yield ThinkingDelta(str(text))
        elif whole is not None and whole.block.get("type") == "tool_use":
            [call] = format_response({"content": [whole.block]}).tool_calls
            yield call if whole.unparsed is None else replace(call, arguments=whole.unparsed)


# Whole characters

_MEMBERS: Final = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
_FIRST_HALF: Final = re.compile("[\ud800-\udbff]\\Z")
_MARK: Final = "\ufffd"


class Joining:
    """`feed` it the events of one answer, and it gives events whose texts are whole characters.

    Some vendors write a character outside the basic plane as two escapes, and cut between them. Half a character is no text,
    and a program that prints or sends it fails. So a half at the end of a delta waits for the next one.
    """

    def __init__(self) -> None:
        self._half = ""
        self._last: BlockDelta | None = None

    def feed(self, event: Event) -> Iterator[Event]:
        """The event, or what it is with what waited. A half that stays alone is the replacement mark."""
        if isinstance(event, BlockDelta) and event.kind in _MEMBERS:
            own = str(event.delta[_MEMBERS[event.kind]])
            text = self._half + own
            self._half, self._last = (text[-1], event) if _FIRST_HALF.search(text) else ("", None)
            whole = whole_text(text[: len(text) - len(self._half)])
            event = event if whole == own else _saying(event, whole)
        elif isinstance(event, BlockStop) and self._half and self._last is not None:
            self._half = ""
            yield _saying(self._last, _MARK)
        yield event


def _saying(event: BlockDelta, text: str) -> BlockDelta:
    return altered(event, delta={**event.delta, _MEMBERS[event.kind]: text})


# Failures

_BUSY = (429, 503, 529)
_LATE = 504
_STATUSES = {kind: status for status, kind in ERROR_TYPES.items()}


class _Error(Struct):
    message: str = ""


class _Body(Struct):
    error: _Error


def in_their_words(failure: ClewError) -> ClewError:
    """The same exception; one that a backend gave reasons for says those."""
    words = ""
    if isinstance(failure, BackendRejected | BackendOverloaded):
        with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            words = msgspec.json.decode(failure.body, type=_Body).error.message
    if isinstance(failure, BackendRejected) and failure.status >= 500:
        return BackendBroken(words or str(failure))
    if words:
        failure.args = (words,)
    return failure


def broken_off(error: JsonObject) -> BackendError:
    """An error in a stream: what came before it was part of an answer."""
    status = _STATUSES.get(str(error.get("type")), 0)
    words = str(error.get("message") or "the answer broke off")
    if status in _BUSY:
        return BackendOverloaded(words, status=status)
    return BackendTimedOut(words, phase="") if status == _LATE else BackendBroken(words)
