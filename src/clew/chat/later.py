"""Something that is opened when it is wanted: `async with` also closes it, `await` leaves that to the caller."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar

__all__ = ["Later"]


class _Closable(Protocol):
    async def close(self) -> None: ...


T = TypeVar("T", bound=_Closable)


class Later(AbstractAsyncContextManager[T], Generic[T]):
    """`async with AsyncConversation.open() as conversation:`, or `conversation = await AsyncConversation.open()`."""

    def __init__(self, open: Callable[[], Awaitable[T]]) -> None:
        self._open = open
        self._opened: T | None = None

    def __await__(self) -> Generator[Any, Any, T]:
        return self._open().__await__()

    async def __aenter__(self) -> T:
        self._opened = await self
        return self._opened

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._opened is not None:
            await self._opened.close()
