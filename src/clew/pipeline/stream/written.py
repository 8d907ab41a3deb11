"""A relay for an answer that is written in the client's bytes by whoever translates it, where nobody looks at its events.

What is decided is what `relay` decides: nothing goes on before the first content, the end waits, an error is told at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from clew.model.events import StreamFailed
from clew.model.json import JsonObject
from clew.pipeline.stream.answer import Answer, answer_of_parts, said_of
from clew.pipeline.stream.dress import Dress
from clew.pipeline.stream.relay import without_secret
from clew.wire.events import encode_event

__all__ = ["Writes", "WrittenRelay"]


class Writes(Protocol):
    """What turns a backend's bytes into those of an Anthropic stream, seals and all."""

    @property
    def take_one(self) -> Callable[[bytes], bytes]:
        """A delta of the open block, if that is all that a read holds, as the client gets it; b"" if it has to be fed."""
        ...

    @property
    def take_chunk(self) -> Callable[[bytes, int], bytes]:
        """The same for a chunk of HTTP/1.1, whose body begins there, and as one."""
        ...

    @property
    def begun(self) -> bool: ...
    @property
    def stops(self) -> int: ...
    @property
    def ending(self) -> list[bytes]: ...
    @property
    def error(self) -> JsonObject | None: ...
    @property
    def message(self) -> JsonObject: ...
    @property
    def end(self) -> tuple[JsonObject, JsonObject] | None: ...
    def begin(self) -> list[bytes]: ...
    def feed(self, data: bytes) -> list[bytes]: ...
    def flush(self) -> list[bytes]: ...
    def broken_off(self) -> bytes: ...


class WrittenRelay:
    """One answer. Raises SseTooLarge."""

    __slots__ = (
        "_eager",
        "_secret",
        "_take_one",
        "_waiting",
        "_writing",
        "begun",
        "ended",
        "failure",
        "held",
    )

    raw = b""
    size = 0
    """Nothing is kept, so nothing is to be folded in the end, however long it was."""
    late: JsonObject | None = None

    def __init__(self, dress: Dress, writing: Writes, *, eager: bool = False) -> None:
        self._writing = writing
        self._secret = dress.wear.secret
        self._eager = eager
        self._waiting: list[bytes] = []
        self._take_one = writing.take_one
        self.begun = self.ended = False
        self.failure: JsonObject | None = None
        self.held: tuple[bytes, ...] = ()

    @property
    def stops(self) -> int:
        return self._writing.stops

    def answer(self, *, blocks: bool) -> Answer:
        """What is said about the answer. Nobody has its blocks."""
        message, end = self._writing.message, self._writing.end
        if not message:
            return answer_of_parts(())
        said = {**said_of(message), "content": []}
        if end is None:
            return Answer(message=said)
        stop, usage = end
        return Answer(message={**said, **stop, "usage": usage})

    def begin(self) -> bytes:
        return self._told(self._writing.begin()) if self._eager else b""

    def feed(self, data: bytes) -> bytes:
        return self._take_one(data) or self._told(self._writing.feed(data))

    @property
    def passes(self) -> Callable[[bytes, int], bytes]:
        return self._writing.take_chunk

    def flush(self) -> bytes:
        return b"" if self.ended else self._told(self._writing.flush())

    def broken_off(self) -> bytes:
        """The stop of the open block, if the client knows of one (S3-22)."""
        return self._writing.broken_off()

    def _told(self, told: list[bytes]) -> bytes:
        """Now, or with the end, or not before the beginning."""
        writing = self._writing
        if writing.error is not None and self.failure is None:
            told.append(self._failed(writing.error))
        if self._waiting:
            told, self._waiting = self._waiting + told, []
        if writing.ending and not self.held:
            self.held = tuple(writing.ending) if writing.begun else (*told, *writing.ending)
            self.begun = self.ended = True
        elif not writing.begun:
            self._waiting = told
        if not writing.begun:
            return b""
        self.begun = True
        return b"".join(told)

    def _failed(self, error: JsonObject) -> bytes:
        failed = StreamFailed(error)
        event, raw = without_secret(failed, encode_event(failed), self._secret)
        self.failure = event.error
        return raw
