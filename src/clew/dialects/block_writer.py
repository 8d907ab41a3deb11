"""What the readers of streams share: a writer of blocks, the ids of tool calls, and kinds of parts that are not passed on.

BlockWriter tells what a backend says as the events of blocks. One is open at a time, counted from 0 without gaps. Vendors
cut a character outside the basic plane in two, each half in a delta of its own: the first half waits for the other.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from clew.model.assemble import WHOLE_DELTA
from clew.model.bounds import check_blocks
from clew.model.events import BlockDelta, BlockStart, BlockStop, Event, written
from clew.model.json import JsonObject, whole_text
from clew.model.tokens import TokenTally

BlockKind: TypeAlias = Literal["", "text", "thinking", "tool_use", "foreign"]

_DELTAS: Final[dict[BlockKind, tuple[str, str]]] = {
    "": ("", ""),
    "foreign": ("", ""),
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

    __slots__ = ("_delta", "_events", "_half", "_member", "index", "kind", "said", "tokens")

    def __init__(self) -> None:
        self._events: list[Event] = []
        self.said: list[str] = []
        """More of the open block, to be told with the next event."""
        self.index = -1
        """Of the newest block."""
        self.kind: BlockKind = ""
        """Of the open block."""
        self._delta, self._member = _DELTAS[""]
        self._half = ""  # of a character (`model.json`): it waits for its other half
        self.tokens = TokenTally()
        """Of all that was told."""

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

    def open(self, kind: Literal["text", "thinking"]) -> None:
        """Opens a block of this kind, unless it is open."""
        if self.kind != kind:
            self._open(kind)
            self._events.append(_start(kind, self.index))

    def open_call(self, call_id: str, name: str) -> None:
        self._open("tool_use")
        self._events.append(BlockStart(self.index, {"type": "tool_use", "id": call_id, "name": name, "input": {}}))
        self.tokens.add(name)

    def open_foreign(self, block: JsonObject) -> None:
        """A block that only one dialect has, as it begins."""
        self._open("foreign")
        self._events.append(BlockStart(self.index, block))

    def end_foreign(self, block: JsonObject) -> None:
        """The same as it is in the end."""
        self._events.append(BlockDelta(self.index, {"type": WHOLE_DELTA, "block": block}))
        self.close()

    def tell_whole(self, block: JsonObject) -> None:
        """A block that does not grow."""
        self._open("")
        self._events += (BlockStart(self.index, block), _stop(self.index))

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

    @property
    def is_settled(self) -> bool:
        """Whether a block is open of which everything was told."""
        return self.kind != "" and not self.said and not self._half

    def tell_more(self, text: str) -> BlockDelta:
        """More of the open block, told at once; of a block that is settled, and whole characters."""
        self.tokens.add(text)
        return BlockDelta(self.index, {"type": self._delta, self._member: text})

    def tell_rest(self) -> None:
        """All that was said of the open block, also half a character that nothing follows."""
        if self.said:
            self._tell()
        if self._half:
            self._half = ""
            self.said.append("\ufffd")
            self._tell()

    def close(self) -> None:
        """Closes the open block, if there is one."""
        if self.kind:
            self.tell_rest()
            self._events.append(_stop(self.index))
            self.kind = ""


_UNSAFE: Final = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_ID: Final = 64


class ToolIds:
    """Ids for the calls of one answer that every client takes: of letters, digits, `_` and `-`, and each used once.

    Backends repeat ids, leave them out, or hide kilobytes of signature in them. `seed` is unique to the answer.
    """

    __slots__ = ("_repeats", "_seed", "_used", "wire")

    def __init__(self, seed: str) -> None:
        self._seed = _UNSAFE.sub("_", seed)
        self._used: set[str] = set()
        self._repeats: dict[str, int] = {}
        self.wire: dict[str, str] = {}
        """The backend's own ids, by those that were given, where they differ. "" is a call that came without one."""

    @property
    def given(self) -> int:
        """How many ids were given."""
        return len(self._used)

    def give(self, wire_id: str) -> str:
        base = _UNSAFE.sub("_", wire_id.split("__thought__")[0])[:_LONGEST_ID] or f"toolu_{self._seed}_{len(self._used)}"
        unique, count = base, self._repeats.get(base, 1)
        while unique in self._used:
            count += 1
            unique = f"{base}_{count}"
        self._repeats[base] = count
        self._used.add(unique)
        if unique != wire_id:
            self.wire[unique] = wire_id
        return unique


_MOST_KINDS: Final = 40
_LONGEST_KIND: Final = 40


class UnsaidKinds:
    """Those of one answer."""

    __slots__ = ("_report", "_seen")

    def __init__(self, report: Callable[[str], object]) -> None:
        self._report = report
        self._seen: set[str] = set()

    def note(self, kind: str) -> None:
        kind = kind[:_LONGEST_KIND]
        if kind not in self._seen and len(self._seen) < _MOST_KINDS:
            self._seen.add(kind)
            self._report(kind)
