"""A translation: what a backend streams in Chat Completions, as the Messages API would have streamed it.

Behind it stand the same steps that an Anthropic stream passes. What the backend needs back of a thought
is its signature here: one `signature_delta` with the payload (`payloads`) just before the block's stop, which becomes the
payload of the seal. A call has the backend's own id, since that is what its maker must hear again; the client never sees it
where it may not be unique. A block that was open when the stream broke off gets no stop: it is not whole.
"""

from __future__ import annotations

from collections.abc import Iterable

from clew.dialects.openai_chat.answer.decoder import Asked
from clew.dialects.openai_chat.answer.stream import ChatStream
from clew.dialects.openai_chat.options import ChatAnswerOptions
from clew.dialects.openai_chat.payloads import late_block
from clew.model.events import BlockDelta, BlockStart, BlockStop, Event, altered
from clew.model.failure import Failure
from clew.model.json import JsonObject
from clew.model.payload import signature_of

__all__ = ["Translation"]


class Translation:
    """One answer. `own_ids`: calls keep the backend's ids, because somebody behind makes them safe."""

    def __init__(self, asked: Asked, speech: ChatAnswerOptions | None = None, *, own_ids: bool = True) -> None:
        self._stream = ChatStream(asked, speech, self._finished)
        self._own_ids = own_ids
        self._thinking = -1  # the index of the open thinking block

    @property
    def failure(self) -> Failure | None:
        return self._stream.failure

    @property
    def late(self) -> JsonObject | None:
        """A thought without words that came too late for the client, if one did."""
        return late_block(self._stream.late)

    def begin(self, *, eager: bool) -> list[Event]:
        """What can be said before the backend has said anything: with `eager` a message and its first, empty block."""
        return self._stream.begin(eager=True) if eager else []

    def feed(self, data: bytes) -> list[Event]:
        """What these bytes complete. Raises SseTooLarge."""
        return self._stream.feed(data)

    def flush(self) -> list[Event]:
        return self._stream.flush()

    def _finished(self, events: list[Event]) -> list[Event]:
        return [each for event in events for each in self._proved(event)]

    def _proved(self, event: Event) -> Iterable[Event]:
        if isinstance(event, BlockStart):
            return (self._started(event),)
        if not isinstance(event, BlockStop):
            return (event,)
        return (self._signature(), event) if event.index == self._thinking else (event,)

    def _started(self, event: BlockStart) -> BlockStart:
        block = event.content_block
        if event.block_type == "thinking":
            self._thinking = event.index
        own = self._stream.wire_ids.get(str(block.get("id"))) if self._own_ids and event.block_type == "tool_use" else ""
        return altered(event, content_block={**block, "id": own}) if own else event

    def _signature(self) -> BlockDelta:
        payload = self._stream.payload_at(self._thinking)
        return BlockDelta(self._thinking, {"type": "signature_delta", "signature": signature_of(payload)})
