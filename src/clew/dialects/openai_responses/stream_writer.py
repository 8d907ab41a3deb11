"""Streamed answers for clients: canonical events to the events of this dialect.

A stream begins with `response.created`, which must come before anything else, also before a keep-alive and before an error;
what was written before, by this writer or by another of the same exchange, is in the context. It ends with the whole
response: completed, incomplete or failed. An error comes in both of its forms in one event, since each of the official
clients knows another one, and the failed response follows.

A comment does not keep Codex waiting, so the keep-alive is an event of its own. A turn whose response is incomplete has
failed for Codex; so it is told that its answer is complete, unless half a call is among it.
"""

from __future__ import annotations

from typing import Final

from clew.dialects.openai.errors import error_object, failure_of_event
from clew.dialects.openai_responses.detail import ITEM, detail_of
from clew.dialects.openai_responses.endings import failure_code, incomplete_reason_of, responses_usage
from clew.dialects.openai_responses.numbered_events import (
    ItemPlace,
    ItemText,
    NumberedEvents,
    WrittenItem,
    exchange_of,
    response_object,
)
from clew.dialects.openai_responses.written_items import (
    WrittenCall,
    WrittenCompaction,
    WrittenMessage,
    WrittenOwnItem,
    WrittenTextCall,
    WrittenThought,
    is_told,
)
from clew.dialects.shape import AnswerContext
from clew.model.events import (
    BlockDelta,
    BlockStart,
    BlockStop,
    Event,
    MessageDelta,
    MessageStart,
    MessageStop,
    Ping,
    StreamFailed,
    Unknown,
)
from clew.model.json import JsonObject, encoded, object_of, read_object, text_of
from clew.model.lifecycle import LENIENT, Lifecycle

_CODEX_FIELD: Final = "client_metadata"
"""The field of a request that only Codex sends, always."""


class ResponsesStreamWriter:
    """Writes one answer. It keeps what it has to say once more at the end: its items."""

    __slots__ = (
        *(
            "_context",
            "_cut_call",
            "_detail",
            "_events",
            "_has_refusal",
            "_is_open",
            "_item",
            "_lifecycle",
            "_output",
            "_stop_reason",
        ),
        *("_usage", "response"),
    )

    def __init__(self, context: AnswerContext) -> None:
        self._context = context
        self._detail = detail_of(context.native)
        self._lifecycle = Lifecycle(LENIENT)
        self._events = NumberedEvents(context.sent)
        self._item: WrittenItem | None = None
        self._is_open = False  # the block that the item tells
        self._cut_call = False
        self._has_refusal = False
        self._output: list[bytes] = []
        self._stop_reason = "end_turn"
        self._usage: JsonObject = {}
        self.response = b""
        """The whole response, once its end is written."""

    def write(self, event: Event) -> bytes:
        """The events for this one; none where there is nothing to say. Raises StreamIllegal."""
        self._lifecycle.accept(event)
        match event:
            case BlockDelta():
                return self._grow(event)
            case BlockStart():
                return self._open() + self._start(event.content_block)
            case BlockStop():
                return self._stop()
            case MessageStart():
                self._usage = dict(object_of(event.message.get("usage")))
                return b""
            case MessageDelta():
                self._usage |= event.usage or {}
                self._stop_reason = text_of(event.delta.get("stop_reason")) or self._stop_reason
                return b""
            case MessageStop():
                return self._open() + self._finish()
            case StreamFailed():
                return self._open() + self._fail(event)
            case Ping():  # before the first content nothing is numbered that may never be sent
                return self.keep_alive() if self._lifecycle.blocks else b""
            case Unknown() if self._is_open and isinstance(self._item, WrittenOwnItem):
                return self._item.tell(event.name, read_object(event.data) or {})
            case _:
                return b""

    @property
    def open_text(self) -> ItemText | None:
        """The text that grows; None if none does."""
        return self._item.text if self._item is not None and self._is_open else None

    @property
    def events_written(self) -> int:
        return self._context.sent.count

    def count_events(self, count: int) -> None:
        """So many were written by somebody else."""
        self._context.sent.count += count

    def keep_alive(self) -> bytes:
        if self._context.sent.has_end:
            return b""
        return self._open() + self._events.write_raw("keepalive", b"")

    def _open(self) -> bytes:
        """What comes first, if nothing came yet."""
        if self._context.sent.count:
            return b""
        members = b'"response":' + response_object(self._context, "in_progress")
        created = self._events.write_raw("response.created", members)
        return created + self._events.write_raw("response.in_progress", members)

    def _start(self, block: JsonObject) -> bytes:
        kind = block.get("type")
        if kind == "text":
            return self._start_text(block)
        before = self._finish_item()
        place = ItemPlace(self._events, f"{exchange_of(self._context)}_{len(self._output)}", len(self._output))
        match kind:
            case "thinking" | "redacted_thinking":
                proof = text_of(block.get("signature")) or text_of(block.get("data"))
                item: WrittenItem = WrittenThought(place, proof)
            case "tool_use":
                tool = self._detail.client_tool(text_of(block.get("name")))
                written = WrittenTextCall if tool.kind == "custom" else WrittenCall
                item = written(place, text_of(block.get("id")), tool)
            case "compaction":
                item = WrittenCompaction(place, text_of(block.get("encrypted_content")))
            case _ if kind == ITEM:
                item = WrittenOwnItem(place, object_of(block.get("item")))
            case _:
                self._context.unsaid(str(kind))
                return before
        self._item, self._is_open = item, True
        given = encoded(block["input"]).decode() if block.get("input") else ""
        return before + item.begin() + item.grow({"thinking": block.get("thinking"), "partial_json": given})

    def _start_text(self, block: JsonObject) -> bytes:
        before, item = b"", self._item
        if not isinstance(item, WrittenMessage):
            before = self._finish_item()
            place = ItemPlace(self._events, f"{exchange_of(self._context)}_{len(self._output)}", len(self._output))
            self._item = item = WrittenMessage(place)
            before += item.begin()
        self._is_open = True
        return before + item.begin_part() + item.grow({"text": block.get("text")})

    def _grow(self, event: BlockDelta) -> bytes:
        if not self._is_open or self._item is None:
            return b""  # of a block that is not told
        if event.kind == "citations_delta" and not is_told(object_of(event.delta.get("citation"))):
            self._context.unsaid(event.kind)
        return self._item.grow(event.delta)

    def _stop(self) -> bytes:
        if not self._is_open or self._item is None:
            return b""
        self._is_open = False
        return self._item.stop() + (b"" if self._item.takes_more_text else self._finish_item())

    def _finish_item(self) -> bytes:
        """The end of the item that is being told, if there is one."""
        if self._item is None:
            return b""
        self._has_refusal |= isinstance(self._item, WrittenMessage) and self._item.has_refusal
        item, self._item = encoded(self._item.item("completed")), None
        self._output.append(item)
        members = b'"output_index":%d,"item":%b' % (len(self._output) - 1, item)
        return self._events.write_raw("response.output_item.done", members)

    def _finish(self) -> bytes:
        # The end of an item that was cut: a message is told as far as it came, and half a call is never done
        item = self._item
        if not self._is_open or item is None:
            before = self._finish_item()
        elif item.takes_more_text:
            before = item.stop() + self._finish_item()
        else:
            self._cut_call = isinstance(item, WrittenCall | WrittenTextCall)
            self._output.append(encoded(item.item("incomplete")))
            before = b""
        reason = incomplete_reason_of(self._stop_reason)
        is_told = self._has_refusal and self._stop_reason == "refusal"  # in a part of its own, which says it all
        if is_told or (_CODEX_FIELD in self._detail.fields and not self._cut_call):
            reason = ""
        more: JsonObject = {"incomplete_details": {"reason": reason}} if reason else {}
        more |= {"end_turn": False} if self._stop_reason == "pause_turn" else {}
        return before + self._end("incomplete" if reason else "completed", more)

    def _fail(self, event: StreamFailed) -> bytes:
        failure = failure_of_event(event)
        error = error_object(failure)
        flat: JsonObject = {name: error[name] for name in ("code", "message", "param")}
        told = self._events.write("error", {**flat, "error": error})
        end: JsonObject = {"error": {"code": failure_code(failure, error), "message": error["message"]}}
        return told + self._end("failed", end)

    def _end(self, status: str, more: JsonObject) -> bytes:
        usage = responses_usage(self._usage) if status != "failed" else None
        self.response = response_object(self._context, status, self._output, usage, **more)
        self._context.sent.has_end = True
        return self._events.write_raw(f"response.{status}", b'"response":' + self.response)
