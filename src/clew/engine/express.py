"""The short way of an exchange: from inside the client's read to the backend's write, and from its reads to the client.

Nearly every request needs no decision that has to be waited for: a connection rests in the pool, the backend says yes, and
what it sends goes on. So all of that happens where the bytes arrive, without a task and without a coroutine. Whatever is
unusual goes the long way (`exchange`), from where it stands: what was taken of the answer is put back, and the same request
goes on there. A turn that a store must have first is waited for there too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from clew.engine.aside import LARGE
from clew.engine.dialects import Refused
from clew.engine.exchange import LiveExchange
from clew.engine.hearing import JSON, STREAM, Whole, comes_as, read_whole
from clew.engine.reply_head import JSON_TYPE
from clew.engine.turns import Heard
from clew.errors import BackendError, ClewError, StreamIllegal
from clew.http.client import ClientConnection
from clew.upstream.pool import Asking
from clew.upstream.reply import Reply

__all__ = ["Express"]


class Express(LiveExchange):
    """Begun once. Holds the client's responder as long as it goes the short way."""

    _on: ClientConnection
    """What the request went out on. Its `news` are ours as long as this is the short way."""
    _step: Callable[[], None]
    """What is done when there is news."""
    _taken: tuple[bytes, ...] = ()
    """What came before the first content."""

    def begin(self) -> Awaitable[None] | None:
        """None if it is under way; else what is left to be awaited. Raises ClewError if the request cannot be read."""
        if self._parts.cool_downs.until or self._shows_bodies:
            return self.run()
        if len(self._call.body) > LARGE:
            return self._begin_aside()
        return self._ask_at_once() if self._prepare() else self._go_on()

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
            self._passing.watch_silence(self._quiet)
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
        self._listen(self._stream_begins_to_come if self._told().asking.streams else self._whole_comes)

    def cancel(self) -> None:
        """The client is gone, or the server ends: the backend stops at once."""
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
        return True

    # Hearing: an answer in one piece.

    def _whole_comes(self) -> None:
        on = self._on
        head, raw = on.heard, on.whole()
        if head is None or raw is None:
            if on.has_failed or on.is_full or (head is not None and not comes_as(head, JSON)):
                self._go_the_long_way()
            return
        whole = self._read_whole(raw) if comes_as(head, JSON) else None
        if whole is None:
            on.put_back(raw)
            self._go_the_long_way()
            return
        self._note_head(head, self._told())
        self._let_go()
        self._tell_at_once(whole)

    def _read_whole(self, raw: bytes) -> Whole | None:
        story = self._told()
        found = read_whole(raw, story.dress(), story.dialect, self._hints(story), self._call.kind)
        return None if isinstance(found, Refused) else found

    def _tell_at_once(self, whole: Whole) -> None:
        story = self._told()
        story.answered = whole.raw
        story.content_begins(self._parts.clock())
        self._settle_then(whole.heard, lambda: self._client.send(200, [JSON_TYPE, *self._headers()], whole.shown))

    # Hearing: a stream.

    def _stream_begins_to_come(self) -> None:
        """All up to the first content is taken, and given back if it turns out to be unusual."""
        on, head = self._on, self._on.heard
        if on.has_failed or (head is not None and not comes_as(head, STREAM)):
            self._go_the_long_way()
        if head is None or on.news is None or self._passing is None:
            return
        if self._hearing is None:
            self._note_head(head, self._told())
            self._opened_at = on.heard_at
            self._hearing = self._stream_hearing(self._told(), self._passing)
        data = on.take()
        self._taken = (*self._taken, data) if data else self._taken
        self._open(data)

    def _open(self, data: bytes) -> None:
        on, hearing = self._on, self._hearing
        assert hearing is not None
        try:
            first = hearing.opening(data)
        except (StreamIllegal, BackendError):
            self._take_back()
            return
        if first is None and not on.is_over and self._may_wait():
            return
        if first is None or not hearing.begun:
            self._take_back()
            return
        self._taken = ()
        with self._client.in_one_piece():
            hearing.open(first, self._stream_begins)
            self._stream_goes_on()

    def _may_wait(self) -> bool:
        """Whether somebody looks (`_quiet`) before the first content is overdue."""
        settings = self._told().asking.snapshot.settings
        return settings.first_content_seconds > settings.gateway.ping_seconds

    def _stream_goes_on(self) -> None:
        on, hearing, asked = self._on, self._hearing, self._asked
        assert hearing is not None
        assert asked is not None
        assert on.heard is not None
        if on.is_over:
            self._stream_is_over()
        elif hearing.ended:
            self._go_the_long_way()
        else:
            self._listen(self._stream_is_over)
            on.pour(hearing.sink(Reply(asked.endpoint, on, on.heard)))

    def _stream_is_over(self) -> None:
        hearing = self._hearing
        assert hearing is not None
        if (self._on.has_failed and not hearing.ended) or hearing.size > LARGE or not hearing.is_whole():
            self._go_the_long_way()
            return
        heard = hearing.heard(whole=True)
        if heard.answer.illegal is not None:
            self._go_the_long_way()
            return
        self._let_go()
        self._settle_then(heard, hearing.close)

    def _quiet(self) -> None:
        """Nothing came for a while. For the first content there is a time to keep, and the long way keeps it."""
        hearing = self._hearing
        if hearing is not None and not hearing.begun and self._on.news is not None:
            self._take_back()
        if self._passing is not None:
            self._passing.tick()

    # Ending.

    def _settle_then(self, heard: Heard, tell: Callable[[], None]) -> None:
        """At once, if nobody has to be waited for."""
        story = self._told()
        if len(self._call.body) > LARGE and self._parts.store is not None:
            self._client.hand_over(self._guard(self._settled(heard, tell)))
            return
        self._note(heard)
        if self._keeping.settle_at_once(story, heard):
            tell()
            self._client.release()
            return
        self._step = lambda: self._hand_in(heard, tell)
        asyncio.get_running_loop().call_soon(self._news)

    def _hand_in(self, heard: Heard, tell: Callable[[], None]) -> None:
        """To the store, and not before what came ahead of the end has gone out."""
        if not self._is_left:
            settled = self._keeping.settle_soon(self._told(), heard, self._news)
            self._step = lambda: self._end_goes(settled, tell)

    def _end_goes(self, settled: Callable[[], None], tell: Callable[[], None]) -> None:
        """The store has the turn, or cannot have it in time."""
        if not self._is_left:
            settled()
            with self._client.in_one_piece():
                tell()
            self._client.release()

    @property
    def _is_left(self) -> bool:
        """Has the client gone, or must the server end? Then another has taken over (`cancel`)."""
        return self._client.holder is not self

    async def _settled(self, heard: Heard, tell: Callable[[], None]) -> None:
        await self._settle(heard)
        with self._client.in_one_piece():
            tell()

    def _take_back(self) -> None:
        """As if nothing had been heard."""
        self._hearing = None
        self._on.put_back(b"".join(self._taken))
        self._taken = ()
        self._go_the_long_way()

    def _go_the_long_way(self) -> None:
        self._on.news = None
        self._client.hand_over(self._go_on())

    def _let_go(self) -> None:
        """The backend is done, or no longer wanted."""
        self._on.news = None
        if self._asked is not None:
            self._asked.end()
            self._asked = None

    def _listen(self, step: Callable[[], None]) -> None:
        self._step = step
        self._on.news = self._news

    def _news(self) -> None:
        """Nothing that goes wrong here may be lost on the loop: the client would wait for ever."""
        try:
            self._step()
        except Exception as error:
            self._let_go()
            self._client.hand_over(self._guard(_raised(error)))


async def _cancelled() -> None:
    raise asyncio.CancelledError


async def _raised(error: Exception) -> None:
    raise error
