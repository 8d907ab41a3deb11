"""An answer of a gateway elsewhere, while it comes: named events, of which the first and the last are a turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import msgspec

from clew.chat.events import AnswerEvent, TextDelta, ThinkingDelta
from clew.chat.messages import ToolCall
from clew.chat.remote import protocol
from clew.chat.remote.connection import check_reply
from clew.errors import BackendBroken, ClewError
from clew.upstream.pool import Asking
from clew.upstream.reply import Reply
from clew.wire.sse import SseEvent, SseReader

if TYPE_CHECKING:
    from clew.chat.remote.service import RemoteThreadService

__all__ = ["RemoteAnswerReader"]

_DECODERS: Final[dict[str, Callable[[bytes], AnswerEvent]]] = {
    protocol.THINKING: msgspec.json.Decoder(ThinkingDelta).decode,
    protocol.TEXT: msgspec.json.Decoder(TextDelta).decode,
    protocol.CALL: msgspec.json.Decoder(ToolCall).decode,
}


class RemoteAnswerReader:
    """Reads one answer. Call `begin` first: it returns when the question is stored."""

    def __init__(self, service: RemoteThreadService, asking: Asking) -> None:
        self.id = ""
        self.failure: BaseException | None = None
        self._service = service
        self._asking = asking
        self._reader = SseReader()
        self._reply: Reply | None = None
        self._early: list[AnswerEvent] = []
        self._has_ended = False
        """Has the gateway sent the outcome?"""
        self._over = False
        self._leaving: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()

    @property
    def was_refused(self) -> bool:
        """Did the gateway refuse the question? Then there is no turn."""
        return self._reply is not None and self._reply.status != 200

    async def begin(self) -> None:
        """Wait for the first event. Raises the gateway's refusal, and BackendError if there is no gateway."""
        reply = self._reply = await self._asking.__aenter__()
        try:
            await check_reply(reply)
            while not self.id:
                self._early += await self._next(reply)
        except BaseException:
            self._end()
            raise

    async def next_events(self) -> Sequence[AnswerEvent]:
        """Only one task reads at a time: another task may stop the answer than the one that iterates it."""
        async with self._lock:
            said, self._early = self._early, []
            while not said and not self._over and self._reply is not None:
                try:
                    said = await self._next(self._reply)
                except ClewError as error:  # the gateway is gone: it stops the answer and stores its finished blocks
                    self.failure = self.failure or error
                    self._end()
            return said

    async def wait_stored(self) -> None:
        """Wait for the outcome: the gateway ends an answer that was left, and sends it."""
        while not self._over:
            await self.next_events()
        if self._leaving is not None:
            with suppress(ClewError):
                await self._leaving
        await self._service.settled(lambda: self.id)

    def leave(self) -> None:
        if not self._over and self._leaving is None and self.id:
            self._leaving = asyncio.ensure_future(self._service.stop(self.id))

    async def _next(self, reply: Reply) -> list[AnswerEvent]:
        data = await reply.chunk()
        if not data:
            self._end()
            if not self._has_ended:
                raise BackendBroken("the gateway broke off")
        return [said for event in self._reader.feed(data) for said in self._read(event)]

    def _read(self, event: SseEvent) -> list[AnswerEvent]:
        name = event.name.decode("latin-1")
        if name in _DECODERS:
            return [_DECODERS[name](event.data)]
        if name == protocol.TURN:
            begun = msgspec.json.decode(event.data, type=protocol.TurnBegun)
            self.id = begun.turn.id
            self._service.note(begun.thread, begun.turn)
        elif name == protocol.END:
            ended = msgspec.json.decode(event.data, type=protocol.TurnEnded)
            self._service.note(self._service.thread, ended.turn)
            self.failure = protocol.error_of(ended.trouble) if ended.trouble else None
            self._has_ended = True
        return []

    def _end(self) -> None:
        if not self._over:
            self._over = True
            self._asking.end()
