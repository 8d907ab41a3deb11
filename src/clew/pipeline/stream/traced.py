"""A translation that tells of the life of its blocks while it goes, for whoever debugs one.

Around the translation and not inside it, so that a stream that nobody follows pays nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from clew.model.events import BlockDelta, BlockStart, BlockStop
from clew.model.json import JsonObject
from clew.pipeline.stream.answer import Part
from clew.pipeline.stream.translated import Shortcut, Translates
from clew.wire.events import decode_event
from clew.wire.sse import SseReader

__all__ = ["State", "Tell", "Traced"]

State: TypeAlias = Literal["started", "delta", "stopped"]

Tell: TypeAlias = Callable[[State, int, str, int], None]
"""Is told the state, the block's index and type, and how many deltas it had so far."""


class Traced:
    """As the translation that it is made of, but that every delta is seen."""

    shortcut: Shortcut | None = None

    def __init__(self, translation: Translates, tell: Tell) -> None:
        self._translation = translation
        self._tell = tell
        self._kind = ""
        self._deltas = 0

    @property
    def late(self) -> JsonObject | None:
        return self._translation.late

    def begin(self, *, eager: bool) -> Sequence[Part]:
        return self._noted(self._translation.begin(eager=eager))

    def feed(self, data: bytes) -> Sequence[Part]:
        return self._noted(self._translation.feed(data))

    def flush(self) -> Sequence[Part]:
        return self._noted(self._translation.flush())

    def _noted(self, parts: Sequence[Part]) -> Sequence[Part]:
        for part in parts:
            for event in map(decode_event, SseReader().feed(part)) if isinstance(part, bytes) else [part]:
                self._note(event)
        return parts

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
