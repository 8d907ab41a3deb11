"""How conversations and runs begin and end: stopped, opened, and called from programs without an event loop."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar

from clew.errors import RequestInvalid
from clew.http.loops import LoopThread

T = TypeVar("T")


class Stoppable(ABC):
    """Something that runs until it is stopped: leaving the `async with` stops it.

    >>> import asyncio
    >>> class Clock(Stoppable):
    ...     runs = True
    ...     async def stop(self):
    ...         self.runs = False
    >>> async def left():
    ...     async with Clock() as clock:
    ...         pass
    ...     return clock.runs
    >>> asyncio.run(left())
    False
    """

    @abstractmethod
    async def stop(self) -> None:
        """Stop. Everything that was finished is stored when this returns."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()


class _Closable(Protocol):
    async def close(self) -> None: ...


C = TypeVar("C", bound=_Closable)


class Opening(AbstractAsyncContextManager[C], Generic[C]):
    """Something that is opened when it is awaited. `async with` also closes it; after `await` the caller does.

    `async with AsyncConversation.open() as conversation:`, or `conversation = await AsyncConversation.open()`.
    """

    def __init__(self, open: Callable[[], Awaitable[C]]) -> None:
        self._open = open
        self._opened: C | None = None

    def __await__(self) -> Generator[Any, Any, C]:
        return self._open().__await__()

    async def __aenter__(self) -> C:
        self._opened = await self
        return self._opened

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._opened is not None:
            await self._opened.close()


class Loop(LoopThread):
    """`with Loop() as loop: loop.call(coroutine())`. Leaving it cancels everything that still runs there.

    >>> async def answer() -> int:
    ...     return 42
    >>> with Loop() as loop:
    ...     loop.call(answer())
    42
    """

    def __init__(self) -> None:
        super().__init__("clew-conversation")

    def next(self, iterator: AsyncIterator[T]) -> T | None:
        """The next value of an iterator on the loop; None at its end."""

        async def advance() -> T | None:
            return await anext(iterator, None)

        return self.call(advance())

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop, and wait for it. An interrupt while waiting cancels the coroutine.

        Raises RequestInvalid if the wait would never end, or the loop is closed.
        """
        why = ""
        if self._loop.is_closed():
            why = "this was closed: open it again"
        elif threading.current_thread() is self._thread:
            why = "a coroutine cannot wait for the loop that it runs on: take a plain function"
        if why:
            work.close()
            raise RequestInvalid(why)
        done = self._begun(work)
        try:
            return done.result()
        except BaseException:
            done.cancel()  # has no effect if the coroutine itself failed
            raise
