"""Which event may follow which: one table, for readers and writers of every dialect.

A stream is `message_start (block | ping)* message_delta+ message_stop`, a block is `content_block_start delta*
content_block_stop`, and an `error` may come at any time. The state says what is open, the table what may come next and
where that leads; what it does not list is illegal. Beside the table there is one number: blocks are counted from 0
without gaps, one is open at a time, and deltas and stops must name it.

STRICT is what clew writes. LENIENT adds what real vendors and clients were seen to do, each entry with its reason;
readers use it. Neither knows who is speaking, so clew cannot hold itself to laxer rules than it holds others.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TypeAlias

from clew.errors import BlockMismatch, StreamIllegal
from clew.model.events import BlockDelta, BlockStart, BlockStop, Event, Unknown
from clew.model.json import JsonObject


class Family(Enum):
    """Block types that take the same deltas."""

    __hash__ = object.__hash__

    TEXT = "text"
    THINKING = "thinking"
    INPUT = "tool input"
    COMPACTION = "compaction"
    WHOLE = "whole"  # complete in its start
    FOREIGN = "foreign"  # a type that nobody knows: anything may come


class State(Enum):
    """Where a stream is. The middle six are an open block."""

    __hash__ = object.__hash__  # a look at the table for every event: by identity, and not by name

    IDLE = "nothing sent yet"
    BETWEEN = "no block is open"
    TEXT = "text is open"
    THINKING = "thinking is open"
    SIGNED = "thinking is open and signed"
    INPUT = "tool input is open"
    COMPACTION = "compaction is open"
    WHOLE = "a whole block is open"
    FOREIGN = "an unknown block is open"
    ENDING = "the stop reason was sent"
    DONE = "the message is done"
    FAILED = "the stream failed"


_FAMILIES = {
    "text": Family.TEXT,
    "thinking": Family.THINKING,
    "tool_use": Family.INPUT,
    "server_tool_use": Family.INPUT,
    "mcp_tool_use": Family.INPUT,
    "compaction": Family.COMPACTION,
    "redacted_thinking": Family.WHOLE,
    "container_upload": Family.WHOLE,
    "fallback": Family.WHOLE,
    "mcp_tool_listing": Family.WHOLE,
}

Table: TypeAlias = Mapping[State, Mapping[str, State]]

_S = State
STRICT: Table = {
    _S.IDLE: {
        "message_start": _S.BETWEEN,
        "ping": _S.IDLE,  # while the answer is awaited: it promises nothing, and stops the client's clock
        "error": _S.FAILED,
    },
    _S.BETWEEN: {
        "start text": _S.TEXT,
        "start thinking": _S.THINKING,
        "start tool input": _S.INPUT,
        "start compaction": _S.COMPACTION,
        "start whole": _S.WHOLE,
        "start foreign": _S.FOREIGN,
        "ping": _S.BETWEEN,
        "message_delta": _S.ENDING,
        "error": _S.FAILED,
    },
    _S.TEXT: {
        "text_delta": _S.TEXT,
        "citations_delta": _S.TEXT,
        "content_block_stop": _S.BETWEEN,
        "ping": _S.TEXT,
        "error": _S.FAILED,
    },
    _S.THINKING: {
        "thinking_delta": _S.THINKING,
        "signature_delta": _S.SIGNED,
        "content_block_stop": _S.BETWEEN,  # an unsigned block: makers that sign nothing, thinking cut by max_tokens (R71)
        "ping": _S.THINKING,
        "error": _S.FAILED,
    },
    _S.SIGNED: {
        "content_block_stop": _S.BETWEEN,
        "ping": _S.SIGNED,
        "error": _S.FAILED,
    },
    _S.INPUT: {
        "input_json_delta": _S.INPUT,
        "content_block_stop": _S.BETWEEN,
        "ping": _S.INPUT,
        "error": _S.FAILED,
    },
    _S.COMPACTION: {
        "compaction_delta": _S.WHOLE,  # one, or none if it was whole at its start
        "content_block_stop": _S.BETWEEN,
        "ping": _S.COMPACTION,
        "error": _S.FAILED,
    },
    _S.WHOLE: {
        "content_block_stop": _S.BETWEEN,
        "ping": _S.WHOLE,
        "error": _S.FAILED,
    },
    _S.FOREIGN: {
        "text_delta": _S.FOREIGN,
        "citations_delta": _S.FOREIGN,
        "thinking_delta": _S.FOREIGN,
        "signature_delta": _S.FOREIGN,
        "input_json_delta": _S.FOREIGN,
        "compaction_delta": _S.FOREIGN,
        "unknown delta": _S.FOREIGN,
        "content_block_stop": _S.BETWEEN,
        "ping": _S.FOREIGN,
        "error": _S.FAILED,
    },
    _S.ENDING: {
        "message_delta": _S.ENDING,
        "message_stop": _S.DONE,
        "ping": _S.ENDING,
        "error": _S.FAILED,
    },
    _S.DONE: {},
    _S.FAILED: {},
}
"""State × move → state. A move is the event's type; for a delta its kind, for a start the family of its block. Events of
unknown type are no moves: they may stand anywhere and change nothing (the vendor's versioning policy)."""

_INSIDE = (BlockDelta, BlockStop)
"""Events of the open block. Named, because a union is made again each time that it is written out."""

_OPEN = (_S.TEXT, _S.THINKING, _S.SIGNED, _S.INPUT, _S.COMPACTION, _S.WHOLE)

_TOLERATED: Table = {
    # max_tokens inside a tool call: the vendor sends no stop for that block (R66). The others, for vendors that copy it.
    **{state: {"message_delta": _S.ENDING, "unknown delta": state} for state in _OPEN},
    _S.SIGNED: {
        "message_delta": _S.ENDING,
        "unknown delta": _S.SIGNED,
        "signature_delta": _S.SIGNED,  # the last one counts, as in the official SDKs (S0-46)
        "thinking_delta": _S.SIGNED,  # signature first, text after: seen, and accepted by clients
    },
    _S.BETWEEN: {"message_stop": _S.DONE},  # no message_delta: clients take the stop as the end
    _S.DONE: {"ping": _S.DONE},
    _S.FAILED: {"ping": _S.FAILED},
}
LENIENT: Table = {state: {**moves, **_TOLERATED.get(state, {})} for state, moves in STRICT.items()}

_FITS = {
    "text_delta": ("text", "content_block_type_mismatch_text"),
    "citations_delta": ("text", "content_block_type_mismatch_citations"),
    "thinking_delta": ("thinking", "content_block_type_mismatch_thinking_delta"),
    "signature_delta": ("thinking", "content_block_type_mismatch_thinking_signature"),
    "input_json_delta": ("tool_use", "content_block_type_mismatch_input_json"),
    "compaction_delta": ("compaction", "content_block_type_mismatch_compaction"),
}
"""The block type that a delta is for, and the name under which clients report that it came for another."""
_OTHER_DELTA = "unknown delta"


def family_of(block_type: str) -> Family:
    """Results of server tools (`web_search_tool_result`, …) come whole; a type that is not listed is foreign."""
    if block_type.endswith("_tool_result"):
        return Family.WHOLE
    return _FAMILIES.get(block_type, Family.FOREIGN)


_STARTS = {family: f"start {family.value}" for family in Family}


def move_of(event: Event) -> str:
    """The event's column in the table."""
    if isinstance(event, BlockDelta):
        return event.kind if event.kind in _FITS else _OTHER_DELTA
    return _STARTS[family_of(event.block_type)] if isinstance(event, BlockStart) else event.type


class Lifecycle:
    """One stream on its way through the table. `accept` each event; what it refuses leaves it as it was."""

    __slots__ = ("_block_type", "_moves", "_table", "blocks", "state")

    def __init__(self, table: Table = STRICT) -> None:
        self._table = table
        self._block_type = ""
        self.state: State = State.IDLE
        self._moves = table[State.IDLE]
        self.blocks = 0
        """How many blocks were started; the open one, if any, is the last."""

    def accept(self, event: Event) -> None:
        """Raises StreamIllegal, naming state and event; BlockMismatch for a delta that its block's type does not take."""
        if isinstance(event, BlockDelta):
            return self.accept_delta(event.index, event.delta)
        if isinstance(event, Unknown):
            return None
        state = self._moves.get(move_of(event))
        if state is None:
            raise self._refusal(event)
        if isinstance(event, BlockStart):
            if event.index != self.blocks:
                raise self._refusal(event)
            self.blocks += 1
            self._block_type = event.block_type
        elif isinstance(event, BlockStop) and event.index != self.blocks - 1:
            raise self._refusal(event)
        self.state, self._moves = state, self._table[state]
        return None

    def accept_delta(self, index: int, delta: JsonObject) -> None:
        """The same for a delta, which nearly every event is, without the event around it."""
        kind = delta["type"]
        state = self._moves.get(kind if kind in _FITS else _OTHER_DELTA)
        if state is None or index != self.blocks - 1:
            raise self._refusal(BlockDelta(index, delta))
        if state is not self.state:
            self.state, self._moves = state, self._table[state]

    @property
    def is_open(self) -> bool:
        """Whether a block is open."""
        return self.state in _OPEN or self.state is State.FOREIGN

    def _refusal(self, event: Event) -> StreamIllegal:
        if isinstance(event, BlockStart) and event.index != self.blocks:
            return self._illegal(event, f"block {event.index} starts where block {self.blocks} is due")
        if isinstance(event, _INSIDE) and not (self.is_open and event.index == self.blocks - 1):
            return self._illegal(event, f"{move_of(event)} for block {event.index}, which is not open")
        if isinstance(event, BlockDelta) and event.kind in _FITS:
            expected, name = _FITS[event.kind]
            if family_of(expected) is not family_of(self._block_type):
                words = f"Content block is not a {expected} block"
                return BlockMismatch(words, name=name, expected=expected, actual=self._block_type)
        return self._illegal(event, f"{move_of(event)} may not come now")

    def _illegal(self, event: Event, what: str) -> StreamIllegal:
        return StreamIllegal(f"{what} ({self.state.value})", state=self.state.name, event=event.type)
