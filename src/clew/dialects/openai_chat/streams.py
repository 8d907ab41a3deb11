"""Streamed answers: read from backends, bytes to canonical events; and written for clients, events to chunks.

A backend's stream ends with `[DONE]`, or just ends. An end without a finish reason is a cut, which the client must hear of,
unless `[DONE]` or the backend's options say that it is none. What comes behind the end is ignored.

A stream for a client begins with the role. Later deltas say each thing once: the id and the name of a call in its first
delta, `reasoning_details` whole and last, one finish reason, and usage in a chunk of its own if the client asked for it;
`[DONE]` ends it. (The official SDKs join what is repeated, and fail on entries without an index.) A stream that breaks off
ends with an error: no finish reason and no `[DONE]`, so that half a call is never taken for a whole one.
"""

from __future__ import annotations

from typing import Final

from clew.dialects.block_writer import ToolIds
from clew.dialects.failures.reading import CUT, UNREADABLE, failure_in, failure_named
from clew.dialects.openai.errors import error_object, failure_of_event
from clew.dialects.openai_chat.answers import completion_id
from clew.dialects.openai_chat.client_parts import CallWriter, detail_of
from clew.dialects.openai_chat.detail import chat_detail
from clew.dialects.openai_chat.endings import chat_usage, finish_reason_of
from clew.dialects.openai_chat.options import ChatOptions
from clew.dialects.openai_chat.payloads import late_block
from clew.dialects.openai_chat.stream_chunks import Chunk, read_chunk, read_whole
from clew.dialects.openai_chat.stream_decoder import AnswerDecoder
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
)
from clew.model.json import JsonObject, JsonValue, encoded, object_of, text_of
from clew.model.lifecycle import STRICT, Lifecycle
from clew.model.texts import LongText
from clew.model.tokens import OUTPUT_ESTIMATED
from clew.wire.alike import Spelling, spelling_of
from clew.wire.sse import Frames, SseLimits, read_fields

KEEP_ALIVE: Final = b": keep-alive\n\n"
"""A comment, which every client skips."""
_DONE: Final = b"data: [DONE]\n\n"
_LIMITS: Final = SseLimits()
_MOST_MISSES: Final = 16
"""So often in a row the next chunk is spelled in another way; then each chunk is read by itself."""


class ChatStreamReader:
    """`feed` bytes as they come, `flush` at their end. Texts of one block that come in one read are one delta."""

    __slots__ = ("_call", "_cut_is_end", "_decoder", "_eager", "_frames", "_misses", "_name", "_spelling")

    def __init__(self, context: AnswerContext, options: ChatOptions) -> None:
        self._spelling: Spelling | None = None  # of the last chunk, if it says one text and nothing else,
        self._name = ""  # under this name,
        self._call: JsonObject = {}  # or as more arguments of this call
        self._misses = 0
        self._eager = context.eager
        self._cut_is_end = options.answer.cut_is_end
        self._decoder = AnswerDecoder(context, options.answer)
        self._frames = Frames(_LIMITS)

    @property
    def late(self) -> JsonObject | None:
        """A thinking block without words for what came too late for the client, if anything did."""
        return late_block(self._decoder.late)

    @property
    def ids(self) -> ToolIds:
        """The ids that the calls got."""
        return self._decoder.ids

    def begin(self) -> list[Event]:
        """With an eager context: the start of the message and an empty text block, before the backend has said anything."""
        if self._eager:
            self._decoder.begin(eager=True)
        return self._decoder.take_events()

    def feed(self, data: bytes) -> list[Event]:
        """The events that these bytes complete. Raises SseTooLarge, AnswerTooLarge."""
        self._read(self._frames.feed(data))
        return self._decoder.take_events()

    def flush(self) -> list[Event]:
        """The events that the end of the bytes completes."""
        self._read(self._frames.flush())
        if self._decoder.finished or self._cut_is_end:
            self._decoder.end()
        else:
            self._decoder.fail(CUT)
        return self._decoder.take_events()

    def _read(self, whole: bytes) -> None:
        """Reads whole events. What one of them says must not depend on those that came with it."""
        at = 0
        while at < len(whole):
            alike = self._spelling.read(whole, at) if self._spelling is not None else None
            if alike is not None:
                self._take_more(alike.texts)
                at, self._misses = alike.end, 0
                continue
            empty = whole.find(b"\n\n", at)
            end = empty + 2 if empty >= 0 else len(whole)  # behind a line too many there is none
            event = whole[at:end]
            if event.startswith(b"data: {") and event.find(b"\n") == len(event) - 2:  # as nearly always
                data = event[len(b"data: ") : -2]
                chunk = read_chunk(data)
                self._take(chunk, data)
                if chunk is not None and self._misses < _MOST_MISSES:
                    self._learn_spelling(chunk, event)
            elif lines := event.strip(b"\n"):  # some servers send empty lines as a sign of life
                self._take_lines(lines)
            at = end

    def _learn_spelling(self, chunk: Chunk, event: bytes) -> None:
        """The next chunks say more of the same, if they differ in nothing but their text."""
        delta = chunk.delta_alone
        self._name, text = delta.text_alone() if delta is not None else ("", "")
        self._call = delta.arguments_alone() if delta is not None and not self._name else {}
        name = "arguments" if self._call else self._name
        self._spelling = spelling_of(event, name) if self._call or text else None
        self._misses += 1

    def _take_more(self, texts: list[str]) -> None:
        """The texts of chunks that are spelled like the last one."""
        if self._name:
            self._decoder.take_texts(self._name, texts)
        else:
            self._decoder.take_arguments(self._call, texts)

    def _take_lines(self, lines: bytes) -> None:
        """An event of any other form."""
        event = read_fields(lines)
        data = event.data.strip() if event is not None else b""
        if event is not None and event.name == b"error":  # names are none of this protocol, but that of an error
            self._decoder.fail(failure_named(data))
        elif data == b"[DONE]":
            self._decoder.end()
        elif data:
            self._take(read_chunk(data), data)

    def _take(self, chunk: Chunk | None, data: bytes) -> None:
        decoder = self._decoder
        if decoder.ended:
            return
        if chunk is None:
            if not decoder.finished:
                decoder.fail(UNREADABLE)
        elif chunk.may_be_error() and (failure := failure_in(read_whole(data) or {})) is not None:
            decoder.fail(failure)
        else:
            decoder.take(chunk)


class ChatStreamWriter:
    """Writes one answer. It keeps no more of it than the thoughts that it has to say once more, whole."""

    __slots__ = (*("_block", "_calls", "_context", "_details", "_finished", "_head", "_lifecycle", "_thought", "_usage"),)

    def __init__(self, context: AnswerContext) -> None:
        self._context = context
        self._lifecycle = Lifecycle(STRICT)
        head = {"id": completion_id(context), "object": "chat.completion.chunk", "created": context.created}
        self._head = b"data: " + encoded({**head, "model": context.model})[:-1]
        self._block: JsonObject = {}
        self._thought = LongText()
        self._details: list[JsonValue] = []
        self._calls = CallWriter(context)
        self._usage: JsonObject = {}
        self._finished = False

    def write(self, event: Event) -> bytes:
        """The chunks for this event; none where there is nothing to say. Raises StreamIllegal."""
        self._lifecycle.accept(event)
        match event:
            case BlockDelta():
                return self._grow(event)
            case BlockStart():
                return self._start(event.content_block)
            case BlockStop():
                return self._stop()
            case MessageStart():
                self._usage = dict(object_of(event.message.get("usage")))
                return self._chunk({"role": "assistant", "content": ""})
            case MessageDelta():
                self._usage |= event.usage or {}
                reason = event.delta.get("stop_reason")
                return self._finish(reason) if isinstance(reason, str) else b""
            case MessageStop():
                end = self._finish("end_turn")
                # There are no words here for an estimate, so it is left out.
                if chat_detail(self._context.native).include_usage and OUTPUT_ESTIMATED not in self._usage:
                    end += self._head + b',"choices":[],"usage":' + encoded(chat_usage(self._usage)) + b"}\n\n"
                return end + _DONE
            case StreamFailed():
                return b"data: " + encoded({"error": error_object(failure_of_event(event))}) + b"\n\n"
            case Ping():
                return KEEP_ALIVE
            case _:
                return b""

    def keep_alive(self) -> bytes:
        return KEEP_ALIVE

    def _chunk(self, delta: JsonObject, finish: str | None = None) -> bytes:
        choice: JsonObject = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return self._head + b',"choices":[' + encoded(choice) + b"]}\n\n"

    def _chunk_of(self, delta: JsonObject | None) -> bytes:
        return b"" if delta is None else self._chunk(delta)

    def _start(self, block: JsonObject) -> bytes:
        self._block, self._thought = block, LongText()
        match block.get("type"):
            case "text":
                return self._say(text_of(block.get("text")))
            case "thinking":
                return self._think(text_of(block.get("thinking")))
            case "redacted_thinking":
                return b""
            case "tool_use":
                return self._chunk_of(self._calls.start(block))
            case kind:
                self._context.unsaid(str(kind))
                return b""

    def _say(self, text: str) -> bytes:
        return self._chunk({"content": text}) if text else b""

    def _think(self, text: str) -> bytes:
        self._thought.add(text)
        return self._chunk({"reasoning_content": text, "reasoning": text}) if text else b""

    def _grow(self, event: BlockDelta) -> bytes:
        delta = event.delta
        match event.kind:
            case "text_delta":
                return self._say(text_of(delta.get("text"))) if self._block.get("type") == "text" else b""
            case "thinking_delta":
                return self._think(text_of(delta.get("thinking")))
            case "signature_delta":
                self._block = {**self._block, "signature": delta.get("signature")}
                return b""
            case "input_json_delta":
                text = text_of(delta.get("partial_json"))
                is_said = text and self._block.get("type") == "tool_use"
                return self._chunk_of(self._calls.grow(text)) if is_said else b""
            case kind:
                self._context.unsaid(kind)
                return b""

    def _stop(self) -> bytes:
        block, self._block = self._block, {}
        if block.get("type") == "tool_use":
            return self._chunk_of(self._calls.stop())
        if block.get("type") in ("thinking", "redacted_thinking"):
            detail = detail_of({**block, "thinking": self._thought.whole()}, len(self._details))
            self._details += [detail] if detail else []
        return b""

    def _finish(self, reason: str) -> bytes:
        """The details and the finish reason, each once."""
        if self._finished:
            return b""
        self._finished = True
        details = self._chunk({"reasoning_details": self._details}) if self._details else b""
        return details + self._chunk({}, finish_reason_of(reason, chat_detail(self._context.native)))
