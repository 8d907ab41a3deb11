"""From the chunks of an answer to canonical events.

Each chunk is read in one order: thought, content, calls, finish. What it says becomes blocks (`stream_blocks`); here is the
message around them: its start, what it cost, why it ended. The end waits for the end of the stream, since usage may come
after the finish.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import msgspec
from msgspec import Struct

from clew.dialects.block_writer import ToolIds
from clew.dialects.failures.reading import CUT
from clew.dialects.openai.parameters import own_name
from clew.dialects.openai_chat.endings import TokenTotals, stop_of, totals_of, usage_in
from clew.dialects.openai_chat.options import ChatAnswerOptions
from clew.dialects.openai_chat.stream_blocks import ContentWriter, SigningWriter
from clew.dialects.openai_chat.stream_chunks import SEVERAL, Chunk, ChunkChoice, ChunkDelta, UnsaidParts
from clew.dialects.openai_chat.stream_tags import Tags
from clew.dialects.openai_chat.stream_thoughts import (
    DetailTexts,
    Snapshots,
    may_hide,
    part_text,
    shown_text,
    signature_on,
    thought_in,
    without_shown,
)
from clew.dialects.openai_chat.text_calls import text_calls_for
from clew.dialects.shape import AnswerContext
from clew.model.events import Event, MessageDelta, MessageStart, MessageStop, Ping, written
from clew.model.failure import Failure
from clew.model.json import JsonObject, JsonValue, object_of, objects_of, text_of
from clew.model.tokens import OUTPUT_ESTIMATED

_PING: Final = written(Ping())
_MESSAGE_STOP: Final = written(MessageStop())


class _Stops(Struct):
    stop_sequences: list[str] | None = None


def _stops_in(document: bytes) -> tuple[str, ...]:
    """The stop sequences that were asked for; nearly always none."""
    if b'"stop_sequences"' not in document:
        return ()
    try:
        return tuple(msgspec.json.decode(document, type=_Stops).stop_sequences or ())
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ()


class AnswerDecoder:
    """`take` chunks, then `end` or `fail`; `take_events` after each."""

    __slots__ = (
        *("_blocks", "_content", "_context", "_details", "_finish", "_is_plain", "_options", "_refused", "_snapshots"),
        *("_started", "_tags", "_text_calls", "_thinking_blocks", "_totals", "_unsaid", "ended", "failure", "ids"),
    )

    def __init__(self, context: AnswerContext, options: ChatAnswerOptions) -> None:
        self._context = context
        self._options = options
        self.ids = ToolIds(context.message_id)
        self._blocks = SigningWriter()
        client_name = partial(own_name, document=context.document)
        self._content = ContentWriter(self._blocks, self.ids, client_name, own_ids=context.own_ids)
        self._text_calls = text_calls_for(context, options, self.ids)
        self._tags = Tags(options.tags, implicit_open=options.implicit_open)
        self._is_plain = False  # content that is a text says just this from here on
        self._details = DetailTexts()
        self._thinking_blocks = DetailTexts()
        self._snapshots: dict[str, Snapshots] = {}
        self._unsaid = UnsaidParts(context.unsaid)
        self._finish: ChunkChoice | None = None
        self._refused = False
        self._totals: TokenTotals | None = None
        self._started = False
        self.ended = False
        """Nothing may follow: the answer is whole, or it failed."""
        self.failure: Failure | None = None

    @property
    def finished(self) -> bool:
        """Whether a finish reason came: nothing is missing but perhaps usage."""
        return self._finish is not None

    @property
    def late(self) -> JsonObject:
        """The payload that came too late for any block; {} if none did."""
        return self._content.late.value() if self._content.late else {}

    def take_events(self) -> list[Event]:
        """The events since the last time."""
        events = self._blocks.take_events()
        return events if self._text_calls is None else self._text_calls.feed(events)

    def begin(self, *, eager: bool = False) -> None:
        """The start of the message; `eager` opens an empty text block before anything is known."""
        if self._started:
            return
        self._started = True
        usage = TokenTotals(input=self._context.input_tokens).canonical()
        message: JsonObject = {
            "id": self._context.message_id,
            "type": "message",
            "role": "assistant",
            "content": [],
            "model": self._context.model,
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        }
        self._blocks.add(MessageStart(message))
        if eager:
            self._blocks.open("text")
        self._blocks.add(_PING)

    def take(self, chunk: Chunk) -> None:
        """One chunk that is no error. Anything may be missing from it."""
        if not self._started:
            self.begin()
        choices = chunk.choices or ()
        has_usage = chunk.usage is not None or chunk.x_groq is not None or (choices and choices[0].usage is not None)
        if has_usage and (usage := usage_in(chunk)):
            self._totals = totals_of(usage, reasoning_apart=self._options.reasoning_apart)
        for choice in choices:
            if not choice.index:
                if choice.delta is not None:
                    self._take_delta(choice.delta)
                if choice.finish_reason:
                    self._finish = choice
                    self._flush()
        if self._blocks.unsigned:
            self._blocks.sign()

    def take_texts(self, name: str, texts: list[str]) -> None:
        """The texts of neighbouring chunks, each of which says one under this name and nothing else. They are taken as one
        as soon as that means the same."""
        if self.ended:
            return
        at = 0
        while at < len(texts) and not self._may_join(name):
            self.take(Chunk([ChunkChoice(delta=ChunkDelta(**{name: texts[at]}))]))
            at += 1
        text = "".join(texts[at:])
        if name == "content":
            self._content.say(text)
        elif text and (text := "".join(map(shown_text, texts[at:])) if may_hide(text) else text):
            self._content.think(text, name)
        if self._blocks.unsigned:
            self._blocks.sign()

    def take_arguments(self, call: JsonObject, texts: list[str]) -> None:
        """More arguments of a call, in neighbouring chunks that say nothing else."""
        if not self.ended:
            self._content.take_arguments(call, texts)

    def _may_join(self, name: str) -> bool:
        if not self._started:
            return False
        return self._is_plain if name == "content" else not self._options.snapshots and self._content.thinks_alone(name)

    def end(self) -> None:
        """Everything has come. Without a finish reason, a call with half of its arguments shows that it has not."""
        if self.ended:
            return
        if not self._started or (self._finish is None and (self._content.is_silent or self._content.has_half_call)):
            self.fail(CUT)
            return
        self._flush()
        self._blocks.close()
        called = self.ids.given > 0
        stop = stop_of(self._finish, called=called, refused=self._refused, stops=_stops_in(self._context.document))
        self._blocks.sign()
        # What the backend counted. An output that it did not count is estimated, and marked as such
        totals = self._totals or TokenTotals(input=self._context.input_tokens)
        usage = totals.canonical()
        if not totals.output and (about := self._blocks.tokens.total()):
            usage |= {"output_tokens": about, OUTPUT_ESTIMATED: True}
        self._blocks.add(MessageDelta(stop, usage), _MESSAGE_STOP)
        self.ended = True

    def fail(self, failure: Failure) -> None:
        """The answer broke off. An open block stays open, because a stop would say that it is whole; and what might have
        become a tag is not told, because it could close a block. Nothing follows the error."""
        if self.ended:
            return
        self._blocks.add(failure.event())
        self.failure = failure
        self.ended = True

    def _take_delta(self, delta: ChunkDelta) -> None:
        if name := delta.thought_name():
            if name is not SEVERAL and (text := shown_text(getattr(delta, name))):
                self._content.think(self._new_text(name, text), name)
            else:
                self._take_thought(delta)
        if delta.extra_content is not None and (signed := signature_on(delta.extra_content)):
            self._content.opaque_payload().add_to_message(signed)
        if content := delta.content:
            if self._is_plain and type(content) is str:
                self._content.say(content)
            else:
                self._take_content(content)
        if delta.refusal is not None:
            self._refuse(text_of(delta.refusal))
        if (delta.images or delta.audio or delta.annotations) and (words := self._unsaid.note_members(delta)):
            self._content.say(words)
        if delta.tool_calls or delta.function_call:
            self._take_calls(delta)

    def _take_thought(self, delta: ChunkDelta) -> None:
        thought = thought_in(delta, self._details, self._thinking_blocks)
        if self._options.empty_counts:
            self._content.empty = self._content.empty or thought.empty
        shown = 0
        if thought.channels:
            new = self._new_text(thought.channels[0], thought.text)
            shown = len(thought.text) - len(new)
            self._content.think(new, thought.channels[0], thought.channels[1:])
        if thought.entries:
            payload = self._content.opaque_payload()
            for name, entries in thought.entries.items():
                repeated = shown if shown and name == thought.channels[0] else 0
                payload.add_entries(name, without_shown(entries, repeated) if repeated else entries)

    def _take_content(self, content: JsonValue) -> None:
        if isinstance(content, str):
            self._content.say_pieces(self._tags.feed(self._new_text("content", content)))
            self._is_plain = self._tags.is_plain and not self._options.snapshots
            return
        for part in objects_of(content):
            if part.get("type") == "thinking":
                payload = self._content.think(part_text(part), "content") or self._content.opaque_payload()
                payload.field = payload.field or "content"
                payload.add_chunk(part)
                continue
            self._unsaid.note_part(part)
            if text := text_of(part.get("text")):
                self._content.say(text)
            self._refuse(text_of(part.get("refusal")))

    def _refuse(self, words: str) -> None:
        if words:
            self._refused = True
            self._content.say(words)

    def _take_calls(self, delta: ChunkDelta) -> None:
        legacy = object_of(delta.function_call)
        entries = objects_of(delta.tool_calls) or ([{"index": 0, "function": legacy}] if legacy else [])
        if entries and not self._tags.is_idle:
            self._content.say_pieces(self._tags.flush())
        for entry in entries:
            self._content.take_call(entry)

    def _new_text(self, channel: str, text: str) -> str:
        """What a delta adds, where deltas may be snapshots."""
        if not self._options.snapshots:
            return text
        return self._snapshots.setdefault(channel, Snapshots()).new_text(text)

    def _flush(self) -> None:
        if not self._tags.is_idle:
            self._content.say_pieces(self._tags.flush())
        self._content.finish_calls()
