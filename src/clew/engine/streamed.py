"""A streamed answer on its way from a backend to the client.

There are two ways to end before the client has seen a byte: the backend says an error inside its 200, which counts as the
status that it stands for, or it breaks off. Both leave everything open: the request can still be repaired, repeated or sent
elsewhere. After the first content nothing is tried again, and a broken stream never looks finished.
"""

from __future__ import annotations

from collections.abc import Callable

from clew.engine.commands import GiveWay, LetGo, PassOn, Push, ReadBody, Take
from clew.engine.dialects import Dialect, Hints, Refused
from clew.engine.dialects.refused import refused_with
from clew.engine.failures import shown
from clew.engine.reply_type import JSON, STREAM, check_encoding, form_of, not_expected, type_of
from clew.engine.turns import Heard, with_late
from clew.errors import BackendBroken, StreamIllegal
from clew.http.client.message import ResponseHead
from clew.http.client.slices import SLICE_BYTES
from clew.model.bounds import check_before
from clew.model.events import StreamFailed
from clew.model.json import JsonObject
from clew.pipeline.stream.dress import Dress
from clew.pipeline.stream.relay import Relays
from clew.pipeline.stream.translated import TranslatedRelay, Unfolded

__all__ = ["MOST_BYTES", "AlreadyTold", "StreamedAnswer", "read_stream"]

MOST_BYTES = 64 * 1024 * 1024
"""Of an answer. What a model can say in one stream, a few characters to an event, is a third of that."""


class AlreadyTold(StreamIllegal):
    """The backend's own error event has gone to the client: nothing more is to be said."""

    def __init__(self, error: JsonObject) -> None:
        super().__init__(str(error.get("message", "the backend broke off")), event="error")


class StreamedAnswer:
    """One streamed answer. `heard` is what came of it so far, at any moment."""

    __slots__ = ("_backend", "_blocks", "_dialect", "_dress", "_hints", "_relay", "_within")

    def __init__(
        self, backend: str, dress: Dress, dialect: Dialect, hints: Hints, *, within: float, blocks: bool = True
    ) -> None:
        """`within`: how many seconds the first content may take, from the head on."""
        self._backend = backend
        self._dress = dress
        self._dialect = dialect
        self._hints = hints if blocks is hints.blocks else hints.saying(blocks)
        self._relay: Relays = dialect.relay(dress, self._hints)
        self._within = within
        self._blocks = blocks

    @property
    def begun(self) -> bool:
        return self._relay.begun

    @property
    def size(self) -> int:
        return self._relay.size

    @property
    def stops(self) -> int:
        """How many blocks are whole."""
        return self._relay.stops

    @property
    def raw(self) -> bytes:
        return self._relay.raw

    @property
    def end(self) -> bytes:
        """The last events, which wait for the store."""
        return b"".join(self._relay.held)

    def refer_to(self, keep: Callable[[], Callable[[], None]]) -> None:
        """Where seals may refer to the store, call what `keep` gives each time that one does."""
        if self._dress.wear.sealer is not None:
            self._dress.refers = keep()

    def heard(self, *, whole: bool) -> Heard:
        answer = self._relay.answer(blocks=self._blocks)
        held = None if self._dress.wear.is_plain else self._dress.held(answer.blocks)
        heard = Heard(answer=answer, held=held, whole=whole and answer.illegal is None)
        late = self._relay.late if whole and self._blocks else None
        return heard if late is None else with_late(heard, late)

    async def pass_on(self, head: ResponseHead, begins: Callable[[], None]) -> Refused | None:
        """To the client, all but its end; or the refusal that came instead. `begins` is called before the first content goes
        out. Raises BackendError, StreamIllegal."""
        check_encoding(head, self._backend)
        first = self._relay.begin() if type_of(head) == STREAM else b""
        first = first or await self._first(head)
        if isinstance(first, Refused):
            return first
        if self._relay.failure is not None and not self._relay.begun:
            return _refusal(self._backend, self._relay.failure)
        begins()
        await Push(first)
        await PassOn(self._relay, hides=self._dialect.translates)
        if rest := self._relay.flush():
            await Push(rest)
        await LetGo()
        self._check_end()
        return None

    async def _first(self, head: ResponseHead) -> bytes | Refused:
        """The first content. What is named a stream has no more time for it than a stream, whatever it turns out to be."""
        form = await form_of(head, self._within if type_of(head) == STREAM else None)
        if form == STREAM:
            return await _first_content(self._relay, self._within, self._backend)
        return await self._unfolded(head, form)

    async def _unfolded(self, head: ResponseHead, form: str) -> bytes | Refused:
        """Some servers answer in one piece, whatever was asked for; that is told as a stream."""
        raw = await ReadBody(MOST_BYTES)
        if form != JSON:
            raise not_expected(head, raw, "an event stream", self._backend)
        message = self._dialect.message(raw, self._hints, "messages")
        if message is None:
            raise BackendBroken(f"{self._backend}: an answer that is none: {shown(raw) or 'nothing'}")
        if isinstance(message, Refused):
            return message
        unfolded = Unfolded(message, self._dress.wear.model)
        self._relay = TranslatedRelay(self._dress, unfolded, keep=self._hints.keep, blocks=self._hints.blocks)
        return self._relay.feed(raw)

    def _check_end(self) -> None:
        if self._relay.failure is not None:
            raise AlreadyTold(self._relay.failure.error)
        if not self._relay.ended:
            raise BackendBroken(f"{self._backend}: the answer broke off before its end")


async def read_stream(relay: Relays, within: float, backend: str) -> Refused | None:
    """All of a stream into the relay, for a client that gets it in one piece; or the refusal that an error event stands for,
    wherever it came. Raises BackendError, StreamIllegal."""
    await _first_content(relay, within, backend)
    while not relay.ended and relay.failure is None and (data := await Take()):
        await _feed(relay, data)
    if relay.failure is not None:
        return _refusal(backend, relay.failure)
    if not relay.ended:
        relay.flush()
    if not relay.ended:
        raise BackendBroken(f"{backend}: the answer broke off before its end")
    return None


async def _first_content(relay: Relays, within: float, backend: str) -> bytes:
    """Everything up to the first content, or to the error in its place."""
    came = 0
    while data := await Take(within):
        out = await _feed(relay, data)
        if relay.begun or relay.failure is not None:
            return out
        came += len(data)
        check_before(0, came)
    out = relay.flush()
    if not relay.begun and relay.failure is None:
        raise BackendBroken(f"{backend}: the answer ended before it began")
    return out


async def _feed(relay: Relays, data: bytes) -> bytes:
    """What may go on for these bytes. They may be many: between two slices everybody else has a turn."""
    out = relay.feed(data[:SLICE_BYTES])
    for at in range(SLICE_BYTES, len(data), SLICE_BYTES):
        await GiveWay()
        out += relay.feed(data[at : at + SLICE_BYTES])
    return out


def _refusal(backend: str, failed: StreamFailed) -> Refused:
    """The no that an error stands for. Raises BackendBroken where the backend said none."""
    if failed.broken:
        raise BackendBroken(f"{backend}: {failed.error['message']}")
    return refused_with(failed)
