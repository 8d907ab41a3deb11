"""A relay for an answer in another dialect: translated first, then relayed like any other.

What came is still what the backend sent, in its own words; it is kept only where somebody wants to see it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from clew.errors import StreamIllegal
from clew.model.events import BlockDelta, Event, MessageStart, altered
from clew.model.json import JsonObject, JsonValue
from clew.model.unfold import events_of
from clew.pipeline.stream.dress import Dress
from clew.pipeline.stream.relay import Relay
from clew.wire.events import encode_event

__all__ = ["TranslatedRelay", "Translates", "Unfolded"]

_WORDS: Final = {"text": ("text",), "thinking": ("thinking", "signature")}
"""What is told in deltas, by the type of its block."""
_PIECE = 4096
"""Characters in a delta of an answer that came in one piece."""


class Translates(Protocol):
    """What turns a backend's bytes into the events of an Anthropic stream."""

    @property
    def late(self) -> JsonObject | None:
        """A thinking block that came too late for the client, and that its maker needs back."""
        ...

    def begin(self, *, eager: bool) -> Sequence[Event]: ...

    def feed(self, data: bytes) -> Sequence[Event]: ...

    def flush(self) -> Sequence[Event]: ...


class Unfolded:
    """An answer that came in one piece, as the stream that it would have been: whatever is fed, it says all of it.

    `model` is the name that the client asked for. Raises StreamIllegal for what no stream can tell.
    """

    late: JsonObject | None = None

    def __init__(self, message: JsonObject, model: str) -> None:
        self._message = message
        self._model = model

    def begin(self, *, eager: bool) -> Sequence[Event]:
        return ()

    def feed(self, data: bytes) -> Sequence[Event]:
        _check(self._message.get("content"))
        start, *rest = events_of(self._message, chunk=_PIECE)
        assert isinstance(start, MessageStart)
        return [altered(start, message={**start.message, "model": self._model}), *rest]

    def flush(self) -> Sequence[Event]:
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
        if self._keeps_words:
            self._words.append(data)
        return self._told(self._translation.feed(data))

    def flush(self) -> bytes:
        return self._told(self._translation.flush())

    def _told(self, events: Sequence[Event]) -> bytes:
        out: list[bytes] = []
        for event in events:
            self._place(self._told_event(event), out)
        return self._went(out)

    def _told_event(self, event: Event) -> bytes:
        raw = encode_event(event)
        self._came(raw)
        if isinstance(event, BlockDelta) and not self._hides and self._cut.run.fullmatch(raw):
            return self._ran(raw)
        return self._read(event, raw)
