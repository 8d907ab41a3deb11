"""A translation that tells of the life of its blocks while it goes, for whoever debugs one.

Around the translation and not inside it, so that a stream that nobody follows pays nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from clew.model.events import BlockDelta, BlockStart, BlockStop, Event
from clew.model.json import JsonObject
from clew.pipeline.stream.translated import Translates

__all__ = ["State", "Tell", "Traced"]

State: TypeAlias = Literal["started", "delta", "stopped"]

Tell: TypeAlias = Callable[[State, int, str, int], None]
"""Is told the state, the block's index and type, and how many deltas it had so far."""


class Traced:
    """As the translation that it is made of, but that every delta is seen."""

    def __init__(self, translation: Translates, tell: Tell) -> None:
        self._translation = translation
        self._tell = tell
        self._kind = ""
        self._deltas = 0

    @property
    def late(self) -> JsonObject | None:
        return self._translation.late

    def begin(self, *, eager: bool) -> Sequence[Event]:
        return self._noted(self._translation.begin(eager=eager))

    def feed(self, data: bytes) -> Sequence[Event]:
        return self._noted(self._translation.feed(data))

    def flush(self) -> Sequence[Event]:
        return self._noted(self._translation.flush())

    def _noted(self, events: Sequence[Event]) -> Sequence[Event]:
        for event in events:
            self._note(event)
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
