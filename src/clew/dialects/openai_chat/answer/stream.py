"""A streamed answer: bytes in, canonical events out; or the bytes for the client, where events need no reading (`runs`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from clew.dialects.openai_chat.answer.decoder import Asked
from clew.dialects.openai_chat.answer.listening import Listening
from clew.dialects.openai_chat.answer.scribes import THOUGHTS, EventScribe
from clew.dialects.openai_chat.failures.errors import Failure
from clew.dialects.openai_chat.speech import Speech
from clew.dialects.openai_chat.unread.singles import TakeOne
from clew.model.events import Event
from clew.model.json import JsonObject

__all__ = ["ChatStream", "Told"]

Told: TypeAlias = Event | bytes
"""An event, or a run of deltas of the open block, as bytes for the client."""
Finish: TypeAlias = Callable[[list[Event]], list[Event]]


class ChatStream:
    """`feed` bytes as they come, `flush` at their end. The events do not depend on where the bytes were cut."""

    def __init__(self, asked: Asked, speech: Speech | None = None) -> None:
        self._scribe = EventScribe()
        self._listening = Listening(asked, speech or Speech(), self._scribe)
        self._decoder = self._listening.decoder

    @property
    def take_one(self) -> TakeOne:
        """As `tell`, for an event that needs no reading and comes alone; b"" for all else, which is told."""
        return self._listening.singles.take_one

    def begin(self, *, eager: bool = False) -> list[Event]:
        """The start of the message before the backend has said anything; without it, the first chunk starts it."""
        self._decoder.begin(eager=eager)
        return self._drain()

    def feed(self, data: bytes) -> list[Event]:
        """The events that these bytes complete. Raises SseTooLarge."""
        self._listening.read(data)
        return self._drain()

    def tell(self, data: bytes, finish: Finish) -> list[Told]:
        """The same, with runs of deltas that need no reading as the client gets them.

        The events of each chunk go through `finish` before the next is read.
        """
        told: list[Told] = []
        self._listening.hear(data, told.append, lambda: told.extend(finish(self._drain())))
        return told

    def flush(self) -> list[Event]:
        """The events that the end of the bytes completes."""
        self._listening.end()
        return self._drain()

    def _drain(self) -> list[Event]:
        events, self._scribe.told = self._scribe.told, []
        return events

    @property
    def payloads(self) -> dict[int, JsonObject]:
        """What the backend needs back of each thought, by the index of its block (see `payloads`)."""
        return self._decoder.payloads

    def thoughts(self) -> Callable[[int], str]:
        """From now on it is kept what a thinking block says, until it is asked for by the block's index."""
        return self._decoder.words(THOUGHTS).pop

    def payload_at(self, index: int) -> JsonObject:
        """The same of one block."""
        return self._decoder.payload_at(index)

    @property
    def late(self) -> JsonObject:
        """A payload that came too late for any block; {} if none did."""
        return self._decoder.late

    @property
    def wire_ids(self) -> dict[str, str]:
        """The ids of calls → the backend's own, where they differ."""
        return self._decoder.wire_ids

    @property
    def failure(self) -> Failure | None:
        """Why the stream failed. If it did before any other event, the client can still get a status."""
        return self._decoder.failure
