"""Hearing: a streamed answer on its way from a backend to the client.

Two ways to end before the client has seen a byte: the backend says an error inside its 200, which counts as the status that
it stands for, or it breaks off. Both leave everything open: the request can still be repaired, repeated or sent elsewhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from clew.engine.aside import aside
from clew.engine.dialects import Dialect, Hints, Refused
from clew.engine.failures import shown
from clew.engine.passing import Passing
from clew.engine.reading import END_SECONDS, MOST_BYTES, drained, first_content, in_time, refusal_in
from clew.engine.reply_type import JSON, STREAM, check_encoding, form_of, not_expected, type_of
from clew.engine.turns import Heard, with_late
from clew.errors import BackendBroken, BackendError, StreamIllegal
from clew.http.chunks import Flow
from clew.http.client.message import ResponseLimits
from clew.model.json import JsonObject
from clew.pipeline.stream.dress import Dress
from clew.pipeline.stream.relay import Relays
from clew.pipeline.stream.translated import TranslatedRelay, Unfolded
from clew.upstream.reply import Reply

__all__ = ["LIMITS", "Settle", "StreamHearing", "Told"]

LIMITS = ResponseLimits(body_bytes=MOST_BYTES)

Settle = Callable[[Heard], Awaitable[None]]
"""Keeps the turn. The end of the answer waits for it."""


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

    def heard(self, *, whole: bool) -> Heard:
        answer = self._relay.answer(blocks=self._blocks)
        held = None if self._dress.wear.is_plain else self._dress.held(answer.blocks)
        heard = Heard(answer=answer, held=held, whole=whole and answer.illegal is None)
        late = self._relay.late if whole and self._blocks else None
        return heard if late is None else with_late(heard, late)

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
        first = self._relay.begin() if type_of(reply.head) == STREAM else b""
        if not first:
            first = await self._first(reply)
        if isinstance(first, Refused):
            return first
        if self._relay.failure is not None and not self._relay.begun:
            return refusal_in(reply, self._relay.failure)
        self.open(first, begun)
        return None

    async def _first(self, reply: Reply) -> bytes | Refused:
        """The first content. What is named a stream has no more time for it than a stream, whatever it turns out to be."""
        since = self._since or asyncio.get_running_loop().time()
        is_named = type_of(reply.head) == STREAM
        form = await (in_time(form_of(reply), reply, self._seconds, since) if is_named else form_of(reply))
        if form != STREAM:
            return await self._unfolded(reply, form)
        return await first_content(reply, self._relay, self._seconds, since)

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

    async def _unfolded(self, reply: Reply, form: str) -> bytes | Refused:
        """Some servers answer in one piece, whatever was asked for; that is told as a stream."""
        if form != JSON:
            raise await not_expected(reply, "an event stream")
        raw = await reply.read(most=MOST_BYTES)
        message = self._dialect.message(raw, self._hints, "messages")
        if message is None:
            raise BackendBroken(f"{reply.endpoint}: an answer that is none: {shown(raw) or 'nothing'}")
        if isinstance(message, Refused):
            return message
        unfolded = Unfolded(message, self._dress.wear.model)
        self._relay = TranslatedRelay(self._dress, unfolded, keep=self._hints.keep, blocks=self._hints.blocks)
        return self._relay.feed(raw)

    async def _rest(self, reply: Reply) -> None:
        try:
            if not self._relay.ended:
                await reply.relay(self.sink(reply), self.flow())
            elif not await drained(reply):
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
            self._grace = asyncio.get_running_loop().call_later(END_SECONDS, reply.give_up)

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
            raise Told(relay.failure.error)
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
