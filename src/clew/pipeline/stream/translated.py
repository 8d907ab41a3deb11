"""A relay for an answer in another dialect: translated first, then relayed like any other.

What came is still what the backend sent, in its own words; it is kept only where somebody wants to see it.
"""

from __future__ import annotations

from typing import Protocol

from clew.model.events import BlockStop
from clew.model.json import JsonObject
from clew.model.unfold import events_of
from clew.pipeline.stream.dress import Dress
from clew.pipeline.stream.pieces import Piece
from clew.pipeline.stream.relay import Relay
from clew.wire.events import encode_event
from clew.wire.frames import SseLimits

__all__ = ["TranslatedRelay", "Translates", "Unfolded"]

_PIECE = 4096
"""Characters in a delta of an answer that came in one piece."""


class Translates(Protocol):
    """What turns a backend's bytes into those of an Anthropic stream."""

    @property
    def late(self) -> JsonObject | None:
        """A thinking block that came too late for the client, and that its maker needs back."""
        ...

    def begin(self, *, eager: bool) -> bytes: ...

    def feed(self, data: bytes) -> bytes: ...

    def flush(self) -> bytes: ...


class Unfolded:
    """An answer that came in one piece, as the stream that it would have been: whatever is fed, it says all of it."""

    late: JsonObject | None = None

    def __init__(self, message: JsonObject) -> None:
        self._message = message

    def begin(self, *, eager: bool) -> bytes:
        return b""

    def feed(self, data: bytes) -> bytes:
        return b"".join([encode_event(event) for event in events_of(self._message, chunk=_PIECE)])

    def flush(self) -> bytes:
        return b""


class TranslatedRelay(Relay):
    """One answer. Raises StreamIllegal, SseTooLarge."""

    def __init__(
        self,
        dress: Dress,
        translation: Translates,
        *,
        eager: bool = False,
        keep: bool = True,
        blocks: bool = True,
        limits: SseLimits | None = None,
    ) -> None:
        super().__init__(dress, limits, keep=False, blocks=blocks)
        self._translation = translation
        self._eager = eager
        self._keeps_words = keep
        self._words: list[bytes] = []

    @property
    def raw(self) -> bytes:
        return b"".join(self._words)

    @property
    def late(self) -> JsonObject | None:
        return self._translation.late

    def begin(self) -> bytes:
        return self._take(self._translation.begin(eager=self._eager))

    def feed(self, data: bytes) -> bytes:
        if self._keeps_words:
            self._words.append(data)
        return self._take(self._translation.feed(data))

    def flush(self) -> bytes:
        return self._take(self._translation.flush())

    def _event(self, piece: Piece) -> bytes:
        """As it is; but a block that breaks off with the stream is stopped for the client, if not for the recording."""
        was_open, index = self._lifecycle.is_open, self._lifecycle.blocks - 1
        out = super()._event(piece)
        if self.failure is None or not was_open:
            return out
        stop = encode_event(BlockStop(index)) if self._sealing is None else self._sealing.broken_off(index)
        return stop + out
