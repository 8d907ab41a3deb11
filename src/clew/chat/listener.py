"""EngineListener: a client of the engine in this process. What would go over a wire waits here to be read.

It does for the engine what a connection does: takes what is pushed, says when it is behind, runs what is handed over in a
task, and tells the engine when nobody listens any more.

`EventFront` is its dialect, without bytes: the engine writes canonical events, and the library reads the same values. The
engine hands bytes to its client, so each event travels as its number, four bytes long. What the engine holds back, or never
sends because the answer broke, is then just a number that does not arrive.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Final

from msgspec import structs

from clew.dialects import anthropic
from clew.dialects.shape import AnswerContext
from clew.engine.engine import Engine
from clew.engine.process_commands import TurnObserver
from clew.exchange.call import Call
from clew.http.responder import HeaderList, Responder
from clew.model.events import Event

NUMBER_BYTES: Final = 4
_MOST_WAITING: Final = 4096 * NUMBER_BYTES
"""Bytes that may wait to be read before the backend has to wait."""


def _no_passthrough(options: object) -> None:
    """Bytes never pass: there are none."""


class EventFront:
    """The front of one call. Its requests are those of the Messages API; its answers are events."""

    def __init__(self) -> None:
        self._events: dict[int, Event] = {}
        self._written = 0
        self.dialect = structs.replace(
            anthropic.DIALECT,
            name="events",
            stream_writer=self._writer,
            passthrough=_no_passthrough,
        )

    def _writer(self, context: AnswerContext) -> EventFront:
        """All writers of a call share its numbers: a failure is written by one of its own."""
        return self

    def write(self, event: Event) -> bytes:
        number = self._written
        self._written += 1
        self._events[number] = event
        return number.to_bytes(NUMBER_BYTES, "big")

    def keep_alive(self) -> bytes:
        return b""

    def read(self, data: bytes) -> Iterator[Event]:
        """The events that these bytes stand for, each once."""
        for at in range(0, len(data), NUMBER_BYTES):
            yield self._events.pop(int.from_bytes(data[at : at + NUMBER_BYTES], "big"))


class EngineListener(Responder):
    """Takes the answer of one request to the engine, in place of an HTTP connection."""

    def __init__(self) -> None:
        self.status = 0
        self.failure: BaseException | None = None
        """What the engine raised, if it did."""
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._changed = asyncio.Event()
        self._over = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._has_begun = False
        """Does that task run? One that was only made cannot be cancelled so that anybody hears of it."""
        self._left = False

    def ask(self, engine: Engine, call: Call, observer: TurnObserver | None = None) -> None:
        """Ask the engine. Raises ClewError for a call that cannot be read."""
        work = engine.answer(call, self, observer)
        if work is not None:
            self.hand_over(work)

    async def chunk(self) -> bytes:
        """Wait for the bytes since the last call; b"" at the end."""
        while not self._waiting and not self.ended and not self._over.is_set():
            self._changed.clear()
            await self._changed.wait()
        taken = b"".join(self._waiting)
        self._waiting.clear()
        self._size = 0
        self._changed.set()
        return taken

    async def over(self) -> None:
        """Wait until the engine has finished the answer and recorded the turn."""
        await self._over.wait()

    def leave(self) -> None:
        """Stop the answer: the backend is told at once. `over` returns when the finished blocks are recorded."""
        if self._left or self._over.is_set():
            return
        self._left = True
        self._cancel()

    def _cancel(self) -> None:
        """Cancel the engine's work, but not before its task has begun: a task that never ran gives nothing back, and `over`
        would never return."""
        if self._task is not None and not self._has_begun:
            asyncio.get_running_loop().call_soon(self._cancel)
        elif self._task is not None:
            self._task.cancel()
        elif self.holder is not None:
            self.holder.cancel()

    # For the engine.

    @property
    def asked(self) -> str:
        return "a conversation"

    def release(self) -> None:
        self.holder = None
        self._note_end()

    def hand_over(self, work: Awaitable[None]) -> None:
        self.holder = None
        self._has_begun = False
        self._task = asyncio.get_running_loop().create_task(self._serve(work))

    async def _serve(self, work: Awaitable[None]) -> None:
        self._has_begun = True
        try:
            await work
        except asyncio.CancelledError:
            pass  # it was left, and the finished part is kept
        except Exception as error:  # told to the reader, which is no part of this task
            self.failure = error
        finally:
            if self._task is asyncio.current_task():
                self._task = None
            if self.holder is None and self._task is None:  # else it goes on, from callbacks or in another task
                self._note_end()

    def _note_end(self) -> None:
        self._over.set()
        self._changed.set()

    def send(self, status: int, headers: HeaderList, body: bytes = b"") -> None:
        self.start(status, headers)
        self.push(body)
        self.end()

    def start(self, status: int, headers: HeaderList) -> None:
        assert not self.started, "a request has one answer"
        self.started = True
        self.status = status

    async def write(self, data: bytes) -> None:
        self.push(data)
        await self.drained()

    def push(self, data: bytes) -> bool:
        if data:
            self._waiting.append(data)
            self._size += len(data)
            self._changed.set()
        return self._size < _MOST_WAITING

    def flow(self) -> Callable[[bytes], bool]:
        return self.push

    @contextmanager
    def in_one_piece(self) -> Generator[None]:
        """The reader takes what waits all at once anyway."""
        yield

    async def drained(self) -> None:
        while self._size >= _MOST_WAITING:
            self._changed.clear()
            await self._changed.wait()

    def end(self) -> None:
        self.ended = True
        self._changed.set()

    def hang_up(self) -> None:
        self.started = True
        self.end()

    def abort(self) -> None:
        self.hang_up()
