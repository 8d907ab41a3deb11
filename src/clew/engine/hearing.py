"""Hearing: an answer on its way from a backend to the client, streamed or in one piece.

Two ways to end before the client has seen a byte: the backend says an error inside its 200, which counts as the status that
it stands for, or it breaks off. Both leave everything open: the request can still be repaired, repeated or sent elsewhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import NamedTuple

from msgspec import structs

from clew.engine.aside import aside
from clew.engine.call import Kind
from clew.engine.dialects import Dialect, Hints, Refused
from clew.engine.dialects.refused import refused_with
from clew.engine.failures import shown
from clew.engine.passing import Passing
from clew.engine.turns import Heard
from clew.errors import BackendBroken, BackendError, BackendTimedOut, StreamIllegal
from clew.http.chunks import Flow
from clew.http.client.message import ResponseHead, ResponseLimits
from clew.model.blocks import made
from clew.model.json import JsonObject
from clew.pipeline.stream.answer import answer_of_message
from clew.pipeline.stream.dress import Dress, dressed_message
from clew.pipeline.stream.relay import Relays
from clew.pipeline.stream.rename import renamed
from clew.pipeline.stream.translated import TranslatedRelay, Unfolded
from clew.upstream.reply import Reply

__all__ = ["JSON", "LIMITS", "STREAM", "Settle", "StreamHearing", "Whole", "comes_as", "hear_whole", "read_whole"]

MOST_BYTES = 64 * 1024 * 1024
"""Of an answer. What a model can say in one stream, a few characters to an event, is a third of that."""
LIMITS = ResponseLimits(body_bytes=MOST_BYTES)
_END_SECONDS = 0.25
"""How long a backend may keep the connection open after the end event before it is closed."""

STREAM, JSON = "text/event-stream", "application/json"

Settle = Callable[[Heard], Awaitable[None]]
"""Keeps the turn. The end of the answer waits for it."""


def comes_as(head: ResponseHead, wanted: str) -> bool:
    """Is it an answer of the type that was asked for?"""
    first = head.first
    if not 200 <= head.status < 300 or (b"content-encoding" in first and _packing(head)):
        return False
    return _named_in(first.get(b"content-type", b"")) == wanted


def check_encoding(reply: Reply) -> None:
    """We asked for none: what comes packed all the same is not unpacked, however little it seems."""
    if coding := _packing(reply.head):
        raise BackendBroken(
            f"{reply.endpoint}: an answer in the encoding {coding.decode('latin-1')!r}, which nobody asked for"
        )


def _packing(head: ResponseHead) -> bytes:
    coding = head.header(b"content-encoding")
    return coding if coding and coding.strip().lower() != b"identity" else b""


def _type_of(head: ResponseHead) -> str:
    return _named_in(head.header(b"content-type") or b"")


@lru_cache(maxsize=64)
def _named_in(value: bytes) -> str:
    return value.decode("latin-1").partition(";")[0].strip().lower()


async def _not_expected(reply: Reply, wanted: str) -> BackendBroken:
    body = await reply.read(most=MOST_BYTES)
    kind = _type_of(reply.head) or "no type"
    return BackendBroken(f"{reply.endpoint}: {kind} instead of {wanted}: {shown(body) or 'nothing'}")


class StreamHearing:
    """One streamed answer. `answer` is what was heard so far, at any moment."""

    __slots__ = (
        *(
            "_blocks",
            "_dialect",
            "_dress",
            "_grace",
            "_hints",
            "_passing",
            "_push",
            "_relay",
            "_reply",
            "_seconds",
            "_since",
        ),
        *("opened", "settle"),
    )

    def __init__(
        self,
        dress: Dress,
        dialect: Dialect,
        hints: Hints,
        passing: Passing,
        settle: Settle,
        *,
        first_content: float,
        since: float | None = None,
        blocks: bool = True,
    ) -> None:
        """`first_content`: how many seconds that may take, counted from now or from `since`, on the loop's clock."""
        self._dress = dress
        self._dialect = dialect
        self._hints = hints if blocks is hints.blocks else hints.saying(blocks)
        self._relay: Relays = dialect.relay(dress, self._hints)
        self._passing = passing
        self.settle = settle
        self._seconds = first_content
        self._since = since
        self._blocks = blocks
        self.opened = False
        """Has the first content gone to the client?"""
        self._reply: Reply | None = None
        self._push: Callable[[bytes], bool]
        self._grace: asyncio.TimerHandle | None = None

    @property
    def begun(self) -> bool:
        return self._relay.begun

    @property
    def ended(self) -> bool:
        return self._relay.ended

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

    def broken_off(self) -> bytes:
        """What the client has to hear before it is told that no more comes."""
        return self._relay.broken_off()

    def heard(self, *, whole: bool) -> Heard:
        answer = self._relay.answer(blocks=self._blocks)
        held = None if self._dress.wear.is_plain else self._dress.held(answer.blocks)
        late = self._relay.late if whole and self._blocks else None
        if late is not None:
            held = held if held is not None else [made(block) for block in answer.blocks]
            answer = structs.replace(answer, blocks=(*answer.blocks, late))
        return Heard(answer=answer, held=held, whole=whole and answer.illegal is None)

    async def hear(self, reply: Reply, begun: Callable[[], None]) -> Refused | None:
        """To its end, or to the refusal that came instead. Raises BackendError, StreamIllegal."""
        self._reply = reply
        if not self.opened and (refused := await self._open(reply, begun)):
            return refused
        await self._rest(reply)
        await self._end()
        return None

    async def _open(self, reply: Reply, begun: Callable[[], None]) -> Refused | None:
        """To the first content."""
        check_encoding(reply)
        if _type_of(reply.head) != STREAM:
            first = await self._unfolded(reply)
        else:
            first = self._relay.begin() or await self._first(reply)
        if isinstance(first, Refused):
            return first
        if self._relay.failure is not None and not self._relay.begun:
            return refused_with(self._relay.failure)
        self.open(first, begun)
        return None

    def open(self, first: bytes, begun: Callable[[], None]) -> None:
        """The first content is here."""
        self.opened = True
        begun()
        self._passing.push(first)

    def opening(self, data: bytes) -> bytes | None:
        """The beginning of the answer; None as long as it is not whole. Raises StreamIllegal."""
        relay = self._relay
        out = relay.begin() + relay.feed(data)
        return out if relay.begun or relay.failure is not None else None

    async def _unfolded(self, reply: Reply) -> bytes | Refused:
        """Some servers answer in one piece, whatever was asked for; in another dialect that is told as a stream."""
        if not self._dialect.translates or _type_of(reply.head) != JSON:
            raise await _not_expected(reply, "an event stream")
        raw = await reply.read(most=MOST_BYTES)
        message = self._dialect.message(raw, self._hints, "messages")
        if message is None:
            raise BackendBroken(f"{reply.endpoint}: an answer that is none: {shown(raw) or 'nothing'}")
        if isinstance(message, Refused):
            return message
        self._relay = TranslatedRelay(self._dress, Unfolded(message), keep=self._hints.keep, blocks=self._hints.blocks)
        return self._relay.feed(raw)

    async def _first(self, reply: Reply) -> bytes:
        """Everything up to the first content."""
        relay = self._relay
        try:
            async with asyncio.timeout_at((self._since or asyncio.get_running_loop().time()) + self._seconds):
                while data := await reply.chunk():
                    out = relay.feed(data)
                    if relay.begun or relay.failure is not None:
                        return out
        except TimeoutError:
            raise BackendTimedOut(
                f"{reply.endpoint}: no content within {self._seconds:g} s", phase="first content"
            ) from None
        out = relay.flush()
        if not relay.begun and relay.failure is None:
            raise BackendBroken(f"{reply.endpoint}: the answer ended before it began")
        return out

    async def _rest(self, reply: Reply) -> None:
        try:
            if not self._relay.ended:
                await reply.relay(self.sink(reply), self.flow())
            elif not await self._drained(reply):
                return
        except BackendError:
            if not self._relay.ended:
                raise
        finally:
            self._end_grace()
        self._passing.push(self._relay.flush())

    def _end_grace(self) -> None:
        if self._grace is not None:
            self._grace.cancel()

    async def _drained(self, reply: Reply) -> bool:
        """Read to the end of the body, which is nearly always here already, so that the connection can be kept."""
        try:
            async with asyncio.timeout(_END_SECONDS):
                await reply.read(most=MOST_BYTES)
        except TimeoutError:
            return False
        return True

    def sink(self, reply: Reply) -> Callable[[bytes], None]:
        """What is called with every read: on to the client."""
        self._reply, self._push = reply, self._passing.flow(reply, hides=self._dialect.translates)
        return self._sink

    def _sink(self, data: bytes) -> None:
        relay, reply = self._relay, self._reply
        assert reply is not None
        new = relay.feed(data)
        if new and not self._push(new):
            self._passing.wait(reply)
        if relay.ended and self._grace is None and not reply.is_over:
            self._grace = asyncio.get_running_loop().call_later(_END_SECONDS, reply.give_up)

    def flow(self) -> Flow | None:
        """For events that come one by one; made when `sink` is."""
        out = self._passing.client.framed()
        return None if out is None else Flow(self._relay, out, self._passing)

    def is_whole(self) -> bool:
        """At the end of the body: is this the end of the answer too? What is left of it goes out, but for the end."""
        self._end_grace()
        if rest := self._relay.flush():
            self._passing.push(rest)
        return self._relay.ended and self._relay.failure is None

    async def _end(self) -> None:
        """The turn is kept, then its end goes out."""
        relay = self._relay
        self._passing.hush()
        if relay.failure is not None:
            raise Told(relay.failure)
        if not relay.ended:
            raise BackendBroken(f"{self._endpoint()}: the answer broke off before its end")
        heard = await aside(relay.size, lambda: self.heard(whole=True))
        if heard.answer.illegal is not None:
            raise heard.answer.illegal
        await self.settle(heard)
        self.close()

    def close(self) -> None:
        """The end goes out."""
        self._passing.finish(b"".join(self._relay.held))

    def _endpoint(self) -> str:
        return str(self._reply.endpoint) if self._reply else "the backend"


class Told(StreamIllegal):
    """The backend's own error event has gone to the client: nothing more is to be said."""

    def __init__(self, error: JsonObject) -> None:
        super().__init__(str(error.get("message", "the backend broke off")), event="error")


class Whole(NamedTuple):
    """An answer in one piece: as it came, as the client gets it, and what it says."""

    raw: bytes
    shown: bytes
    heard: Heard


async def hear_whole(reply: Reply, dress: Dress, dialect: Dialect, hints: Hints, kind: Kind) -> Whole | Refused:
    """Raises BackendError."""
    check_encoding(reply)
    if _type_of(reply.head) != JSON:
        raise await _not_expected(reply, "JSON")
    raw = await reply.read(most=MOST_BYTES)
    found = read_whole(raw, dress, dialect, hints, kind)
    if found is None:
        raise BackendBroken(f"{reply.endpoint}: an answer that is none: {shown(raw) or 'nothing'}")
    return found


def read_whole(raw: bytes, dress: Dress, dialect: Dialect, hints: Hints, kind: Kind) -> Whole | Refused | None:
    """None if it is no answer at all."""
    message = dialect.message(raw, hints, kind)
    if message is None or isinstance(message, Refused):
        return message
    answer = answer_of_message(message)
    if dress.wear.is_plain and not dialect.translates:
        shown_body = raw if answer.model == dress.wear.model else renamed(raw, dress.wear.model)
        return Whole(raw, shown_body, Heard(answer=answer))
    shown_body = dressed_message(message, dress)
    held = None if dress.wear.is_plain else dress.held(answer.blocks)
    return Whole(raw, shown_body, Heard(answer=answer, held=held))
