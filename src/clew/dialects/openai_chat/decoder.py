"""From the chunks of an answer to canonical events.

Each chunk is read in one order: thought, content, calls, finish. What it says goes to the block writer, which keeps one
block open at a time; what only the backend understands goes to the payload of the thinking block that it belongs to. The
end waits for the end of the stream, since usage may come after the finish.

Something opaque that comes when text has begun cannot reopen a thought: it gets an empty thinking block before the next
call, and if none comes it is left in `late`. A thought is never the last block, except where the limit cut it.
"""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from clew.dialects.openai_chat.blocks import BlockWriter
from clew.dialects.openai_chat.details import DetailTexts
from clew.dialects.openai_chat.errors import CUT, Failure, failure_in
from clew.dialects.openai_chat.mirrors import Mirrors
from clew.dialects.openai_chat.payloads import Payload
from clew.dialects.openai_chat.quirks import Quirks
from clew.dialects.openai_chat.shapes import object_of, objects_of, text_of
from clew.dialects.openai_chat.snapshots import Snapshots
from clew.dialects.openai_chat.stops import stop_of
from clew.dialects.openai_chat.tags import PieceKind, TagPiece, Tags
from clew.dialects.openai_chat.thoughts import Thought, part_text, thought_in
from clew.dialects.openai_chat.tool_calls import Call, Calls
from clew.dialects.openai_chat.tool_ids import ToolIds
from clew.dialects.openai_chat.usage import Usage, usage_in, usage_of
from clew.model.events import Event, MessageDelta, MessageStart, MessageStop, Ping, StreamFailed
from clew.model.json import JsonObject, JsonValue

__all__ = ["Asked", "ChatDecoder"]


class Asked(Struct, frozen=True):
    """What the answer must know of its request."""

    model: str
    """The name that the client asked for: it decides by it whether to keep thinking."""
    message_id: str = "msg_0"
    """Unique; ids of calls that come without one are made from it."""
    input_tokens: int = 0
    """The last known size of the conversation, for the start of the message."""
    stops: tuple[str, ...] = ()
    """The stop sequences that were asked for."""
    taken: Collection[str] = ()
    """The ids of tool calls that the conversation has already."""


class ChatDecoder:
    """`take` chunks, then `end` or `fail`; `drain` the events after each."""

    def __init__(self, asked: Asked, quirks: Quirks) -> None:
        self._asked = asked
        self._quirks = quirks
        self._blocks = BlockWriter()
        self._calls = Calls()
        self._ids = ToolIds(asked.message_id, asked.taken)
        self._tags = Tags(quirks.tags, implicit_open=quirks.implicit_open)
        self._mirrors = Mirrors()
        self._details = DetailTexts()
        self._snapshots: dict[str, Snapshots] = {}
        self._payloads: dict[int, Payload] = {}
        self._late = Payload()
        self._frame = ""
        self._framed = False
        self._blank = ""
        self._empty = ""
        self._finish: JsonObject = {}
        self._refused = False
        self._usage: Usage | None = None
        self._started = False
        self.ended = False
        self.failure: Failure | None = None
        self.cut: int | None = None
        """The block that was open when the stream failed: what came of it is not whole."""

    @property
    def finished(self) -> bool:
        """Whether a finish reason came: nothing is missing but perhaps usage."""
        return bool(self._finish)

    @property
    def payloads(self) -> dict[int, JsonObject]:
        """What the backend needs back, by the index of the thinking block."""
        return {index: payload.value() for index, payload in self._payloads.items() if payload}

    @property
    def late(self) -> JsonObject:
        """What came too late for any block."""
        return self._late.value()

    @property
    def wire_ids(self) -> dict[str, str]:
        """The ids of calls → the backend's own, where they differ."""
        return self._ids.wire

    def drain(self) -> list[Event]:
        events, self._blocks.events = self._blocks.events, []
        return events

    def begin(self, *, eager: bool = False) -> None:
        """The start of the message; `eager` opens an empty text block before anything is known."""
        if self._started:
            return
        self._started = True
        usage = Usage(input=self._asked.input_tokens).canonical()
        self._blocks.events.append(MessageStart(_message(self._asked, usage)))
        if eager:
            self._blocks.open("text")
        self._blocks.events.append(Ping())

    def take(self, chunk: JsonObject) -> None:
        """One chunk. Anything may be missing from it."""
        failure = failure_in(chunk)
        if failure is not None:
            self.fail(failure)
        if self.ended:
            return
        self.begin()
        usage = usage_in(chunk)
        if usage:
            self._usage = usage_of(usage, reasoning_apart=self._quirks.reasoning_apart)
        for choice in objects_of(chunk.get("choices")):
            if not choice.get("index"):
                self._take_choice(choice)

    def end(self) -> None:
        """Everything has come."""
        if self.ended:
            return
        if not self._started or (self._blocks.index < 0 and self._calls.current is None and not self._finish):
            self.fail(CUT)
            return
        self._flush()
        stop = stop_of(self._finish, called=bool(self._ids.given), refused=self._refused, stops=self._asked.stops)
        self._blocks.close()
        if self._blocks.last == "thinking" and stop["stop_reason"] != "max_tokens":
            self._blocks.open("text")
            self._blocks.close()
        usage = self._usage or Usage(input=self._asked.input_tokens)
        self._blocks.events += [MessageDelta(stop, usage.canonical()), MessageStop()]
        self.ended = True

    def fail(self, failure: Failure) -> None:
        """The answer broke off: open blocks are closed, and nothing follows the error."""
        if self.ended:
            return
        if self._started:
            self._tell(self._tags.flush())
        self.cut = self._blocks.index if self._blocks.kind else None
        self._blocks.close()
        self._blocks.events.append(StreamFailed(failure.error()))
        self.failure = failure
        self.ended = True

    def _take_choice(self, choice: JsonObject) -> None:
        delta = object_of(choice.get("delta"))
        self._take_thought(thought_in(delta, self._details))
        self._take_content(delta.get("content"))
        refusal = text_of(delta.get("refusal"))
        if refusal:
            self._refused = True
            self._say(refusal)
        self._take_calls(delta)
        if choice.get("finish_reason"):
            self._finish = choice
            self._flush()

    def _take_thought(self, thought: Thought) -> None:
        self._empty = self._empty or thought.empty
        text = ""
        if thought.channels:
            channel, *others = thought.channels
            text = self._mirrors.new(channel, self._new(channel, thought.text), others)
        if text:
            self._think(text).came_in(thought.channels[0])
        if thought.entries:
            payload = self._opaque()
            for name, entries in thought.entries.items():
                payload.add(name, entries)

    def _take_content(self, content: JsonValue) -> None:
        if isinstance(content, str):
            self._tell(self._tags.feed(self._new("content", content)) if content else [])
        for part in objects_of(content):
            if part.get("type") == "thinking":
                self._take_part(part)
            elif text := text_of(part.get("text")):
                self._say(text)

    def _take_part(self, part: JsonObject) -> None:
        """A thinking chunk of a content list."""
        text = self._mirrors.new("content", part_text(part))
        payload = self._think(text) if text else self._opaque()
        payload.came_in("content")
        payload.add_chunk(part)

    def _take_calls(self, delta: JsonObject) -> None:
        legacy = object_of(delta.get("function_call"))
        entries = objects_of(delta.get("tool_calls")) or ([{"index": 0, "function": legacy}] if legacy else [])
        if entries:
            self._tell(self._tags.flush())
        for entry in entries:
            self._calls.take(entry)
            self._tell_calls()

    def _new(self, channel: str, text: str) -> str:
        """What a delta adds, where deltas may be snapshots."""
        return self._snapshots.setdefault(channel, Snapshots()).new(text) if self._quirks.snapshots else text

    def _flush(self) -> None:
        self._tell(self._tags.flush())
        self._tell_calls(all_of_them=True)

    def _tell(self, pieces: list[TagPiece]) -> None:
        for kind, text in pieces:
            if kind == "text":
                self._say(text)
            elif kind == "thought":
                self._think_aloud(text)
            else:
                self._frame_with(kind, text)

    def _think_aloud(self, text: str) -> None:
        """A thought between tags, which a field may have told already."""
        new = self._mirrors.new("tags", text)
        payload = self._think(new) if new else self._newest()
        payload.came_in("tags")
        payload.open_frame(self._frame)
        self._frame, self._framed = "", True

    def _frame_with(self, kind: PieceKind, markup: str) -> None:
        """Markup before a thought waits for it; markup behind one belongs to it, and behind none ends nothing."""
        if kind == "open":
            self._frame, self._framed = self._frame + markup, False
        elif self._framed:
            self._newest().close_frame(markup)
        else:
            self._frame = ""

    def _say(self, text: str) -> None:
        """Visible text. White space alone opens no block, and closes none."""
        if self._blocks.kind != "text":
            text, self._blank = self._blank + text, ""
            if not text or text.isspace():
                self._blank = text
                return
            self._tell_calls(all_of_them=True)
        self._blocks.text(text)
        self._mirrors.turn()

    def _think(self, text: str) -> Payload:
        self._tell_calls(all_of_them=True)
        payload = self._open_thinking()
        self._blocks.thought(text)
        return payload

    def _open_thinking(self) -> Payload:
        """The payload of the thinking block that is open now, with what waited for one."""
        self._blank = ""
        payload = self._payloads.setdefault(self._blocks.open_thinking(), Payload())
        payload.absorb(self._late)
        self._late = Payload()
        return payload

    def _opaque(self) -> Payload:
        """Where something belongs that shows nothing: this thought, a new one if nothing was said yet, or a later one."""
        return self._open_thinking() if self._blocks.last in ("", "thinking") else self._late

    def _newest(self) -> Payload:
        return self._payloads[max(self._payloads)] if self._payloads else self._late

    def _tell_calls(self, *, all_of_them: bool = False) -> None:
        """Tells the current call as far as it came, and the next ones as soon as it is whole."""
        while (call := self._calls.current) is not None:
            if call.name:
                self._tell_call(call)
            if not all_of_them and not (call.is_whole() and call.name and self._calls.has_next):
                return
            self._blocks.close()
            self._calls.told()

    def _tell_call(self, call: Call) -> None:
        if not call.is_open:
            call.is_open = True
            self._open_call(call)
        self._blocks.arguments(call.unsent())

    def _open_call(self, call: Call) -> None:
        call_id = self._ids.give(call.wire_id)
        if call.extra:
            self._late.add_call(call_id, call.extra)
        if self._quirks.empty_counts and self._empty and not self._payloads:
            self._late.came_in(self._empty)
        if self._late:
            self._open_thinking()
        self._blank = ""
        self._blocks.open_call(call_id, call.name)
        self._mirrors.turn()


def _message(asked: Asked, usage: JsonObject) -> JsonObject:
    return {
        "id": asked.message_id,
        "type": "message",
        "role": "assistant",
        "content": [],
        "model": asked.model,
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
