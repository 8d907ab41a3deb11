"""A relay for an answer in another dialect: translated first, then relayed like any other.

What came is still what the backend sent, in its own words; it is kept only where somebody wants to see it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, Protocol

from clew.errors import StreamIllegal
from clew.model.events import BlockDelta, Event, MessageStart
from clew.model.json import JsonObject, JsonValue
from clew.model.unfold import events_of
from clew.pipeline.stream.answer import Part
from clew.pipeline.stream.dress import Dress
from clew.pipeline.stream.pieces import NO_DELTAS, pieces_of
from clew.pipeline.stream.relay import Relay
from clew.wire.events import encode_event

__all__ = ["Shortcut", "TranslatedRelay", "Translates", "Unfolded"]

_WORDS: Final = {"text": ("text",), "thinking": ("thinking", "signature")}
"""What is told in deltas, by the type of its block."""
_PIECE = 4096
"""Characters in a delta of an answer that came in one piece."""


class Shortcut(Protocol):
    """What a translation can tell besides, so that less has to be looked at."""

    @property
    def take_one(self) -> Callable[[bytes], bytes]:
        """A delta of the open block, if that is all that a read holds, as the client gets it; b"" if it has to be fed.

        Another one after each read that was fed.
        """
        ...

    def thoughts(self) -> Callable[[int], str]:
        """From now on: what the thinking block in a place says. Asked for once, when the block was stopped."""
        ...


class Translates(Protocol):
    """What turns a backend's bytes into an Anthropic stream: events, and runs of deltas of the open block as bytes."""

    @property
    def late(self) -> JsonObject | None:
        """A thinking block that came too late for the client, and that its maker needs back."""
        ...

    @property
    def shortcut(self) -> Shortcut | None: ...

    def begin(self, *, eager: bool) -> Sequence[Part]: ...

    def feed(self, data: bytes) -> Sequence[Part]: ...

    def flush(self) -> Sequence[Part]: ...


class Unfolded:
    """An answer that came in one piece, as the stream that it would have been: whatever is fed, it says all of it.

    `model` is the name that the client asked for. Raises StreamIllegal for what no stream can tell.
    """

    late: JsonObject | None = None
    shortcut: Shortcut | None = None

    def __init__(self, message: JsonObject, model: str) -> None:
        self._message = message
        self._model = model

    def begin(self, *, eager: bool) -> Sequence[Part]:
        return ()

    def feed(self, data: bytes) -> Sequence[Part]:
        _check(self._message.get("content"))
        start, *rest = events_of(self._message, chunk=_PIECE)
        assert isinstance(start, MessageStart)
        return [replace(start, message={**start.message, "model": self._model}), *rest]

    def flush(self) -> Sequence[Part]:
        return ()


def _check(content: JsonValue) -> None:
    """Nothing is told in part: whoever gets a stream takes it for all that there is."""
    if not isinstance(content, list):
        raise StreamIllegal("the message has no list of blocks")
    for place, block in enumerate(content):
        kind = block.get("type") if isinstance(block, dict) else None
        if not isinstance(block, dict) or not isinstance(kind, str):
            raise StreamIllegal(f"content.{place} of the message is no block with a type")
        for name in _WORDS.get(kind, ()):
            if not isinstance(block.get(name) or "", str):
                raise StreamIllegal(f"content.{place}.{name} of the message is no text")


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
    ) -> None:
        super().__init__(dress, keep=False, blocks=blocks)
        self._translation = translation
        self._eager = eager
        self._keeps_words = keep
        self._hides = dress.wear.hide
        self._words: list[bytes] = []
        self._shortcut = translation.shortcut
        self._take_one = _nothing
        if self._sealing is not None and self._shortcut is not None:
            self._sealing.thought = self._shortcut.thoughts()

    @property
    def raw(self) -> bytes:
        return b"".join(self._words)

    @property
    def late(self) -> JsonObject | None:
        return self._translation.late

    @property
    def passes(self) -> None:
        return None

    def begin(self) -> bytes:
        return self._told(self._translation.begin(eager=self._eager))

    def feed(self, data: bytes) -> bytes:
        """As `Relay.feed`, and in one piece for the same reason."""
        if self._keeps_words:
            self._words.append(data)
        run = self._take_one(data)
        if not run:
            return self._fed(data)
        self.size += len(run)
        if self._blocks:
            self._parts.append(run)
        return run

    def _fed(self, data: bytes) -> bytes:
        new = self._told(self._translation.feed(data))
        if self._shortcut is not None and not self._hides:
            self._take_one = self._shortcut.take_one if self._open else _nothing
        return new

    def flush(self) -> bytes:
        return self._told(self._translation.flush())

    def _told(self, parts: Sequence[Part]) -> bytes:
        out: list[bytes] = []
        for part in parts:
            self._place(self._told_run(part) if isinstance(part, bytes) else self._told_event(part), out)
        return self._went(out)

    def _told_run(self, run: bytes) -> bytes:
        self._came(run)
        if not self._hides:
            return self._ran(run)
        return b"".join([self._event(piece) for piece in pieces_of(run, NO_DELTAS)])

    def _told_event(self, event: Event) -> bytes:
        raw = encode_event(event)
        if isinstance(event, BlockDelta) and self._cut.run.fullmatch(raw):
            return self._told_run(raw)
        self._came(raw)
        return self._read(event, raw)


def _nothing(_data: bytes) -> bytes:
    """The shortcut of a translation that has none."""
    return b""
