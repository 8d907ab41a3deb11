"""Blocks of an answer whose thoughts carry the item that their maker needs back.

The item stands, as JSON, in the place of a signature. A thought stays open until something follows it: the phase of the
message right behind it belongs to what its maker needs back.
"""

from __future__ import annotations

from clew.dialects.block_writer import BlockWriter
from clew.dialects.openai_responses.detail import DIALECT_NAME
from clew.model.blocks import signature_of
from clew.model.events import BlockDelta
from clew.model.json import JsonObject, object_of, whole_value


class ItemBlocks(BlockWriter):
    """Writes the events of blocks. A thought without an item is closed unsigned."""

    __slots__ = ("_item", "_phase")

    def __init__(self) -> None:
        super().__init__()
        self._item: JsonObject = {}
        self._phase = ""

    def begin_thought(self) -> None:
        """A thinking block of its own, whatever is open."""
        self.close()
        self.open("thinking")

    def keep_item(self, item: JsonObject) -> None:
        """The item goes back to its maker in place of the open thought."""
        self._item = item

    def begin_text(self, phase: str = "") -> None:
        """A text block; `phase` is that of its message."""
        self._phase = phase
        self.open("text")

    def close(self) -> None:
        if self.kind == "thinking" and self._item:
            self.tell_rest()
            payload: JsonObject = {"dialect": DIALECT_NAME, "item": object_of(whole_value(self._item))}
            payload |= {"phase": self._phase} if self._phase else {}
            self._events.append(BlockDelta(self.index, {"type": "signature_delta", "signature": signature_of(payload)}))
        self._item, self._phase = {}, ""
        super().close()
