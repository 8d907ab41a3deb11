"""The stream step that seals, hides and renames the blocks of an answer from outside the realm `anthropic`.

A thinking block's own signature is kept from the client: one `signature_delta` with the seal comes just before its stop,
because only then the text that the seal covers is known. (An empty signature is said by the start.) Text that a maker puts
into a block's start is told as a delta, since clients take thinking from deltas alone. Redacted thinking is all in the start
of its block, seal included: that goes out with the stop, because a seal may refer to the store, which keeps whole blocks.
Hidden blocks vanish, and the others are counted again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

from clew.model.events import BlockDelta, BlockStart, BlockStop, Event, altered
from clew.model.json import JsonObject, text_of, whole_text
from clew.model.texts import LongText
from clew.pipeline.stream.client_view import ClientView

BlockEvent: TypeAlias = BlockStart | BlockDelta | BlockStop

_BLANK: Final[JsonObject] = {"type": "thinking", "thinking": "", "signature": ""}
_MOST_RUNS: Final = 256
_MOST_BYTES: Final = 64 * 1024
"""Then runs are read before the stop: as events they take more memory than as text."""


class SealedBlocks:
    """One answer's blocks. `feed` returns what the client gets for each event; the very same event if it is as it came."""

    __slots__ = ("_hidden", "_read_run", "_redacted", "_runs", "_runs_size", "_seals", "_signature", "_text", "_view")

    def __init__(self, view: ClientView, read_run: Callable[[bytes], Iterable[Event]] | None = None) -> None:
        """`read_run` reads the runs of deltas that pass as bytes."""
        self._view = view
        self._seals = view.options.sealer is not None
        self._read_run = read_run
        self._hidden: set[int] = set()
        self._text: LongText | None = None  # of the open thinking block
        self._runs: list[bytes] = []  # of its deltas, behind that text
        self._runs_size = 0
        self._signature = ""
        self._redacted: BlockStart | None = None  # the start of the open block, which waits for its stop

    def feed(self, event: BlockEvent) -> Sequence[Event]:
        if isinstance(event, BlockStart) and self._view.is_hidden(event.content_block):
            self._hidden.add(event.index)
        if event.index in self._hidden:
            return ()
        match event:
            case BlockDelta():
                if self._text is not None and event.kind == "signature_delta":
                    self._signature = text_of(event.delta.get("signature"))  # the last one counts
                    return ()
                if self._text is not None and event.kind == "thinking_delta":
                    self._read_runs(self._text)
                    self._text.add(text_of(event.delta.get("thinking")))
                return (self._moved(event),)
            case BlockStart():
                return self._start(event)
            case BlockStop():
                return self._stop(event)

    def note_run(self, run: bytes) -> None:
        """A run of deltas of the open block has passed as bytes."""
        if self._text is not None:
            self._runs.append(run)
            self._runs_size += len(run)
            if len(self._runs) == _MOST_RUNS or self._runs_size > _MOST_BYTES:
                self._read_runs(self._text)

    def _moved(self, event: BlockEvent) -> BlockEvent:
        """The event with the place of its block among those that the client sees: all hidden ones came before it."""
        return altered(event, index=event.index - len(self._hidden)) if self._hidden else event

    def _start(self, event: BlockStart) -> Sequence[Event]:
        if self._seals and event.block_type == "redacted_thinking":
            self._redacted = event
            return ()
        if not (self._seals and event.block_type == "thinking"):
            return (self._shown(event),)
        text = text_of(event.content_block.get("thinking"))
        self._text, self._signature = LongText(text), text_of(event.content_block.get("signature"))
        if event.content_block == _BLANK:
            return (self._moved(event),)
        blank: JsonObject = {**event.content_block, "thinking": "", "signature": ""}
        start = altered(self._moved(event), content_block=blank)
        return (start, BlockDelta(start.index, {"type": "thinking_delta", "thinking": text})) if text else (start,)

    def _shown(self, event: BlockStart) -> BlockEvent:
        block = self._view.show_block(event.index, event.content_block)
        moved = self._moved(event)
        return moved if block is event.content_block else altered(moved, content_block=block)

    def _read_runs(self, text: LongText) -> None:
        """Raises StreamIllegal if a run cannot be read."""
        if self._runs:
            assert self._read_run is not None
            for event in self._read_run(b"".join(self._runs)):
                if isinstance(event, BlockDelta):
                    text.add(text_of(event.delta.get("thinking")))
            self._runs.clear()
            self._runs_size = 0

    def _stop(self, event: BlockStop) -> Sequence[Event]:
        stop = self._moved(event)
        if self._redacted is not None:
            start, self._redacted = self._shown(self._redacted), None
            return (start, stop)
        if self._text is None:
            return (stop,)
        self._read_runs(self._text)
        token = self._view.seal(event.index, "thinking", whole_text(self._text.whole()), self._signature)
        self._text, self._signature = None, ""
        return (BlockDelta(stop.index, {"type": "signature_delta", "signature": token}), stop) if token else (stop,)
