"""Folds the events of a stream into the message that they tell. (`unfold` is the inverse.)

The fold gives what the official SDKs accumulate: text grows, a second signature replaces the first, citations pile up,
usage is cumulative and overwrites, a fallback block renames the model. Unlike them it refuses what does not fit
(`lifecycle`) instead of skipping it, and it knows of each block whether its stop came: an answer can be cut anywhere,
and only whole blocks may be sent back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

import msgspec
from msgspec import Struct

from clew.errors import StreamIllegal
from clew.model.events import BlockDelta, BlockStart, BlockStop, Event, MessageDelta, MessageStart
from clew.model.json import JsonObject, JsonValue, read_json, read_partial, whole_text, whole_value
from clew.model.lifecycle import LENIENT, Family, Lifecycle, Table, family_of
from clew.model.texts import LongText

WHOLE_DELTA: Final = "block_delta"
"""Of a block that only one dialect has: it brings the block as it is in the end."""
_STOP_FIELDS = ("stop_reason", "stop_sequence", "stop_details")
_ABOUT = ("usage", "input_transformations")
"""What is said about an answer at its start, and asked for at its end."""


class AssembledBlock(Struct, frozen=True):
    """A block as far as it came."""

    index: int
    block: JsonObject
    complete: bool  # its stop event came
    unsigned: bool  # thinking without a signature: must not be sent back to a maker that signs
    unparsed: str | None = None  # the text of a tool input that is not JSON; `input` then holds what could be read


class Assembler:
    """Builds a message from the events of a stream. `feed` it events; `message` is the message so far.

    >>> from clew.wire.events import decode_event
    >>> from clew.wire.sse import SseEvent
    >>> assembler = Assembler()
    >>> for data in (
    ...     b'{"type":"message_start","message":{"role":"assistant","content":[]}}',
    ...     b'{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
    ...     b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}',
    ... ):
    ...     _ = assembler.feed(decode_event(SseEvent(b"", data)))
    >>> assembler.message()
    {'role': 'assistant', 'content': [{'type': 'text', 'text': 'Hi'}]}
    """

    __slots__ = ("_blocks", "_keeps_blocks", "_message", "order")

    def __init__(self, table: Table = LENIENT, *, blocks: bool = True) -> None:
        """Without `blocks` only what is said about the message is kept, and a stream takes no memory."""
        self.order = Lifecycle(table)
        """Which event may come next."""
        self._keeps_blocks = blocks
        self._message: JsonObject | None = None
        self._blocks: list[_Growing] = []

    def feed(self, event: Event) -> AssembledBlock | None:
        """Takes the event in; returns the block that it completes. Raises StreamIllegal, and is then as before."""
        self.take(event)
        return self._blocks[event.index].so_far() if isinstance(event, BlockStop) and self._keeps_blocks else None

    def take(self, event: Event) -> None:
        """The same for a caller that asks for whole blocks later: until then they are not put together."""
        if isinstance(event, BlockDelta):
            self.grow(event.index, event.delta)
            return
        self.order.accept(event)
        if isinstance(event, BlockStart):
            if self._keeps_blocks:
                self._start(event)
        elif isinstance(event, BlockStop):
            if self._keeps_blocks:
                self._blocks[event.index].complete = True
        elif isinstance(event, MessageStart):
            about = event.message
            self._message = dict(about) if self._keeps_blocks else {name: about[name] for name in _ABOUT if name in about}
        elif isinstance(event, MessageDelta):
            self._end(event)

    def grow(self, index: int, delta: JsonObject) -> None:
        """The same for a delta without the event around it."""
        self.order.accept_delta(index, delta)
        if self._keeps_blocks:
            self._blocks[index].grow(delta)

    def _start(self, event: BlockStart) -> None:
        self._blocks.append(_Growing(event.index, event.content_block))
        server = event.content_block.get("to")
        if event.block_type == "fallback" and isinstance(server, dict) and "model" in server:
            assert self._message is not None, "the order lets nothing but pings pass before message_start"
            self._message["model"] = server["model"]

    def _end(self, event: MessageDelta) -> None:
        """What the event says of a message's end, put into it."""
        message = self._message
        assert message is not None, "the order lets nothing but pings pass before message_start"
        for name in _STOP_FIELDS:
            if name in event.delta or name in message:
                message[name] = event.delta.get(name)
        message.update(_not_null({**event.delta, **event.extra}))
        if event.usage is not None:
            before = message.get("usage")
            message["usage"] = {**(before if isinstance(before, dict) else {}), **_not_null(event.usage)}

    def copy(self) -> Assembler:
        """What came so far: it stays as it is while more comes, so another thread may put it together."""
        same = Assembler(blocks=self._keeps_blocks)
        same.order = self.order
        same._message = None if self._message is None else dict(self._message)
        same._blocks = [block.copy() for block in self._blocks]
        return same

    def message(self) -> JsonObject:
        """The message so far, unfinished blocks included, as an official SDK would hold it."""
        if self._message is None:
            raise StreamIllegal("there is no message before message_start", state=self.order.state.name)
        return {**self._message, "content": [block.so_far().block for block in self._blocks]}

    def blocks(self) -> list[AssembledBlock]:
        """Every block so far; those whose stop has not come are not complete."""
        return [block.so_far() for block in self._blocks]


class _Growing:
    """A block while its deltas come. Text is put together in the end, so that long blocks cost linear time."""

    __slots__ = ("_is_foreign", "_pieces", "_value", "_whole", "complete", "index")

    def __init__(self, index: int, start: JsonObject) -> None:
        self.index = index
        self.complete = False
        self._is_foreign = family_of(str(start["type"])) is Family.FOREIGN
        self._value = _copied(start)
        self._pieces: dict[str, LongText] = {}
        self._whole: AssembledBlock | None = None

    def grow(self, delta: JsonObject) -> None:
        kind = str(delta["type"])
        if self._is_foreign:
            if kind == WHOLE_DELTA and isinstance(whole := delta.get("block"), dict):
                self._value = dict(whole)
        elif (member := _GROWING.get(kind)) is None:
            if kind in _FOLDS:
                _FOLDS[kind](self._value, delta)
        elif (text := self._pieces.get(member)) is None:
            self._pieces[member] = LongText(str(delta[member]))
        else:
            text.add(str(delta[member]))

    def so_far(self) -> AssembledBlock:
        """Put together once, if it is whole: nothing comes after its stop."""
        if self._whole is not None:
            return self._whole
        found = self._put_together()
        if self.complete:
            self._whole, self._pieces = found, {}
        return found

    def copy(self) -> _Growing:
        same = _Growing(self.index, self._value)
        same.complete, same._whole = self.complete, self._whole
        same._pieces = {member: text.copy() for member, text in self._pieces.items()}
        return same

    def _put_together(self) -> AssembledBlock:
        value = _copied(self._value)
        unparsed: str | None = None
        for member, pieces in self._pieces.items():
            text = whole_text(pieces.whole())
            if member != "partial_json":
                value[member] = str(value.get(member) or "") + text
            elif text:
                value["input"], whole = _input(text)
                unparsed = None if whole or not self.complete else text
        unsigned = value["type"] == "thinking" and not value.get("signature")
        return AssembledBlock(self.index, value, self.complete, unsigned, unparsed)


def _copied(value: JsonObject) -> JsonObject:
    """With citations of its own: they grow in place, and nobody else's list may."""
    cited = value.get("citations")
    return {**value, "citations": list(cited)} if isinstance(cited, list) else dict(value)


def _input(text: str) -> tuple[JsonValue, bool]:
    """A tool's input and whether its text was whole: it may be cut, and with eager streaming it may be no JSON at all."""
    try:
        return msgspec.json.decode(text), True
    except (msgspec.MsgspecError, RecursionError):
        # Half a character and numbers that no machine can hold are JSON to clients
        try:
            return whole_value(read_json(text.encode())), True
        except (ValueError, RecursionError):
            return read_partial(text), False


_Fold: TypeAlias = Callable[[JsonObject, JsonObject], None]


def _sign(value: JsonObject, delta: JsonObject) -> None:
    value["signature"] = delta["signature"]


def _cite(value: JsonObject, delta: JsonObject) -> None:
    cited = value.get("citations")
    if not isinstance(cited, list):
        value["citations"] = cited = []
    cited.append(delta["citation"])


def _compact(value: JsonObject, delta: JsonObject) -> None:
    value.update({name: part for name, part in delta.items() if name != "type"})


_GROWING: Final = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
"""The member that grows with each delta of a kind."""
_FOLDS: Final[dict[str, _Fold]] = {
    "signature_delta": _sign,
    "citations_delta": _cite,
    "compaction_delta": _compact,
}


def _not_null(values: JsonObject) -> JsonObject:
    return {name: value for name, value in values.items() if value is not None}


def assemble(events: Iterable[Event]) -> JsonObject:
    """The message that a whole stream tells."""
    assembler = Assembler()
    for event in events:
        assembler.feed(event)
    return assembler.message()
