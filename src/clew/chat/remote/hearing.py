"""An answer of a gateway elsewhere, while it comes: events with a name each, the first and the last of them a turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import msgspec

from clew.chat.events import Said, TextDelta, ThinkingDelta
from clew.chat.messages import ToolCall
from clew.chat.remote import told
from clew.chat.remote.line import check
from clew.chat.remote.troubles import raised
from clew.errors import BackendBroken, ClewError
from clew.upstream.pool import Asking
from clew.upstream.reply import Reply
from clew.wire.sse import SseEvent, SseReader

if TYPE_CHECKING:
    from clew.chat.remote.desk import RemoteDesk

__all__ = ["RemoteHearing"]

_PIECES: Final[dict[str, Callable[[bytes], Said]]] = {
    told.THINKING: msgspec.json.Decoder(ThinkingDelta).decode,
    told.TEXT: msgspec.json.Decoder(TextDelta).decode,
    told.CALL: msgspec.json.Decoder(ToolCall).decode,
}


class RemoteHearing:
    """Listens to one answer. `begin` first: it returns when what was said is kept."""

    def __init__(self, desk: RemoteDesk, asking: Asking) -> None:
        self.id = ""
        self.failure: BaseException | None = None
        self._desk = desk
        self._asking = asking
        self._reader = SseReader()
        self._reply: Reply | None = None
        self._early: list[Said] = []
        self._has_ended = False
        """The gateway said what became of it."""
        self._over = False
        self._leaving: asyncio.Task[None] | None = None
        self._turnstile = asyncio.Lock()

    @property
    def was_refused(self) -> bool:
        """The gateway said so: there is no turn."""
        return self._reply is not None and self._reply.status != 200

    async def begin(self) -> None:
        """Raises what the gateway refused with, and BackendError where there is no gateway."""
        reply = self._reply = await self._asking.__aenter__()
        try:
            await check(reply)
            while not self.id:
                self._early += await self._next(reply)
        except BaseException:
            self._end()
            raise

    async def heard(self) -> Sequence[Said]:
        """One listens at a time: whoever stops an answer may be another than who iterates it."""
        async with self._turnstile:
            said, self._early = self._early, []
            while not said and not self._over and self._reply is not None:
                try:
                    said = await self._next(self._reply)
                except ClewError as error:
                    self._broken(error)
            return said

    async def kept(self) -> None:
        """The gateway ends what was left, and says what became of it."""
        while not self._over:
            await self.heard()
        if self._leaving is not None:
            with suppress(ClewError):
                await self._leaving
        await self._desk.settled(lambda: self.id)

    def leave(self) -> None:
        if not self._over and self._leaving is None and self.id:
            self._leaving = asyncio.ensure_future(self._desk.stop(self.id))

    async def _next(self, reply: Reply) -> list[Said]:
        data = await reply.chunk()
        if not data:
            self._end()
            if not self._has_ended:
                raise BackendBroken("the gateway broke off")
        return [said for event in self._reader.feed(data) for said in self._hear(event)]

    def _hear(self, event: SseEvent) -> list[Said]:
        name = event.name.decode("latin-1")
        if name in _PIECES:
            return [_PIECES[name](event.data)]
        if name == told.TURN:
            begun = msgspec.json.decode(event.data, type=told.Begun)
            self.id = begun.turn.id
            self._desk.note(begun.thread, begun.turn)
        elif name == told.END:
            ended = msgspec.json.decode(event.data, type=told.Ended)
            self._desk.note(self._desk.thread, ended.turn)
            self.failure = raised(ended.trouble) if ended.trouble else None
            self._has_ended = True
        return []

    def _broken(self, error: ClewError) -> None:
        """The way to the gateway broke: it stops the answer and keeps what was finished, as for any caller that is gone."""
        self.failure = self.failure or error
        self._end()

    def _end(self) -> None:
        if not self._over:
            self._over = True
            self._asking.end()
