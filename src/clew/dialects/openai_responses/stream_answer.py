"""What all items of a streamed answer share: the blocks that they become, and what is known of the request."""

from __future__ import annotations

from typing import Protocol

from clew.dialects.block_writer import BlockWriter, ToolIds, UnsaidKinds
from clew.dialects.openai_responses.detail import DIALECT_NAME, detail_of, is_own_client
from clew.dialects.openai_responses.options import ResponsesOptions
from clew.dialects.openai_responses.stream_events import ResponsesEvent
from clew.dialects.openai_responses.tools import canonical_name
from clew.dialects.shape import AnswerContext
from clew.model.blocks import signature_of
from clew.model.events import BlockDelta
from clew.model.json import JsonObject, object_of, text_of, whole_value


class ItemBlocks(BlockWriter):
    """Writes the events of blocks whose thoughts carry the item that their maker needs back. One without is closed unsigned.

    The item stands, as JSON, in the place of a signature. A thought stays open until something follows it: the phase of the
    message right behind it belongs to what its maker needs back.
    """

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


class AnswerInItems:
    """One answer."""

    __slots__ = ("_detail", "blocks", "calls", "context", "options", "passes", "refused", "tool_ids", "unsaid")

    def __init__(self, context: AnswerContext, options: ResponsesOptions) -> None:
        self.blocks = ItemBlocks()
        self.context = context
        self._detail = detail_of(context.native)
        self.options = options
        self.passes = is_own_client(context.native)
        """The client speaks this dialect, and gets what only this dialect has."""
        self.tool_ids = ToolIds(context.message_id)
        self.unsaid = UnsaidKinds(context.unsaid)
        self.refused = False
        self.calls = 0

    def open_call(self, item: JsonObject, name: str, call_id: str) -> None:
        """Opens the call that an item makes, under the client's name of the tool."""
        kind = "custom" if item.get("type") == "custom_tool_call" else "function"
        document = self.context.document
        known = canonical_name(self._detail, kind, text_of(item.get("namespace")), name, document)
        given = self.tool_ids.give(call_id)
        own = self.tool_ids.wire.get(given) if self.context.own_ids else ""
        self.blocks.open_call(own or given, known)
        self.calls += 1


class ItemTeller(Protocol):
    """Tells one item."""

    @property
    def grows_by(self) -> tuple[str, int]:
        """The type of the events by which the open block grows, and the part of the item that they are about; "" if none
        is open."""
        ...

    def take(self, event: ResponsesEvent) -> None:
        """More of it."""
        ...

    def finish(self, item: JsonObject) -> None:
        """Its end; {} if it never came whole."""
        ...
