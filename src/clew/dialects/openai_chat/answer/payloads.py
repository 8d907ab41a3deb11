"""What a backend needs back of each thought, beside the text that the client sees.

One object per thinking block, by the names of the wire: `field` is the name under which the text came (the text itself is
the block's), `reasoning_details` and `thinking_blocks` are the entries, `content` the chunks of a content list, `tags` the
markup around a thought in the content, `tool_calls` what calls carry for their maker, `message` what the message itself
carries for it (Gemini signs an answer without calls there). Written as JSON, the object is the
block's `proof`: it stands where Anthropic has a signature, and so becomes the payload of the block's seal.
"""

from __future__ import annotations

import msgspec

from clew.dialects.openai_chat.answer.details import join_entry
from clew.model.halves import whole_value
from clew.model.json import JsonObject, JsonValue
from clew.model.loose_json import object_of, objects_of, read_object, text_of

__all__ = ["Payload", "late_thought", "payload_of", "proof"]


def proof(payload: JsonObject) -> str:
    """What a backend needs back of a thought, in the place where Anthropic has a signature."""
    return msgspec.json.encode(payload).decode()


def late_thought(payload: JsonObject) -> JsonObject | None:
    """A thinking block without words for what came too late for the client, if anything did: its maker needs it all the
    same."""
    return {"type": "thinking", "thinking": "", "signature": proof(payload)} if payload else None


def payload_of(signature: str) -> JsonObject | None:
    """The same read again; None for a vendor's own signature, which is never an object."""
    return read_object(signature.encode("utf-8", "surrogatepass")) if signature.startswith("{") else None


class Payload:
    """The payload of one thinking block, while it grows."""

    __slots__ = ("_calls", "_close", "_entries", "_field", "_message", "_open")

    def __init__(self) -> None:
        self._field = ""
        self._entries: dict[str, list[JsonObject]] = {}
        self._calls: JsonObject = {}
        self._message: JsonObject = {}
        self._open: list[str] = []
        self._close: list[str] = []

    def __bool__(self) -> bool:
        return bool(self._field or self._entries or self._calls or self._message)

    def value(self) -> JsonObject:
        """The object, fit to be written as JSON."""
        value: JsonObject = {"field": self._field} if self._field else {}
        value.update({name: list(entries) for name, entries in self._entries.items()})
        if self._open or self._close:
            value["tags"] = {"open": "".join(self._open), "close": "".join(self._close)}
        if self._calls:
            value["tool_calls"] = self._calls
        if self._message:
            value["message"] = self._message
        return object_of(whole_value(value))

    def came_in(self, field: str) -> None:
        """The first name counts; what comes under others mirrors it."""
        self._field = self._field or field

    def add(self, name: str, entries: list[JsonObject]) -> None:
        """Entries of `reasoning_details` or `thinking_blocks`."""
        for entry in entries:
            join_entry(self._entries.setdefault(name, []), entry)

    def add_chunk(self, chunk: JsonObject) -> None:
        """A thinking chunk of a content list: pieces of the same thought are one chunk with one list."""
        chunks = self._entries.setdefault("content", [])
        if not chunks or chunks[-1].get("signature"):
            chunks.append({**chunk, "thinking": []})
        last = chunks[-1]
        parts = last["thinking"]
        assert isinstance(parts, list), "it is made above"
        for part in objects_of(chunk.get("thinking")):
            _join_part(parts, part)
        last.update({**chunk, "thinking": parts})

    def add_call(self, call_id: str, extra: JsonObject) -> None:
        self._calls[call_id] = extra

    def add_to_message(self, members: JsonObject) -> None:
        """The last counts: signatures are never joined."""
        self._message.update(members)

    def open_frame(self, markup: str) -> None:
        if markup:
            self._open.append(markup)

    def close_frame(self, markup: str) -> None:
        if markup:
            self._close.append(markup)

    def absorb(self, other: Payload) -> None:
        """Takes over what another has gathered before this block was there."""
        self.came_in(other._field)
        for name, entries in other._entries.items():
            self.add(name, entries)
        self._calls.update(other._calls)
        self._message.update(other._message)


def _join_part(parts: list[JsonValue], part: JsonObject) -> None:
    last = object_of(parts[-1]) if parts else {}
    if not part.get("type") == "text" == last.get("type"):
        parts.append(dict(part))
        return
    text = text_of(last.get("text"))
    last["text"] = ""  # as in `details`, the text grows in place
    text += text_of(part.get("text"))
    last["text"] = text
