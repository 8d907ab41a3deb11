"""The library as a front without bytes: the engine writes canonical events, and the library reads the same values.

The engine hands bytes to its client, so each event travels as its number, four bytes long. What the engine holds back, or
never sends because the answer broke, is then just a number that does not arrive.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import structs

from clew.dialects import anthropic
from clew.dialects.shape import AnswerContext
from clew.model.events import Event

NUMBER_BYTES: Final = 4


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
            keep_alive=b"",
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

    def read(self, data: bytes) -> Iterator[Event]:
        """The events that these bytes stand for, each once."""
        for at in range(0, len(data), NUMBER_BYTES):
            yield self._events.pop(int.from_bytes(data[at : at + NUMBER_BYTES], "big"))
