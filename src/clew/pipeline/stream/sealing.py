"""The stream step that dresses an answer from outside the realm `anthropic`, event by event.

A thinking block's own signature is kept from the client: one `signature_delta` with the seal comes just before its stop,
because only then the text that the seal covers is known. (An empty signature is said by the start.) Its deltas pass in runs,
which are read together, and late. Text that a maker puts into a block's start is said as a delta, since clients take
thinking from deltas alone. What is redacted is all in the start of its block, seal included: that goes out with the stop,
because a seal may refer to the store, which keeps whole blocks. Hidden blocks vanish, and the others are counted anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from clew.model.events import BlockDelta, BlockStart, BlockStop, altered
from clew.model.halves import whole_text
from clew.model.json import JsonObject, JsonValue
from clew.model.long_text import LongText
from clew.pipeline.stream.dress import Dress
from clew.pipeline.stream.joined import joined
from clew.wire.events import encode_event

__all__ = ["Sealing"]


_BLANK: Final[JsonObject] = {"type": "thinking", "thinking": "", "signature": ""}
_MOST_RUNS: Final = 256
_MOST_BYTES: Final = 64 * 1024
"""Then they are read before the stop: as events they take more memory than as text."""


class Sealing:
    """One answer's blocks. `feed` returns what the client gets for each event."""

    def __init__(self, dress: Dress) -> None:
        self._dress = dress
        self._hidden: set[int] = set()
        self._text: LongText | None = None  # of the open thinking block
        self._runs: list[bytes] = []  # of its deltas, behind that text
        self._size = 0  # of these
        self._signature = ""
        self._redacted: tuple[BlockStart, bytes] | None = None  # the start of the open block, which waits for its stop

    def feed(self, event: BlockStart | BlockDelta | BlockStop, raw: bytes) -> bytes:
        if isinstance(event, BlockStart) and self._dress.is_hidden(event.content_block):
            self._hidden.add(event.index)
        if event.index in self._hidden:
            return b""
        match event:
            case BlockStart():
                return self._started(event, raw)
            case BlockDelta():
                return self._delta(event, raw)
            case BlockStop():
                return self._stopped(event, raw)

    def ran(self, run: bytes) -> None:
        """A run of deltas of the open block has passed."""
        if self._text is not None:
            self._runs.append(run)
            self._size += len(run)
            if len(self._runs) == _MOST_RUNS or self._size > _MOST_BYTES:
                self._spoken()

    def _shift(self, index: int) -> int:
        """Where the open block stands among those that the client sees: all hidden ones came before it."""
        return index - len(self._hidden)

    def _moved(self, event: BlockStart | BlockDelta | BlockStop, raw: bytes) -> bytes:
        return encode_event(altered(event, index=self._shift(event.index))) if self._hidden else raw

    def _started(self, event: BlockStart, raw: bytes) -> bytes:
        if self._dress.wear.sealer is not None and event.block_type == "thinking":
            return self._opened(event, raw)
        if self._dress.wear.sealer is not None and event.block_type == "redacted_thinking":
            self._redacted = event, raw
            return b""
        return self._dressed(event, raw)

    def _dressed(self, event: BlockStart, raw: bytes) -> bytes:
        block = self._dress.block(event.index, event.content_block)
        if block is event.content_block:
            return self._moved(event, raw)
        return encode_event(altered(event, index=self._shift(event.index), content_block=block))

    def _opened(self, event: BlockStart, raw: bytes) -> bytes:
        text = _text(event.content_block.get("thinking"))
        self._text, self._signature = LongText(text), _text(event.content_block.get("signature"))
        if event.content_block == _BLANK:
            return self._moved(event, raw)
        blank: JsonObject = {**event.content_block, "thinking": "", "signature": ""}
        index = self._shift(event.index)
        start = encode_event(altered(event, index=index, content_block=blank))
        return start + encode_event(_thinking(index, text)) if text else start

    def _delta(self, event: BlockDelta, raw: bytes) -> bytes:
        if self._text is not None and event.kind == "signature_delta":
            self._signature = _text(event.delta.get("signature"))  # the last one counts
            return b""
        if self._text is not None and event.kind == "thinking_delta":
            self._spoken().add(_text(event.delta.get("thinking")))
        return self._moved(event, raw)

    def _spoken(self) -> LongText:
        """The text of the open block, that of its runs included. Raises StreamIllegal if a run cannot be read."""
        assert self._text is not None
        for thought in _thoughts(b"".join(self._runs)):
            self._text.add(thought)
        self._runs.clear()
        self._size = 0
        return self._text

    def _stopped(self, event: BlockStop, raw: bytes) -> bytes:
        stop = self._moved(event, raw)
        if self._redacted is not None:
            stop, self._redacted = self._dressed(*self._redacted) + stop, None
        if self._text is None:
            return stop
        text = whole_text(self._spoken().whole())
        token = self._dress.seal(event.index, "thinking", text, self._signature)
        self._text, self._signature = None, ""
        if not token:
            return stop
        delta: JsonObject = {"type": "signature_delta", "signature": token}
        return encode_event(BlockDelta(self._shift(event.index), delta)) + stop


def _thoughts(run: bytes) -> Iterator[str]:
    for event in joined(run):
        if isinstance(event, BlockDelta):
            yield _text(event.delta.get("thinking"))


def _thinking(index: int, text: str) -> BlockDelta:
    return BlockDelta(index, {"type": "thinking_delta", "thinking": text})


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""
