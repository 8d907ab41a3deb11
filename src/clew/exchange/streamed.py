"""A streamed answer on its way from a backend to the client.

There are two ways to end before the client has seen a byte: the backend says an error inside its 200, which counts as the
status that it stands for, or it breaks off. Both leave everything open: the request can still be repaired, repeated or sent
elsewhere. After the first content nothing is tried again, and a broken stream never looks finished.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from msgspec import Struct

from clew.dialects.shape import AnswerContext
from clew.errors import BackendBroken, StreamIllegal
from clew.exchange.backend_dialect import BackendDialect, Refused, refused_with
from clew.exchange.call import Call
from clew.exchange.commands import GiveWay, LetGo, PassOn, Push, ReadBody, Take
from clew.exchange.failures import shown
from clew.exchange.turns import ReceivedAnswer, with_late
from clew.model.bounds import check_before
from clew.model.events import StreamFailed
from clew.model.http import ResponseHead
from clew.model.json import JsonObject
from clew.pipeline.compaction import SealText, with_summary
from clew.pipeline.stream.answer import AnswerSoFar
from clew.pipeline.stream.answer_stream import AnswerStream
from clew.pipeline.stream.client_view import ClientView
from clew.pipeline.stream.translation import BlockStep, TranslatedAnswer, WholeAnswerReader

MOST_BYTES: Final = 64 * 1024 * 1024
"""Of an answer. What a model can say in one stream, a few characters to an event, is a third of that."""
_SLICE_BYTES: Final = 64 * 1024
"""Of a read that are worked on at once."""


class AlreadyTold(StreamIllegal):
    """The backend's own error event has gone to the client: nothing more is to be said."""

    def __init__(self, error: JsonObject) -> None:
        super().__init__(str(error.get("message", "the backend broke off")), event="error")


class AnswerReading(Struct, frozen=True, kw_only=True, eq=False):
    """What reading an answer needs: who gives it, in which dialect, and how the client gets it."""

    backend: str
    call: Call
    dialect: BackendDialect
    view: ClientView
    context: AnswerContext
    keep: bool = True
    """The answer is kept in the backend's own bytes."""
    trace: list[BlockStep] | None = None
    """Where the life of each block is noted."""
    seal: SealText | None = None
    """For a request that wants a summary in place of an answer."""

    @property
    def is_passed(self) -> bool:
        """Whether client and backend speak the same dialect, and the client gets what the backend says."""
        return self.seal is None and self.dialect.is_passed(self.call)

    def stream(self, *, blocks: bool, view: ClientView | None = None) -> AnswerStream:
        """For a streamed answer; without `blocks` only what is said about it is kept."""
        report = None if self.trace is None else self.trace.append
        view = view or self.view
        return self.dialect.answer_stream(
            self.call, view, self.context, keep=self.keep, blocks=blocks, report=report, seal=self.seal
        )

    def read_answer(self, raw: bytes) -> JsonObject | Refused | None:
        """An answer in one piece; the refusal in its place; None if it is no answer at all."""
        found = self.dialect.read_answer(raw, self.call, self.context)
        return with_summary(found, self.seal) if self.seal is not None and isinstance(found, dict) else found


class StreamedAnswer:
    """One streamed answer. `heard` is what came of it, as long as nothing more comes meanwhile."""

    __slots__ = ("_answer", "_blocks", "_reading", "_within")

    def __init__(self, reading: AnswerReading, *, within: float, blocks: bool = True) -> None:
        """`within`: how many seconds the first content may take, from the head on."""
        self._reading = reading
        self._answer = reading.stream(blocks=blocks)
        self._within = within
        self._blocks = blocks

    @property
    def begun(self) -> bool:
        return self._answer.begun

    @property
    def size(self) -> int:
        return self._answer.size

    @property
    def stops(self) -> int:
        """How many blocks are whole."""
        return self._answer.stops

    @property
    def raw(self) -> bytes:
        return self._answer.raw

    @property
    def end(self) -> bytes:
        """The last events, which wait for the store."""
        return b"".join(self._answer.held)

    @property
    def may_refer(self) -> bool:
        """Whether seals are put on, which may refer to the store."""
        return self._reading.view.options.sealer is not None

    def refer_to(self, keep: Callable[[], None]) -> None:
        """Call this each time that a seal refers to the store."""
        self._reading.view.when_referring = keep

    def heard(self, *, whole: bool) -> ReceivedAnswer:
        heard = self._received(self._answer.answer(), whole=whole)
        late = self._answer.late if whole and self._blocks else None
        return heard if late is None else with_late(heard, late)

    def so_far(self) -> Callable[[], ReceivedAnswer]:
        """What came until now, to be put together by any thread while more comes."""
        answer = self._answer.so_far()
        return lambda: self._received(answer(), whole=False)

    def _received(self, answer: AnswerSoFar, *, whole: bool) -> ReceivedAnswer:
        held = None if self._reading.view.options.is_plain else self._reading.view.held(answer.blocks)
        return ReceivedAnswer(answer=answer, held=held, whole=whole)

    async def first(self, head: ResponseHead) -> bytes | Refused:
        """What goes to the client first, with the first content; or the refusal that came instead. What is named a stream
        has no more time for it than a stream, whatever it turns out to be. Raises BackendError, StreamIllegal."""
        check_encoding(head, self._reading.backend)
        is_named_stream = type_of(head) == STREAM
        first = self._answer.begin() if is_named_stream else b""
        if not first:
            form, begun = await take_beginning(head, self._within if is_named_stream else None)
            if form == STREAM:
                first = await _feed_reads(self._answer, self._within, self._reading.backend, begun)
            else:
                first = await self._unfolded(head, form, begun)
        if isinstance(first, Refused):
            return first
        if self._answer.failure is not None and not self._answer.begun:
            return _refusal(self._reading.backend, self._answer.failure)
        return first

    async def pass_on(self) -> None:
        """To the client, all that comes after the first content but its end. Raises BackendError, StreamIllegal."""
        answer, reading = self._answer, self._reading
        await PassOn(answer, hides=not reading.is_passed)
        if rest := answer.flush():
            await Push(rest)
        await LetGo()
        if answer.failure is not None:
            raise AlreadyTold(answer.failure.error)
        if not answer.ended:
            raise BackendBroken(f"{reading.backend}: the answer broke off before its end")

    async def _unfolded(self, head: ResponseHead, form: str, begun: bytes) -> bytes | Refused:
        """Some servers answer in one piece, whatever was asked for; that is told as a stream."""
        raw = await ReadBody(MOST_BYTES, begun)
        if form != JSON:
            raise not_expected(head, raw, "an event stream", self._reading.backend)
        reading = self._reading
        message = reading.read_answer(raw)
        if message is None:
            raise BackendBroken(f"{reading.backend}: not a valid answer: {shown(raw) or 'nothing'}")
        if isinstance(message, Refused):
            return message
        reader = WholeAnswerReader(message, reading.context.model)
        writer = reading.call.front.stream_writer(reading.context)
        self._answer = TranslatedAnswer(reading.view, reader, writer, keep=reading.keep, blocks=self._blocks)
        return self._answer.feed(raw)


async def read_stream(answer: AnswerStream, within: float, backend: str, begun: bytes) -> Refused | None:
    """All of a stream, which has `begun` so, into `answer`, for a client that gets it in one piece; or the refusal that an
    error event stands for, wherever it came. Raises BackendError, StreamIllegal."""
    await _feed_reads(answer, within, backend, begun, to_end=True)
    if answer.failure is not None:
        return _refusal(backend, answer.failure)
    if not answer.ended:
        raise BackendBroken(f"{backend}: the answer broke off before its end")
    return None


async def _feed_reads(answer: AnswerStream, within: float, backend: str, begun: bytes, *, to_end: bool = False) -> bytes:
    """Up to the first content, or else `to_end`, or to the error in its place: what may go to the client with the first
    content. `begun` is what was taken already. A read may be long: between two slices everybody else has a turn."""
    came, first = 0, b""
    while answer.failure is None and not (answer.ended if to_end else answer.begun):
        data, begun = begun or await Take(None if answer.begun else within), b""
        for at in range(0, len(data), _SLICE_BYTES):
            if at:
                await GiveWay()
            new = answer.feed(data[at : at + _SLICE_BYTES])
            first = new if to_end else first + new
        came += len(data)
        if not data:
            first += answer.flush()
            break
        if not answer.begun:
            check_before(0, came)
    if not answer.begun and answer.failure is None:
        raise BackendBroken(f"{backend}: the answer ended before it began")
    return first


def _refusal(backend: str, failed: StreamFailed) -> Refused:
    """The no that an error stands for. Raises BackendBroken where the backend said none."""
    if failed.broken:
        raise BackendBroken(f"{backend}: {failed.error['message']}")
    return refused_with(failed)


STREAM, JSON = "text/event-stream", "application/json"

_EITHER: Final = frozenset((STREAM, JSON, "", "text/plain", "application/octet-stream", "application/x-ndjson"))
"""Content types under which both have been seen."""
_EVENTS: Final = re.compile(rb"(?:data|event|id|retry)?:")
_BEFORE: Final = b"\xef\xbb\xbf \t\r\n"
_MOST_BLANK: Final = 64 * 1024
"""Bytes of white space that are looked at. Some servers send it as a sign of life."""


async def take_beginning(head: ResponseHead, within: float | None = None) -> tuple[str, bytes]:
    """STREAM or JSON, by what comes first, else the type that the head names; and what was taken of the body to know it. The
    first bytes may come `within` so many seconds from the head on. Raises BackendError."""
    named, size, pieces = type_of(head), 0, list[bytes]()
    if named not in _EITHER:
        return named, b""
    while new := await Take(within):
        pieces.append(new)
        size += len(new)
        if not new.isspace() or size >= _MOST_BLANK:
            break
    begun = b"".join(pieces)
    first = begun.lstrip(_BEFORE)
    if first.startswith(b"{"):
        return JSON, begun
    return STREAM if _EVENTS.match(first) else named, begun


def check_encoding(head: ResponseHead, backend: str) -> None:
    """We asked for none: what comes packed all the same is not unpacked, however little it seems."""
    coding = head.header(b"content-encoding")
    if coding and coding.strip().lower() != b"identity":
        raise BackendBroken(f"{backend}: an answer in the encoding {coding.decode('latin-1')!r}, which was not requested")


def type_of(head: ResponseHead) -> str:
    """The media type that the head names, in small letters and without parameters; "" if it names none."""
    return _named_in(head.header(b"content-type") or b"")


@lru_cache(maxsize=64)
def _named_in(value: bytes) -> str:
    return value.decode("latin-1").partition(";")[0].strip().lower()


def not_expected(head: ResponseHead, body: bytes, wanted: str, backend: str) -> BackendBroken:
    kind = type_of(head) or "no type"
    return BackendBroken(f"{backend}: {kind} instead of {wanted}: {shown(body) or 'nothing'}")
