"""From the chunks of an answer to what they tell.

Each chunk is read in one order: thought, content, calls, finish. What it says is told as blocks (`telling`); here is the
message around them: its start, what it cost, why it ended. The end waits for the end of the stream, since usage may come
after the finish. A thought is never the last block, except where the limit cut it.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from clew.dialects.failures.reading import CUT, failure_in
from clew.dialects.openai_chat.answer.details import DetailTexts, without_told
from clew.dialects.openai_chat.answer.scribes import EventScribe
from clew.dialects.openai_chat.answer.snapshots import Snapshots
from clew.dialects.openai_chat.answer.stops import stop_of
from clew.dialects.openai_chat.answer.tags import Tags
from clew.dialects.openai_chat.answer.telling import Telling
from clew.dialects.openai_chat.answer.thoughts import Thought, part_text, signed_in, thought_in
from clew.dialects.openai_chat.answer.tool_ids import ToolIds
from clew.dialects.openai_chat.answer.unsaid import Unsaid
from clew.dialects.openai_chat.answer.usage import Usage, usage_in, usage_of
from clew.dialects.openai_chat.options import ChatAnswerOptions
from clew.model.failure import Failure
from clew.model.json import JsonObject, JsonValue
from clew.model.loose_json import object_of, objects_of, text_of

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
    called: Callable[[str], str] = str
    """The client's name of the tool that a call names."""
    unsaid: Callable[[str], object] = str
    """Is told of every kind of part that the client does not get."""


class ChatDecoder:
    """`take` chunks, then `end` or `fail`; the scribe has what was told after each."""

    def __init__(self, asked: Asked, speech: ChatAnswerOptions, scribe: EventScribe) -> None:
        self._asked = asked
        self._speech = speech
        self._scribe = scribe
        self._telling = Telling(scribe, ToolIds(asked.message_id), asked.called)
        self._blocks = self._telling.blocks
        self._tags = Tags(speech.tags, implicit_open=speech.implicit_open)
        self._details = DetailTexts()
        self._thinking_blocks = DetailTexts()
        self._snapshots: dict[str, Snapshots] = {}
        self._finish: JsonObject = {}
        self._refused = False
        self._unsaid = Unsaid(asked.unsaid)
        self._usage: Usage | None = None
        self._started = False
        self.ended = False
        self.failure: Failure | None = None

    @property
    def finished(self) -> bool:
        """Whether a finish reason came: nothing is missing but perhaps usage."""
        return bool(self._finish)

    @property
    def payloads(self) -> dict[int, JsonObject]:
        """What the backend needs back, by the index of the thinking block."""
        return {index: payload.value() for index, payload in self._telling.payloads.items() if payload}

    def payload_at(self, index: int) -> JsonObject:
        payload = self._telling.payloads.get(index)
        return payload.value() if payload else {}

    @property
    def late(self) -> JsonObject:
        """What came too late for any block."""
        return self._telling.late.value()

    @property
    def wire_ids(self) -> dict[str, str]:
        """The ids of calls → the backend's own, where they differ."""
        return self._telling.ids.wire

    def begin(self, *, eager: bool = False) -> None:
        """The start of the message; `eager` opens an empty text block before anything is known."""
        if self._started:
            return
        self._started = True
        usage = Usage(input=self._asked.input_tokens).canonical()
        self._scribe.begins(_message(self._asked, usage))
        if eager:
            self._blocks.open("text")
        self._scribe.pings()

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
            self._usage = usage_of(usage, reasoning_apart=self._speech.reasoning_apart)
        for choice in objects_of(chunk.get("choices")):
            if not choice.get("index"):
                self._take_choice(choice)

    def end(self) -> None:
        """Everything has come. Without a finish reason, a call with half of its arguments shows that it has not."""
        if self.ended:
            return
        if not self._started or (not self._finish and (self._telling.is_silent or self._telling.has_half_call)):
            self.fail(CUT)
            return
        self._flush()
        self._blocks.close()
        called = self._telling.ids.given > 0
        stop = stop_of(self._finish, called=called, refused=self._refused, stops=self._asked.stops)
        if self._blocks.last == "thinking" and stop["stop_reason"] != "max_tokens":
            self._blocks.open("text")
            self._blocks.close()
        usage = self._usage or Usage(input=self._asked.input_tokens)
        self._scribe.ends(stop, usage.canonical())
        self.ended = True

    def fail(self, failure: Failure) -> None:
        """The answer broke off. An open block stays open, because a stop would say that it is whole; and what might have
        become a tag is not told, because it could close a block. Nothing follows the error."""
        if self.ended:
            return
        self._scribe.fails(failure.event())
        self.failure = failure
        self.ended = True

    def _take_choice(self, choice: JsonObject) -> None:
        delta = object_of(choice.get("delta"))
        self._take_thought(thought_in(delta, self._details, self._thinking_blocks))
        if "extra_content" in delta and (signed := signed_in(delta)):
            self._telling.opaque().add_to_message(signed)
        self._take_content(delta.get("content"))
        self._refuse(text_of(delta.get("refusal")))
        if said := self._unsaid.beside(delta):
            self._telling.say(said)
        if delta.get("tool_calls") or delta.get("function_call"):
            self._take_calls(delta)
        if choice.get("finish_reason"):
            self._finish = choice
            self._flush()

    def _refuse(self, words: str) -> None:
        if words:
            self._refused = True
            self._telling.say(words)

    def _take_thought(self, thought: Thought) -> None:
        if self._speech.empty_counts:
            self._telling.empty = self._telling.empty or thought.empty
        told = 0
        if thought.channels:
            new = self._new(thought.channels[0], thought.text)
            told = len(thought.text) - len(new)
            self._telling.think(new, *thought.channels)
        if thought.entries:
            payload = self._telling.opaque()
            for name, entries in thought.entries.items():
                payload.add_entries(name, without_told(entries, told) if told and name == thought.channels[0] else entries)

    def _take_content(self, content: JsonValue) -> None:
        if isinstance(content, str):
            self._telling.tell(self._tags.feed(self._new("content", content)) if content else [])
        for part in objects_of(content):
            if part.get("type") == "thinking":
                self._take_part(part)
                continue
            self._unsaid.among(part)
            if text := text_of(part.get("text")):
                self._telling.say(text)
            self._refuse(text_of(part.get("refusal")))

    def _take_part(self, part: JsonObject) -> None:
        """A thinking chunk of a content list."""
        payload = self._telling.think(part_text(part), "content") or self._telling.opaque()
        payload.set_field("content")
        payload.add_chunk(part)

    def _take_calls(self, delta: JsonObject) -> None:
        legacy = object_of(delta.get("function_call"))
        entries = objects_of(delta.get("tool_calls")) or ([{"index": 0, "function": legacy}] if legacy else [])
        if entries:
            self._telling.tell(self._tags.flush())
        for entry in entries:
            self._telling.call(entry)

    def _new(self, channel: str, text: str) -> str:
        """What a delta adds, where deltas may be snapshots."""
        return self._snapshots.setdefault(channel, Snapshots()).new(text) if self._speech.snapshots else text

    def _flush(self) -> None:
        if not self._tags.is_idle:
            self._telling.tell(self._tags.flush())
        self._telling.finish_calls()


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
