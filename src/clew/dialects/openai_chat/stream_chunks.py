"""One chunk of a streamed answer, as typed values.

Servers that speak this protocol leave members out, fill them with null, or give them another type in the next chunk. So
each member may be anything, and its reader asks for what it can use. Only the frame is fixed: a chunk is an object
with a list of choices, each with a delta. Where even that does not hold, a member of the wrong kind counts as absent. An
answer in one piece is one chunk, whose message is the only delta.

A few members hold what the Messages API has no block for: images, sounds, references. Each kind is reported once (law 6),
and what of it can be read is said.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from clew.dialects.block_writer import UnsaidKinds
from clew.dialects.failures.bodies import error_in
from clew.model.json import JsonObject, JsonValue, object_of, objects_of, read_object, read_value, text_of

_S = TypeVar("_S", bound=Struct)

_PARTS: Final = frozenset({"", "text", "output_text", "thinking", "refusal"})
"""Types of content parts whose words are read."""
SEVERAL: Final = "several"
"""In place of a name: a delta has thinking under several, or in entries."""


_NO_TEXT: Final = ("", "")


class ChunkDelta(Struct, gc=False):
    """What a chunk adds to the answer."""

    content: Any = None
    reasoning_content: Any = None
    reasoning: Any = None
    reasoning_text: Any = None
    thinking: Any = None
    reasoning_details: Any = None
    thinking_blocks: Any = None
    tool_calls: Any = None
    function_call: Any = None
    refusal: Any = None
    extra_content: Any = None
    images: Any = None
    audio: Any = None
    annotations: Any = None

    def text_alone(self) -> tuple[str, str]:
        """The name and the text, where it says one text and nothing else, as nearly always; else two empty ones."""
        if not (
            (self.tool_calls is None and self.function_call is None and self.refusal is None and self.images is None)
            and (self.extra_content is None and self.audio is None and self.annotations is None)
        ):
            return _NO_TEXT
        content, name = self.content, self.thought_name()
        if not name:
            return ("content", content) if type(content) is str else _NO_TEXT
        text = None if name is SEVERAL else getattr(self, name)
        return (name, text) if text and type(text) is str and not content else _NO_TEXT

    def arguments_alone(self) -> JsonObject:
        """The entry of the call that grows, where it says more arguments of one and nothing else; else {}."""
        entries = objects_of(self.tool_calls)
        entry = entries[0] if len(entries) == 1 else {}
        function = object_of(entry.get("function"))
        is_more = function.keys() == {"arguments"} and entry.keys() <= {"index", "type", "function"}
        return entry if is_more and self == ChunkDelta(tool_calls=self.tool_calls) else {}

    def thought_name(self) -> str:
        """The plain name under which alone thinking is there, as nearly always; SEVERAL; or "" if there is none."""
        if self.reasoning_details is not None or self.thinking_blocks is not None:
            return SEVERAL
        name = ""
        if self.reasoning_content is not None:
            name = "reasoning_content"
        if self.reasoning is not None:
            name = SEVERAL if name else "reasoning"
        if self.reasoning_text is not None:
            name = SEVERAL if name else "reasoning_text"
        if self.thinking is not None:
            name = SEVERAL if name else "thinking"
        return name


class ChunkChoice(Struct, gc=False):
    """One answer of several. Only the first is read: a client asks for one."""

    index: Any = None
    delta: ChunkDelta | None = None
    finish_reason: Any = None
    stop_reason: Any = None
    matched_stop: Any = None
    usage: Any = None


class Chunk(Struct, gc=False):
    """A chunk. The last members are looked at for errors alone."""

    choices: list[ChunkChoice] | None = None
    usage: Any = None
    object: Any = None
    x_groq: Any = None
    error: Any = None
    type: Any = None
    base_resp: Any = None

    @property
    def delta_alone(self) -> ChunkDelta | None:
        """Its delta, where the chunk says nothing else: no usage, no finish, no error."""
        choices = self.choices
        if not choices or len(choices) > 1 or self.usage is not None or self.may_be_error():
            return None
        choice = choices[0]
        return None if choice.index or choice.usage is not None else choice.delta

    def may_be_error(self) -> bool:
        """Whether the whole object must be searched for an error: no chunk of words has any of these."""
        if self.error is not None or self.type is not None or self.base_resp is not None or self.x_groq is not None:
            return True
        choices = self.choices
        return self.object == "error" or bool(choices and choices[0].finish_reason)


_decoder: Final = msgspec.json.Decoder(Chunk)


def read_chunk(data: bytes) -> Chunk | None:
    """The chunk; None if the data is not a JSON object."""
    try:
        return _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = read_whole(data)
        return None if value is None else chunk_of(value)


def read_whole(data: bytes) -> JsonObject | None:
    """The whole object of a chunk; or an error that stands in a list of one (Gemini's)."""
    value = read_object(data)
    if value is None and data.startswith(b"["):
        entries = objects_of(read_value(data))
        value = entries[0] if len(entries) == 1 and error_in(entries[0]) else None
    return value


def chunk_of(value: JsonObject) -> Chunk:
    """The chunk in an object of which nothing is certain."""
    choices = [
        _known(ChunkChoice, {**choice, "delta": _known(ChunkDelta, object_of(choice.get("delta")))})
        for choice in objects_of(value.get("choices"))
    ]
    return _known(Chunk, {**value, "choices": choices})


def _known(kind: type[_S], value: dict[str, Any]) -> _S:
    return kind(**{name: value[name] for name in kind.__struct_fields__ if name in value})


class UnsaidParts(UnsaidKinds):
    """The parts of one answer that the client does not get."""

    __slots__ = ()

    def note_members(self, delta: ChunkDelta) -> str:
        """Reports images, sounds and references beside the content; the words that a sound says."""
        for kind, value in (("image", delta.images), ("audio", delta.audio), ("annotation", delta.annotations)):
            if value:
                self.note(kind)
        audio: JsonValue = delta.audio
        return text_of(object_of(audio).get("transcript"))

    def note_part(self, part: JsonObject) -> None:
        """Reports one part of a content list, unless its words are read."""
        kind = text_of(part.get("type"))
        if kind not in _PARTS:
            self.note(kind)
