"""Keeping: how an exchange ends in the store, in the log, and with whoever watches.

`settle` is for an answer that is whole: it is over once the store has the turn, or cannot have it in time, and only then its
end goes to the client (law 8); `settle_soon` is the same for whoever waits without a task. `leave` is for all that ended
otherwise: nobody is there to wait for it, or what they get does not depend on it, so it is handed over and forgotten.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from clew.engine.aside import LARGE, aside
from clew.engine.hearing import StreamHearing
from clew.engine.parts import Parts
from clew.engine.story import Story
from clew.engine.turns import Heard
from clew.errors import StoreError
from clew.model.past import each_of, folded
from clew.model.recording import Recording
from clew.model.request import Message
from clew.store.outcome import outcome, problem_of, when_over
from clew.store.values import Exchange, Outcome, Turn
from clew.thinking.keys import key_of

__all__ = ["FIRST_FLUSH", "Keeping"]

FIRST_FLUSH, NEXT_FLUSH = 0.25, 1.0
"""Seconds after which a stream is kept as open, and between two looks whether another block of it is whole."""


class Keeping:
    """Keeps one exchange, once."""

    done = False
    _timer: asyncio.TimerHandle | None = None
    _flushed = -1
    _lingers: Future[bool] | None = None
    """What was kept last as open, and nobody waits for."""
    _handed: Turn | None = None
    """In the store's hands, and not told of yet."""
    _write: Future[bool] | None = None
    _unmade: StoreError | None = None
    """Why the last turn is handed over without its answer."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def watch(self, story: Story, hearing: StreamHearing, after: float = FIRST_FLUSH) -> None:
        """From now on what came of a stream is kept now and then, as open: a process that dies does not take it along."""
        if self._parts.store is not None:
            self._timer = asyncio.get_running_loop().call_later(after, self._flush, story, hearing)

    def _flush(self, story: Story, hearing: StreamHearing) -> None:
        """Once that it is under way, then after each block."""
        loop = asyncio.get_running_loop()
        if story.asking.snapshot.settings.store.bodies != "off":
            story.times.append((hearing.size, round(self._parts.clock() - story.began, 3)))
        if hearing.stops != self._flushed:
            self._flushed = hearing.stops
            if max(hearing.size, len(story.asking.call.body)) > LARGE:
                loop.run_in_executor(None, self._open, story, hearing, hearing.stops)
            else:
                self._open(story, hearing, hearing.stops)
        self._timer = loop.call_later(NEXT_FLUSH, self._flush, story, hearing)

    def _open(self, story: Story, hearing: StreamHearing, stops: int) -> None:
        """Unless more of it was secured while this was put together."""
        store = self._parts.store
        if store is not None and not self.done:
            turn = self._turn(story, "open", hearing.heard(whole=False))
            if self._flushed == stops:
                self._lingers = lingers = store.record_open(turn)
                lingers.add_done_callback(_retrieved)
                if self._flushed != stops:  # in a thread of its own this may be a moment late
                    lingers.cancel()

    def secure(self, story: Story, hearing: StreamHearing, then: Callable[[], None]) -> None:
        """What came so far, at once: the client is about to get a seal that refers to it. Nothing if the end is near, since
        the end is kept before it is told."""
        parts = self._parts
        assert parts.store is not None
        if not self.done:
            self._flushed = hearing.stops
            turn = self._turn(story, "open", hearing.heard(whole=False))
            if self._lingers is not None:
                self._lingers.cancel()  # it has less, and would come after this
            when_over(parts.store.record(turn), parts.commit_seconds, then)

    def _end(self) -> None:
        self.done = True
        if self._timer is not None:
            self._timer.cancel()

    def settle_at_once(self, story: Story, heard: Heard) -> bool:
        """A whole answer, where there is no store that should have it."""
        parts = self._parts
        if parts.store is not None and story.asking.call.kind == "messages":
            return False
        self._end()
        self._tell(story, story.exchange("whole", heard, parts.wall()), None)
        return True

    async def settle(self, story: Story, heard: Heard) -> None:
        """A whole answer: kept before its end is told."""
        if self.settle_at_once(story, heard):
            return
        parts, call = self._parts, story.asking.call
        assert parts.store is not None
        turn = await aside(len(call.body), lambda: self._turn(story, "whole", heard))
        self._end()
        self._handed = turn
        self._write = parts.store.record(turn)
        self._settled(story, turn, await outcome(self._write, parts.commit_seconds))

    async def finish(self, story: Story, heard: Heard) -> None:
        """The same for one that was under way, from where it stands."""
        if not self.done:
            await self.settle(story, heard)
        elif self._handed is not None and self._write is not None:
            turn, seconds = self._handed, self._parts.commit_seconds
            self._settled(story, turn, await outcome(self._write, seconds))

    def settle_soon(self, story: Story, heard: Heard, over: Callable[[], None]) -> Callable[[], None]:
        """The same without a task, for one that is not large: `over` is called, and then what this returns ends it."""
        parts = self._parts
        assert parts.store is not None
        turn = self._turn(story, "whole", heard)
        self._end()
        self._handed = turn
        self._write = write = parts.store.record(turn)
        when_over(write, parts.commit_seconds, over)
        return lambda: self._settled(story, turn, problem_of(write, parts.commit_seconds))

    def _settled(self, story: Story, turn: Turn, problem: StoreError | None) -> None:
        self._handed = None
        if (why := self._unmade or problem) is not None:
            self._parts.unrecorded(story.id, why)
        self._touch(story)
        self._tell(story, turn.exchange, turn.recording)

    def _turn(self, story: Story, ending: Outcome, heard: Heard | None) -> Turn:
        """What the store gets. Where the answer cannot be made ready for it (its history lies in a damaged page), that is
        the exchange alone: the client gets the answer all the same."""
        ended = self._parts.wall()
        try:
            turn = story.turn(ending, heard, ended)
        except Exception as error:
            self._unmade = StoreError(f"the answer cannot be recorded: {type(error).__name__}: {error}")
            return Turn(exchange=story.exchange(ending, heard, ended))
        self._unmade = None
        return turn

    async def leave(self, story: Story, ending: Outcome, hear: Callable[[], Heard | None], size: int = 0) -> None:
        """What came of an answer that is not whole, or of none. `hear` puts it together; it has so many bytes."""
        if self.done:
            self._leave_handed(story)
            return
        self._end()
        turn = await aside(max(len(story.asking.call.body), size), lambda: self._leave(story, ending, hear()))
        self._tell(story, turn.exchange, turn.recording)

    def _leave_handed(self, story: Story) -> None:
        """Whoever waited for the store is gone: what it was handed is over, and nobody else will tell."""
        if self._handed is not None:
            self._settled(story, self._handed, None)

    def _leave(self, story: Story, ending: Outcome, heard: Heard | None) -> Turn:
        turn = self._turn(story, ending, heard)
        if self._parts.store is not None and story.asking.call.kind == "messages":
            self._parts.store.record(turn).add_done_callback(_retrieved)
        return turn

    def _tell(self, story: Story, exchange: Exchange, recording: Recording | None) -> None:
        if entry := story.asking.call.entry:
            entry.told(exchange, recording)
        self._parts.tell(exchange, recording)

    def _touch(self, story: Story) -> None:
        """Which blocks this request brought: news for the store once in a while."""
        parts, call = self._parts, story.asking.call
        news = parts.seen.news(call.principal, folded(story.asking.request.messages, _KEYS), parts.wall())
        if news and parts.store is not None:
            parts.store.touch(call.principal, keys=news, at=parts.wall(), lazily=True)


def _keys_in(messages: Sequence[Message]) -> list[bytes]:
    return [
        key
        for message in messages
        if message.role == "assistant" and isinstance(message.content, tuple)
        for block in message.content
        if (key := key_of(block))
    ]


_KEYS = each_of(_keys_in)


def _retrieved(done: Future[bool]) -> None:
    """A write that failed is in the store's health; a future that nobody looks at would complain."""
    if not done.cancelled():
        done.exception()
