"""Chat runs: the answers of the chat that come now, at most one in each thread.

A lost connection stops nothing: an answer that no client follows goes on, and is kept for a while after its end, so that a
client that comes back gets it from the beginning. But if the next question in the same thread arrives meanwhile, the answer
is stopped.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from time import monotonic
from typing import Final, NamedTuple, TypeAlias

from clew.admin.problems import AdminProblem
from clew.chat.ui.parts import DONE, PING, Part, frame_of

Stop: TypeAlias = Callable[[], Awaitable[None]]
ThreadKey: TypeAlias = tuple[str, str]
"""A principal, and the id of one of its threads."""

MOST_BYTES: Final = 8 * 1024 * 1024
PING_SECONDS: Final = 15.0
MOST: Final = 64
"""Answers at the same time, of all principals."""
KEPT_SECONDS: Final = 60.0
KEPT_BYTES: Final = 32 * 1024 * 1024
LEAVING_SECONDS: Final = 0.5
"""How long it may take until the server notices that a client hung up."""
_WAIT_SECONDS: Final = 2

_TOO_SLOW: Part = {
    "type": "error",
    "errorText": "This connection is too slow for the answer. Load the chat again to see it.",
}


class ChatRun:
    """One answer while it comes. `send` adds a part; `follow` gives all parts, from the first one on.

    The frames are kept until the end: for clients that come back, and for clients that read slowly, so the answer waits for
    no client. Of an answer with more than `most_bytes` the oldest frames are dropped, and then it cannot be replayed. The
    client that asked counts as a listener until it calls `leave`.
    """

    def __init__(self, most_bytes: int = MOST_BYTES, on_followed: Callable[[], None] = lambda: None) -> None:
        """`on_followed` is called each time that a listener has received the end."""
        self.listeners = 1
        self.was_followed = False
        """Whether a listener received the end."""
        self.over = asyncio.Event()
        self.size = 0
        """Bytes in all frames that are kept."""
        self._on_followed = on_followed
        self._begun = asyncio.Event()
        self._head: Sequence[Part] = ()
        self._stop: Stop | None = None
        self._most_bytes = most_bytes
        self._frames: list[bytes] = []
        self._dropped = 0
        self._new_frame = asyncio.Event()
        self._all_left = asyncio.Event()

    def begin(self, head: Sequence[Part], stop: Stop) -> None:
        """The question is asked. `head` is what a client that comes back gets first; `stop` ends the answer."""
        self._head, self._stop = head, stop
        self._begun.set()

    def fail(self) -> None:
        """The question could not be asked: there will be no answer to wait for."""
        self._begun.set()
        self.over.set()

    async def stop(self) -> None:
        """End the answer. When this returns, the blocks that were finished are in the store."""
        await self._begun.wait()
        if self._stop is not None:
            await self._stop()

    async def replay_head(self) -> Sequence[Part] | None:
        """The head for `follow`, for a client that comes back; None if the answer cannot be replayed from its beginning."""
        await self._begun.wait()
        return self._head if self._stop is not None and self._dropped == 0 else None

    def send(self, part: Part) -> None:
        self._add(frame_of(part))

    def end(self) -> None:
        """The answer is over: tell all listeners."""
        self._add(DONE)
        self.over.set()

    def _add(self, frame: bytes) -> None:
        self._frames.append(frame)
        self.size += len(frame)
        if self.size > self._most_bytes:
            half = len(self._frames) // 2
            self.size -= sum(map(len, self._frames[:half]))
            self._dropped += half
            del self._frames[:half]
        self._new_frame.set()
        self._new_frame = asyncio.Event()

    def join(self) -> None:
        self.listeners += 1

    def leave(self) -> None:
        self.listeners -= 1
        if not self.listeners:
            self._all_left.set()

    async def wait_until_left(self, seconds: float) -> bool:
        """Whether the last listener has left, or leaves within this time."""
        if self.listeners:
            self._all_left.clear()
            try:
                await asyncio.wait_for(self._all_left.wait(), seconds)
            except TimeoutError:
                return False
        return self.listeners == 0

    async def follow(self, head: Sequence[Part]) -> AsyncGenerator[bytes]:
        """The answer from its beginning to its end; a comment where nothing happens for a while."""
        yield b"".join(map(frame_of, head))
        at = 0
        while True:
            new_frame = self._new_frame
            if at < self._dropped:
                yield frame_of(_TOO_SLOW) + DONE
                return
            if waiting := self._frames[at - self._dropped :]:
                at += len(waiting)
                yield b"".join(waiting)
            elif self.over.is_set():
                self.was_followed = True
                self._on_followed()
                return
            else:
                try:
                    await asyncio.wait_for(new_frame.wait(), PING_SECONDS)
                except TimeoutError:
                    yield PING


class _Finished(NamedTuple):
    run: ChatRun
    at: float


class ChatRuns:
    """The runs of all threads: those under way, and finished ones that no client has followed to the end yet."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self.draining = False
        self._clock = clock
        self._runs: dict[ThreadKey, ChatRun] = {}
        """At most `MOST` of them are under way."""
        self._finished: dict[ThreadKey, _Finished] = {}
        """The oldest first."""
        self._finished_bytes = 0

    @property
    def running(self) -> int:
        return sum(1 for _ in self._under_way())

    def threads(self) -> tuple[ThreadKey, ...]:
        """Those with a run under way. Any thread of this process may ask."""
        return tuple(key for key, run in tuple(self._runs.items()) if not run.over.is_set())

    def find(self, thread: ThreadKey) -> ChatRun | None:
        """The run under way in this thread, or the finished one that no client has followed to the end."""
        self._drop_old()
        kept = self._finished.get(thread)
        return self._runs.get(thread) or (kept.run if kept else None)

    async def begin(self, thread: ThreadKey, most: int = MOST) -> ChatRun:
        """A new run in this thread, for a principal that may have `most`. Raises AdminProblem while a client follows
        another."""
        before = self._runs.get(thread)
        if before is not None and not before.over.is_set():
            if not await before.wait_until_left(LEAVING_SECONDS):
                raise _under_way_in_thread()
            await before.stop()
        present = self._runs.get(thread)  # another request may have begun one meanwhile
        if present is not None and not present.over.is_set():
            raise _under_way_in_thread()
        if self.draining:
            raise AdminProblem(503, "the gateway is ending", "it takes no new questions", "ask again when it is back")
        if sum(1 for _ in self._under_way(thread[0])) >= most:
            raise _too_many(429, f"{most} of yours are under way, as many as `[chat] max_answers` allows")
        if self.running >= MOST:
            raise _too_many(503, f"{MOST} are under way")
        self._drop(thread)

        def drop_followed() -> None:
            if (kept := self._finished.get(thread)) and kept.run is run:
                self._drop(thread)

        run = self._runs[thread] = ChatRun(on_followed=drop_followed)
        return run

    def finish(self, thread: ThreadKey, run: ChatRun) -> None:
        """The run is over. It is kept for a while, unless a client has followed it to the end."""
        if self._runs.get(thread) is not run:
            return
        del self._runs[thread]
        if not run.was_followed:
            self._finished[thread] = _Finished(run, self._clock())
            self._finished_bytes += run.size
        self._drop_old()

    def _drop_old(self) -> None:
        oldest = self._clock() - KEPT_SECONDS
        while self._finished:
            thread, kept = next(iter(self._finished.items()))
            if kept.at >= oldest and self._finished_bytes <= KEPT_BYTES:
                return
            self._drop(thread)

    def _drop(self, thread: ThreadKey) -> None:
        self._runs.pop(thread, None)
        if kept := self._finished.pop(thread, None):
            self._finished_bytes -= kept.run.size

    def _under_way(self, principal: str | None = None) -> Iterator[ChatRun]:
        """The runs that are not over, of one principal or of all."""
        own = (run for (owner, _), run in self._runs.items() if principal in (None, owner))
        return (run for run in own if not run.over.is_set())

    async def stop(self, thread: ThreadKey) -> bool:
        """End the run in this thread: its finished blocks are in the store when this returns. False if there is none."""
        run = self._runs.get(thread)
        if run is None or run.over.is_set():
            return False
        await run.stop()
        return True

    async def drain(self, seconds: float) -> None:
        """Begin no new runs, wait so long for those under way, then end them."""
        self.draining = True
        if waiting := [asyncio.ensure_future(run.over.wait()) for run in self._under_way()]:
            await asyncio.wait(waiting, timeout=seconds)
        await self.close()

    async def close(self) -> None:
        """End all runs at once, and begin no new ones."""
        self.draining = True
        await asyncio.gather(*(run.stop() for run in self._under_way()), return_exceptions=True)


def _too_many(status: int, why: str) -> AdminProblem:
    return AdminProblem(status, "too many answers at once", why, "try again when one has ended", retry_after=_WAIT_SECONDS)


def _under_way_in_thread() -> AdminProblem:
    return AdminProblem(
        409,
        "an answer is under way in this chat",
        "another client follows it, and a chat has one answer at a time",
        "wait until it ends, follow it with GET …/stream, or stop it with DELETE …/stream",
    )
