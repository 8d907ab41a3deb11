"""A translation that tells of the life of its blocks while it goes, for whoever debugs one.

Around the translation and not inside it, so that a stream that nobody follows pays nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from clew.model.events import BlockDelta, BlockStart, BlockStop
from clew.model.json import JsonObject
from clew.pipeline.stream.pieces import NO_DELTAS, pieces_of
from clew.pipeline.stream.translated import Translates
from clew.wire.events import decode_event

__all__ = ["State", "Tell", "Traced"]

State: TypeAlias = Literal["started", "delta", "stopped"]

Tell: TypeAlias = Callable[[State, int, str, int], None]
"""Is told the state, the block's index and type, and how many deltas it had so far."""


class Traced:
    """As the translation that it is made of."""

    def __init__(self, translation: Translates, tell: Tell) -> None:
        self._translation = translation
        self._tell = tell
        self._kind = ""
        self._deltas = 0

    @property
    def late(self) -> JsonObject | None:
        return self._translation.late

    def begin(self, *, eager: bool) -> bytes:
        return self._noted(self._translation.begin(eager=eager))

    def feed(self, data: bytes) -> bytes:
        return self._noted(self._translation.feed(data))

    def flush(self) -> bytes:
        return self._noted(self._translation.flush())

    def _noted(self, events: bytes) -> bytes:
        for piece in pieces_of(events, NO_DELTAS):
            if piece.event is not None:
                self._note(decode_event(piece.event))
        return events

    def _note(self, event: object) -> None:
        match event:
            case BlockStart():
                self._kind, self._deltas = event.block_type, 0
                self._tell("started", event.index, self._kind, 0)
            case BlockDelta():
                self._deltas += 1
                self._tell("delta", event.index, self._kind, self._deltas)
            case BlockStop():
                self._tell("stopped", event.index, self._kind, self._deltas)
            case _:
                pass
