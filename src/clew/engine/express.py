"""The short way of an exchange: from inside the client's read to the backend's write, and from its reads to the client.

Nearly every request needs no decision that has to be waited for: a connection rests in the pool, the backend says yes, and
what it sends goes on. So all of that happens where the bytes arrive, without a task and without a coroutine. Whatever is
unusual goes the long way (`exchange`), from where it stands: what was taken of the answer is put back, and the same request
goes on there. A turn that a store must have first is waited for there too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from clew.engine.aside import LARGE
from clew.engine.asking import asking_of
from clew.engine.dialects import Refused
from clew.engine.exchange import LiveExchange
from clew.engine.hearing import LIMITS, StreamHearing
from clew.engine.in_one_piece import InOnePiece
from clew.engine.outgoing import place_of
from clew.engine.passing import Passing
from clew.engine.reply_head import JSON_TYPE
from clew.engine.rote.form import learn
from clew.engine.snapshot import Snapshot
from clew.engine.story import Story
from clew.engine.streaming import Streaming
from clew.engine.turns import Heard
from clew.engine.whole import Whole, read_whole
from clew.errors import BackendError, ClewError
from clew.http.client.connection import ClientConnection
from clew.http.client.message import ClientRequest, ResponseHead
from clew.model.change import Change
from clew.settings.values import Settings
from clew.upstream.pool import Asking
from clew.upstream.reply import Reply

__all__ = ["Begun", "Express", "raised"]


class Begun(NamedTuple):
    """What is under way already, begun elsewhere (`rote`)."""

    id: str
    snapshot: Snapshot
    request: ClientRequest
    """As it went out, but for its body."""
    started: float
    began: float
    """The same moment on the clock that never jumps."""
    passing: Passing | None = None
    hearing: StreamHearing | None = None
    opened_at: float | None = None
    """Since when the first content is waited for."""
    first_at: float = 0.0
    """When it came."""
    unheard: list[Change] | None = None
    """What of the answer goes to nobody, as far as that is known; more may come."""
    is_fresh: bool = False
    """Its connection is a new one."""


class Express(LiveExchange, Streaming, InOnePiece):
    """Begun once. Holds the client's responder as long as it goes the short way."""

    _is_light = True
    """Whether what is done about all of its messages may be done in the event loop."""

    def begin(self) -> Awaitable[None] | None:
        """None if it is under way; else what is left to be awaited. Raises ClewError if the request cannot be read."""
        if self._parts.cool_downs.until or self._shows_bodies:
            return self.run()
        self._is_light = len(self._call.body) <= LARGE or self._is_known()
        if not self._is_light:
            return self._begin_aside()
        return self._ask_at_once() if self._prepare() else self._go_on()

    def _is_known(self) -> bool:
        """Whether a large request goes on from one whose messages went as they came, under these settings: it is light."""
        self._recalled = request = self._parts.histories.recall(self._call)
        return request is not None and request.source.untouched is self._parts.snapshot()

    async def _begin_aside(self) -> None:
        """What takes a while is done in a thread, all in one go."""
        try:
            is_ready = await asyncio.to_thread(self._prepare)
        except asyncio.CancelledError:
            if self._story is not None:
                await self._guard(_cancelled())
            raise
        work = self._ask_at_once() if is_ready else self._go_on()
        if work is not None:
            await work

    def _ask_at_once(self) -> Awaitable[None] | None:
        story = self._told()
        self._asked = asked = self._asking(story.way, story)
        if story.asking.streams:
            self._passing = self._new_passing(story)
            self._passing.watch_silence(self)
        on = asked.begin()
        if on is None:
            return self._connect(asked)
        self._go_the_short_way(on)
        return None

    async def _connect(self, asked: Asking) -> None:
        """No connection rests here: with a new one it is the short way too."""
        try:
            on = await asked.open()
        except asyncio.CancelledError:
            self._asked = None
            await self._guard(_cancelled())
        except BackendError:
            await self._go_on()
        else:
            self._go_the_short_way(on)

    def _go_the_short_way(self, on: ClientConnection) -> None:
        self._on = on
        self._client.hold(self)
        self._listen(None if self._told().asking.streams else self._whole_comes)

    def cancel(self) -> None:
        """The client is gone, or the server ends: the backend stops at once. An answer that is whole and waits for the store
        has an end very soon, and a client that is there hears that instead."""
        if self._heard is not None and self._client.draining:
            return
        if self._asked is not None and self._on.heard is not None:
            self._note_head(self._on.heard, self._told())
        self._let_go()
        self._client.hand_over(self._guard(_cancelled()))

    # Asking.

    def _prepare(self) -> bool:
        """Read it, and put it into the first target's form. False where it needs more than that."""
        self._story = story = self._begin(self._read())
        way = story.way
        uncounted = self._call.kind == "count_tokens" and not way.dialect.counts
        if uncounted or story.by_sessions or self._lacks_credential(way):
            return False
        story.tries_way(way, self._parts.clock())
        try:
            self._project(way, story)
        except ClewError:  # said by the long way, which meets it again
            return False
        request, translates = story.asking.request, story.dialect.translates
        is_untouched = story.going.messages is request.messages and not translates
        request.source.untouched = story.asking.snapshot if is_untouched else None
        if len(self._call.body) <= LARGE:  # else nothing goes by rote
            learn(self._call, story, self._parts)
        return True

    # What was begun by rote.

    def take_over(self, begun: Begun, on: ClientConnection) -> None:
        """All that is known of a request that is on its way already, as if it had been sent from here."""
        self._on, parts, story = on, self._parts, self._tell_story(begun)
        way = story.way
        endpoint, request = place_of(way.backend.url).endpoint, begun.request.with_body(story.sent)
        asked = parts.pool.ask(endpoint, request, timeouts=story.asking.patience_with(way), limits=LIMITS)
        self._asked = asked.goes_on(on, parts.clock() - begun.began, is_fresh=begun.is_fresh)
        if on.heard is not None:
            self._note_head(on.heard, story)
        self._take_stream_over(begun, story)

    async def connect_failed(self, begun: Begun, asked: Asking, error: BaseException) -> None:
        """Take over an exchange by rote for which no connection could be made; to be awaited until it is over."""
        self._take_stream_over(begun, self._tell_story(begun))
        if isinstance(error, BackendError):
            self._asked = asked
            await self._go_on()
        else:
            await self._guard(_cancelled())

    def _tell_story(self, begun: Begun) -> Story:
        self._id = begun.id
        self._story = story = self._begin(asking_of(self._call, begun.snapshot, self._parts.store, begun.id))
        story.started, story.began = begun.started, begun.began
        story.tries_way(story.way, begun.began)
        story.unheard = story.unheard if begun.unheard is None else begun.unheard
        self._project(story.way, story)
        return story

    def _take_stream_over(self, begun: Begun, story: Story) -> None:
        self._passing, self._hearing, self._opened_at = begun.passing, begun.hearing, begun.opened_at
        if self._passing is not None:
            self._passing.heads = self
        if self._hearing is not None:
            self._hearing.settle = self._settle
            if self._hearing.opened:
                story.content_begins(begun.first_at)

    def go_on(self) -> None:
        """Take the exchange over in a task, together with what came of the answer so far."""
        self._go_the_long_way()

    def go_on_streaming(self) -> None:
        """With an answer that is on its way to the client, as it went until now; it is kept while it comes."""
        assert self._hearing is not None
        assert self._passing is not None
        self._client.hold(self)
        self._passing.hush()
        self._passing.watch_silence(self)
        self._listen()
        self._keeping.watch(self._told(), self._hearing, 0.0)

    def fail(self, error: Exception) -> None:
        """Something went wrong that is no fault of the backend."""
        self._let_go()
        self._client.hand_over(self._guard(raised(error)))

    # Hearing: an answer in one piece.

    def _is_taken(self, head: ResponseHead, raw: bytes) -> bool:
        whole = self._read_whole(raw)
        if whole is None:
            return False
        self._note_head(head, self._told())
        self._let_go()
        self._tell_at_once(whole)
        return True

    def _read_whole(self, raw: bytes) -> Whole | None:
        story = self._told()
        found = read_whole(raw, story.dress(), story.dialect, self._hints(story), self._call.kind)
        return None if isinstance(found, Refused) else found

    def _tell_at_once(self, whole: Whole) -> None:
        story = self._told()
        story.answered = whole.raw
        story.content_begins(self._parts.clock())
        self._is_told(whole.heard, lambda: self._client.send(200, [JSON_TYPE, *self.headers()], whole.shown))

    # Hearing: a stream (`streaming`).

    def _heard_of(self, head: ResponseHead, passing: Passing) -> StreamHearing:
        self._note_head(head, self._told())
        self._opened_at = self._on.heard_at
        return self._stream_hearing(self._told(), passing)

    def _reply(self, head: ResponseHead) -> Reply:
        assert self._asked is not None
        return Reply(self._asked.endpoint, self._on, head)

    def _settings(self) -> Settings:
        return self._told().asking.snapshot.settings

    # Ending.

    def _is_told(self, heard: Heard, tell: Callable[[], None]) -> None:
        """At once, if nobody has to be waited for."""
        story = self._told()
        if not self._is_light and self._parts.store is not None:
            self._client.hand_over(self._guard(self._settled(heard, tell)))
            return
        self._note(heard)
        if self._keeping.settle_at_once(story, heard):
            tell()
            self._client.release()
            self._forget()
            return
        self._step = lambda: self._hand_in(heard, tell)
        asyncio.get_running_loop().call_soon(self.news)

    def _hand_in(self, heard: Heard, tell: Callable[[], None]) -> None:
        """Hand the turn to the store; a turn of the loop later, so that all but the end has gone out before."""
        if not self._is_left:
            settled = self._keeping.settle_soon(self._told(), heard, self.news)
            self._step = lambda: self._end_goes(settled, tell)

    def _end_goes(self, settled: Callable[[], None], tell: Callable[[], None]) -> None:
        """The store has the turn, or cannot have it in time."""
        if not self._is_left:
            settled()
            with self._client.in_one_piece():
                tell()
            self._client.release()
            self._forget()

    @property
    def _is_left(self) -> bool:
        """Has the client gone, or must the server end? Then another has taken over (`cancel`)."""
        return self._client.holder is not self

    def _go_the_long_way(self) -> None:
        self._on.listener = None
        self._client.hand_over(self._go_on())

    def _let_go(self) -> None:
        """The backend is done, or no longer wanted. Once that is so, its connection may be somebody else's."""
        if self._asked is not None:
            self._on.listener = None
            self._asked.end()
            self._asked = None


async def _cancelled() -> None:
    raise asyncio.CancelledError


async def raised(error: Exception) -> None:
    """For whoever awaits what is left of an exchange."""
    raise error
