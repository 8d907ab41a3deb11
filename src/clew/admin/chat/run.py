"""Run: one answer while it comes, for whoever listens, and for nobody too.

What is told is kept until the end, so that whoever comes back hears it from the beginning; the list is at the same time what
a slow listener has still before it, so nobody is waited for. There is a bound: of a longer answer the beginning goes, and
then it cannot be told again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Final, TypeAlias

from clew.chat.ui.parts import DONE, PING, Part, framed

__all__ = ["Run"]

Stop: TypeAlias = Callable[[], Awaitable[None]]

MOST_BYTES: Final = 8 * 1024 * 1024
PING_SECONDS: Final = 15.0
_BEHIND: Part = {"type": "error", "errorText": "This connection is too slow for the answer. Load the chat again to see it."}


class Run:
    """`tell` it parts; `follow` it from the beginning. Whoever began it counts as a listener until they `leave`."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.listeners = 1
        self.was_heard = False
        """Whether somebody heard its end."""
        self.over = asyncio.Event()
        self._begun = asyncio.Event()
        self._head: Sequence[Part] = ()
        self._stop: Stop | None = None
        self._most = most_bytes
        self._frames: list[bytes] = []
        self._gone = 0
        self._bytes = 0
        self._news = asyncio.Event()
        self._left = asyncio.Event()

    def begin(self, head: Sequence[Part], stop: Stop) -> None:
        """The question is asked. `head` is what whoever comes back is told first; `stop` ends the answer."""
        self._head, self._stop = head, stop
        self._begun.set()

    def fail(self) -> None:
        """The question could not be asked: there will be no answer, and nobody need wait for one."""
        self._begun.set()
        self.over.set()

    async def stop(self) -> None:
        """End it; what was finished is kept when this returns."""
        await self._begun.wait()
        if self._stop is not None:
            await self._stop()

    async def replay(self) -> Sequence[Part] | None:
        """What to follow it with from the beginning; None if that cannot be had any more, or never could."""
        await self._begun.wait()
        return self._head if self._stop is not None and self._gone == 0 else None

    @property
    def size(self) -> int:
        return self._bytes

    def tell(self, part: Part) -> None:
        self._add(framed(part))

    def end(self) -> None:
        """The answer is over: tell all who listen."""
        self._add(DONE)
        self.over.set()

    def _add(self, frame: bytes) -> None:
        self._frames.append(frame)
        self._bytes += len(frame)
        if self._bytes > self._most:
            self._drop(len(self._frames) // 2)
        self._news.set()
        self._news = asyncio.Event()

    def _drop(self, count: int) -> None:
        self._bytes -= sum(map(len, self._frames[:count]))
        self._gone += count
        del self._frames[:count]

    # Listening.

    def join(self) -> None:
        self.listeners += 1

    def leave(self) -> None:
        self.listeners -= 1
        if not self.listeners:
            self._left.set()

    async def deserted(self, seconds: float) -> bool:
        """Whether nobody listens any more, or stops to within this time."""
        if self.listeners:
            self._left.clear()
            try:
                await asyncio.wait_for(self._left.wait(), seconds)
            except TimeoutError:
                return False
        return self.listeners == 0

    async def follow(self, head: Sequence[Part]) -> AsyncGenerator[bytes]:
        """All of it, from the beginning to the end; a comment where nothing happens for a while."""
        yield b"".join(map(framed, head))
        at = 0
        while True:
            news = self._news
            if at < self._gone:
                yield framed(_BEHIND) + DONE
                return
            if waiting := self._frames[at - self._gone :]:
                at += len(waiting)
                yield b"".join(waiting)
            elif self.over.is_set():
                self.was_heard = True
                return
            elif not await _within(news, PING_SECONDS):
                yield PING


async def _within(event: asyncio.Event, seconds: float) -> bool:
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except TimeoutError:
        return False
    return True
