"""A relay for an answer that is written in the client's bytes by whoever translates it: there are no events to look at.

What is decided is what `relay` decides: nothing goes on before the first content, the end waits, an error is told at once.
Where blocks are wanted, whoever writes has them when they are whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from clew.model.assemble import AssembledBlock, end
from clew.model.broken_calls import broken_calls
from clew.model.events import MessageDelta, StreamFailed
from clew.model.json import JsonObject
from clew.pipeline.stream.answer import Answer, answer_of_parts, said_of
from clew.pipeline.stream.dress import Dress
from clew.pipeline.stream.hidden import without_secret
from clew.wire.chunks import body_of
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

    blocks: list[AssembledBlock]
    """Those that are whole, if they are kept."""

    @property
    def late(self) -> JsonObject | None:
        """A thinking block for the recording alone, which came too late for the client."""
        ...

    @property
    def begun(self) -> bool: ...
    @property
    def stops(self) -> int: ...
    @property
    def ending(self) -> list[bytes]: ...
    @property
    def failed(self) -> StreamFailed | None: ...
    @property
    def message(self) -> JsonObject: ...
    @property
    def end(self) -> tuple[JsonObject, JsonObject] | None: ...
    def begin(self) -> list[bytes]: ...
    def feed(self, data: bytes) -> list[bytes]: ...
    def flush(self) -> list[bytes]: ...


class WrittenRelay:
    """One answer. Raises SseTooLarge."""

    __slots__ = (
        *("_counts", "_eager", "_keep", "_raw", "_secret", "_take_one", "_waiting", "_writing"),
        *("begun", "ended", "failure", "held", "size"),
    )

    def __init__(
        self, dress: Dress, writing: Writes, *, eager: bool = False, keep: bool = False, counts: bool = False
    ) -> None:
        """`keep` what came, in the backend's own words; with `counts` it is known how much that was."""
        self._writing = writing
        self._secret = dress.wear.secret
        self._eager = eager
        self._keep = keep
        self._counts = keep or counts
        self._raw: list[bytes] = []
        self.size = 0
        """The bytes that came, where they are counted."""
        self._waiting: list[bytes] = []
        self._take_one = writing.take_one
        self.begun = self.ended = False
        self.failure: StreamFailed | None = None
        self.held: list[bytes] = []

    @property
    def raw(self) -> bytes:
        return b"".join(self._raw)

    @property
    def late(self) -> JsonObject | None:
        return self._writing.late

    @property
    def stops(self) -> int:
        return self._writing.stops

    def answer(self, *, blocks: bool) -> Answer:
        """What came so far, without `blocks` only what is said about it. From any thread, too."""
        message, ended = self._writing.message, self._writing.end
        if not message:
            return answer_of_parts(())
        found = list(self._writing.blocks) if blocks else []
        whole = tuple([each.block for each in found])
        said: JsonObject = {**(message if blocks else said_of(message)), "content": [*whole]}
        if ended is not None:
            end(said, MessageDelta(*ended))
        return Answer(blocks=whole, message=said, broken_calls=broken_calls(said, found))

    def begin(self) -> bytes:
        return self._told(self._writing.begin()) if self._eager else b""

    def feed(self, data: bytes) -> bytes:
        if self._counts:
            self._note(data)
        return self._take_one(data) or self._told(self._writing.feed(data))

    def _note(self, data: bytes) -> None:
        self.size += len(data)
        if self._keep:
            self._raw.append(data)

    @property
    def passes(self) -> Callable[[bytes, int], bytes]:
        return self._passes if self._counts else self._writing.take_chunk

    def _passes(self, chunk: bytes, size: int) -> bytes:
        new = self._writing.take_chunk(chunk, size)
        if new:
            self._note(body_of(chunk))
        return new

    def flush(self) -> bytes:
        return b"" if self.ended else self._told(self._writing.flush())

    def _told(self, told: list[bytes]) -> bytes:
        """Now, or with the end, or not before the beginning."""
        writing = self._writing
        if writing.failed is not None and self.failure is None:
            told.append(self._failed(writing.failed))
        if writing.ending and not self.held:
            self.held = list(writing.ending) if writing.begun else [*self._waiting, *told, *writing.ending]
            self.begun = self.ended = True
        if not writing.begun:
            self._waiting += told
            return b""
        if self._waiting:
            told, self._waiting = self._waiting + told, []
        self.begun = True
        return b"".join(told)

    def _failed(self, failed: StreamFailed) -> bytes:
        self.failure, raw = without_secret(failed, encode_event(failed), self._secret)
        return raw
