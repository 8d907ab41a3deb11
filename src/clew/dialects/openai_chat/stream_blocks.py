"""What an answer says, as the events of blocks: thoughts, texts and calls, in the order in which they are said.

`BlockWriter` keeps one block open at a time, counted from 0 without gaps. What the backend needs back of a thought stands in
the place of a signature: one `signature_delta` with the payload (`payloads`), just before the block's stop.

`ContentWriter` decides what becomes a block. What only the backend understands goes to the payload of the thinking block
that it belongs to. Something opaque that comes when text has begun cannot reopen a thought: it gets an empty thinking block
before the next call, and if none comes it is left in `late`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from clew.dialects.openai_chat.payloads import GrowingPayload
from clew.dialects.openai_chat.stream_calls import PartialCall, PartialCalls, ToolIds
from clew.dialects.openai_chat.stream_tags import TagPiece
from clew.dialects.openai_chat.stream_thoughts import Mirrors
from clew.model.blocks import signature_of
from clew.model.bounds import check_blocks
from clew.model.events import BlockDelta, BlockStart, BlockStop, Event, written
from clew.model.json import JsonObject, whole_text
from clew.model.tokens import TokenTally

BlockKind: TypeAlias = Literal["", "text", "thinking", "tool_use"]

_DELTAS: Final[dict[BlockKind, tuple[str, str]]] = {
    "": ("", ""),
    "text": ("text_delta", "text"),
    "thinking": ("thinking_delta", "thinking"),
    "tool_use": ("input_json_delta", "partial_json"),
}
"""The delta by which a block grows: its type, and the member that has the text."""
_STARTS: Final[dict[BlockKind, JsonObject]] = {
    "text": {"type": "text", "text": ""},
    "thinking": {"type": "thinking", "thinking": "", "signature": ""},
}


@lru_cache(maxsize=64)
def _start(kind: BlockKind, index: int) -> BlockStart:
    return written(BlockStart(index, _STARTS[kind]))


@lru_cache(maxsize=64)
def _stop(index: int) -> BlockStop:
    return written(BlockStop(index))


class BlockWriter:
    """Writes the events of blocks. What is said of one block between two calls of `take_events` is one delta."""

    __slots__ = (
        *("_delta", "_events", "_half", "_member", "index", "kind", "last", "payloads", "said", "tokens", "unsigned"),
    )

    def __init__(self) -> None:
        self._events: list[Event] = []
        self.said: list[str] = []
        """More of the open block, to be told with the next event."""
        self.index = -1
        """Of the newest block."""
        self.kind: BlockKind = ""
        """Of the open block."""
        self.last: BlockKind = ""
        """Of the newest block that says something."""
        self.payloads: dict[int, GrowingPayload] = {}
        """By the index of the thinking block."""
        self._delta, self._member = _DELTAS[""]
        self._half = ""  # of a character (`model.json`): it waits for its other half
        self.tokens = TokenTally()
        """Of all that was told."""
        self.unsigned: list[tuple[int, int]] = []
        """Thinking blocks that were closed and have no signature yet: where it belongs among the events, and the index."""

    def take_events(self) -> list[Event]:
        """The events since the last time."""
        if self.said:
            self._tell()
        events, self._events = self._events, []
        return events

    def add(self, *events: Event) -> None:
        """Events that belong to no block."""
        if self.said:
            self._tell()
        self._events += events

    def sign(self) -> None:
        """Signs the thoughts that were closed, once a chunk is read whole: only then is it known what belongs to them."""
        for place, index in reversed(self.unsigned):
            payload = self.payloads.get(index)
            signature = signature_of(payload.value() if payload else {})
            self._events.insert(place, BlockDelta(index, {"type": "signature_delta", "signature": signature}))
        self.unsigned.clear()

    def open(self, kind: Literal["text", "thinking"]) -> None:
        """Opens a block of this kind, unless it is open."""
        if self.kind != kind:
            self._open(kind)
            self._events.append(_start(kind, self.index))

    def open_call(self, call_id: str, name: str) -> None:
        self._open("tool_use")
        self._events.append(BlockStart(self.index, {"type": "tool_use", "id": call_id, "name": name, "input": {}}))
        self.tokens.add(name)
        self.last = "tool_use"

    def _open(self, kind: BlockKind) -> None:
        self.close()
        self.index += 1
        check_blocks(self.index + 1)
        self.kind = kind
        self._delta, self._member = _DELTAS[kind]

    def _tell(self) -> None:
        text = "".join([self._half, *self.said])
        self.said.clear()
        if not text.isascii():
            self._half = text[-1] if "\ud800" <= text[-1] <= "\udbff" else ""
            text = whole_text(text[:-1] if self._half else text)
        if text:
            self.tokens.add(text)
            self._events.append(BlockDelta(self.index, {"type": self._delta, self._member: text}))

    def close(self) -> None:
        if not self.kind:
            return
        if self.said:
            self._tell()
        if self._half:
            self._half = ""
            self.said.append("\ufffd")
            self._tell()
        if self.kind == "thinking":
            self.unsigned.append((len(self._events), self.index))
        self._events.append(_stop(self.index))
        self.kind = ""


class ContentWriter:
    """Say things in their order; `blocks` has the events."""

    __slots__ = (
        "_blank",
        "_calls",
        "_client_name",
        "_ids",
        "_markup",
        "_mirrors",
        "_opened",
        "blocks",
        "empty",
        "late",
        "own_ids",
    )

    def __init__(self, blocks: BlockWriter, ids: ToolIds, client_name: Callable[[str], str], *, own_ids: bool) -> None:
        """`client_name` gives the client's name of the tool that a call names. `own_ids`: calls keep the backend's ids."""
        self.blocks = blocks
        self.own_ids = own_ids
        self.late: GrowingPayload | None = None
        """What came too late for any block so far."""
        self.empty = ""
        """The field in which an empty thought came that must become a block, if a call follows and no thought came."""
        self._ids = ids
        self._client_name = client_name
        self._calls = PartialCalls()
        self._mirrors = Mirrors()
        self._markup: list[str] = []  # that waits for its thought
        self._opened = False  # the newest markup before a thought has found one
        self._blank: list[str] = []  # white space that waits for text

    @property
    def is_silent(self) -> bool:
        """Whether nothing was said yet."""
        return self.blocks.index < 0 and self._calls.current is None

    @property
    def has_half_call(self) -> bool:
        """Whether a call is not told to its end, and its arguments are no whole object yet. Empty ones are: `{}`."""
        call = self._calls.current
        return call is not None and call.size > 0 and not call.is_whole()

    def say(self, text: str) -> None:
        """Visible text. White space alone opens no block, and closes none."""
        blocks = self.blocks
        if blocks.kind != "text":
            if not text or text.isspace():
                self._blank += [text] if text else []
                return
            text, self._blank = "".join([*self._blank, text]), []
            self.finish_calls()
            blocks.open("text")
        if blocks.last != "text":
            blocks.last = "text"
            self._mirrors.end_thought()
        blocks.said.append(text)

    def think(self, text: str, channel: str, others: tuple[str, ...] = ()) -> GrowingPayload | None:
        """A thought that came under these names. Its payload; None if it is the mirror of what was told."""
        new = self._mirrors.new_text(channel, text, others)
        if not new:
            return None
        blocks = self.blocks
        if blocks.kind == "thinking" and self._calls.current is None:
            payload = blocks.payloads[blocks.index]
        else:
            self.finish_calls()
            payload = self._open_thinking()
        blocks.said.append(new)
        payload.field = payload.field or channel
        return payload

    def opaque_payload(self) -> GrowingPayload:
        """Where something belongs that shows nothing: this thought, a new one if nothing was said yet, or a later one."""
        return self._open_thinking() if self.blocks.last in ("", "thinking") else self._late_payload()

    def _late_payload(self) -> GrowingPayload:
        if self.late is None:
            self.late = GrowingPayload()
        return self.late

    def say_pieces(self, pieces: list[TagPiece]) -> None:
        """Content, taken apart by its tags."""
        for kind, text in pieces:
            if kind == "text":
                self.say(text)
            elif kind == "thought":  # which a field may have told already
                payload = self.think(text, "tags") or self._newest_payload()
                payload.add_markup(before="".join(self._markup))
                self._markup, self._opened = [], True
            elif kind == "open":  # markup before a thought waits for it
                self._markup.append(text)
                self._opened = False
            elif self._opened:  # markup behind a thought belongs to it,
                self._newest_payload().add_markup(after=text)
            else:  # and behind none ends nothing
                self._markup = []

    def _newest_payload(self) -> GrowingPayload:
        """That of the last thinking block: they are put in by index, in order."""
        payloads = self.blocks.payloads
        return payloads[next(reversed(payloads))] if payloads else self._late_payload()

    def _open_thinking(self) -> GrowingPayload:
        """The payload of the thinking block that is open now, with what waited for one. It may stay empty otherwise."""
        blocks = self.blocks
        if self._blank:
            self._blank = []
        if blocks.kind != "thinking":
            blocks.open("thinking")
            blocks.last = "thinking"
            blocks.payloads[blocks.index] = GrowingPayload()
        payload = blocks.payloads[blocks.index]
        if self.late:
            payload.absorb(self.late)
            self.late = None
        return payload

    def take_call(self, entry: JsonObject) -> None:
        """More of the calls: one entry of `tool_calls`."""
        self._calls.take(entry)
        self._tell_calls()

    def finish_calls(self) -> None:
        """No more comes for the calls that were begun."""
        if self._calls.current is not None:
            self._tell_calls(to_the_end=True)

    def _tell_calls(self, *, to_the_end: bool = False) -> None:
        """Tells the current call as far as it came, and the next ones as soon as it is whole."""
        while (call := self._calls.current) is not None:
            if call.name and not call.is_open:
                self._open_call(call)
            self.blocks.said += call.unsent
            call.unsent.clear()
            if not to_the_end and not (call.name and self._calls.has_next and call.is_whole()):
                return
            if call.is_open:
                call.is_open = False
                self.blocks.close()
            self._calls.finish_current()

    def _open_call(self, call: PartialCall) -> None:
        call_id = self._ids.give(call.wire_id)
        if call.extra:
            self._late_payload().add_call(call_id, call.extra)
        if self.empty and not self.blocks.payloads:
            self._late_payload().field = self.empty
        if self.late:
            self._open_thinking()
        self._blank = []
        own = self._ids.wire.get(call_id) if self.own_ids else ""
        self.blocks.open_call(own or call_id, self._client_name(call.name))
        self._mirrors.end_thought()
        call.open()
