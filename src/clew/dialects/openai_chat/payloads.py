"""What a backend needs back of each thought, beside the text that the client sees.

One object per thinking block, by the names of the wire: `field` is the name under which the text came (the text itself is
the block's), `reasoning_details` and `thinking_blocks` are the entries, `content` the chunks of a content list, `tags` the
markup around a thought in the content, `tool_calls` what calls carry for their maker, `message` what the message itself
carries for it (Gemini signs an answer without calls there). Written as JSON, the object stands where Anthropic has a
signature, and so becomes the payload of the block's seal.

An entry (OpenRouter's `reasoning_details`, LiteLLM's `thinking_blocks`) goes back to its maker as it came. Pieces are joined
only where the stream had cut one entry: texts and summaries that follow each other under the same index and id, or in turns
with others of their kind. A signature comes last, alone or with the whole text once more, and belongs to the text before it.
Encrypted entries, records of tools and types that nobody knows are whole.
"""

from __future__ import annotations

from typing import Final

from clew.model.blocks import signature_of
from clew.model.json import JsonObject, object_of, objects_of, text_of, whole_value

TEXT_MEMBERS: Final = {"reasoning.text": "text", "reasoning.summary": "summary", "thinking": "thinking"}
"""The member of an entry that grows, by the entry's type. Other types are whole."""
_IN_TURNS: Final = 16
"""How many entries may grow in turns."""


def late_block(payload: JsonObject) -> JsonObject | None:
    """A thinking block without words for a payload that came too late for the client: its maker needs it all the same."""
    return {"type": "thinking", "thinking": "", "signature": signature_of(payload)} if payload else None


class GrowingPayload:
    """The payload of one thinking block, while the answer comes."""

    __slots__ = ("_calls", "_close", "_entries", "_message", "_open", "field")

    def __init__(self) -> None:
        self.field = ""
        """The first name under which the thought came; what comes under others mirrors it."""
        self._entries: dict[str, list[JsonObject]] = {}
        self._calls: JsonObject = {}
        self._message: JsonObject = {}
        self._open: list[str] = []
        self._close: list[str] = []

    def __bool__(self) -> bool:
        return bool(self.field or self._entries or self._calls or self._message)

    def value(self) -> JsonObject:
        """The object, fit to be written as JSON."""
        value: JsonObject = {"field": self.field} if self.field else {}
        value.update({name: list(entries) for name, entries in self._entries.items()})
        if self._open or self._close:
            value["tags"] = {"open": "".join(self._open), "close": "".join(self._close)}
        if self._calls:
            value["tool_calls"] = self._calls
        if self._message:
            value["message"] = self._message
        return object_of(whole_value(value))

    def add_entries(self, name: str, entries: list[JsonObject]) -> None:
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
            before = object_of(parts[-1]) if parts else {}
            if part.get("type") == "text" == before.get("type"):
                text = text_of(before.get("text"))
                before["text"] = ""  # as in `join_entry`, the text grows in place
                text += text_of(part.get("text"))
                before["text"] = text
            else:
                parts.append(dict(part))
        last.update({**chunk, "thinking": parts})

    def add_call(self, call_id: str, extra: JsonObject) -> None:
        self._calls[call_id] = extra

    def add_to_message(self, members: JsonObject) -> None:
        """The last value counts: signatures are never joined."""
        self._message.update(members)

    def add_markup(self, before: str = "", after: str = "") -> None:
        """The markup around a thought that came in the content."""
        if before:
            self._open.append(before)
        if after:
            self._close.append(after)

    def absorb(self, other: GrowingPayload) -> None:
        """Takes over what another payload has gathered before this block was there."""
        self.field = self.field or other.field
        for name, entries in other._entries.items():
            self.add_entries(name, entries)
        self._calls.update(other._calls)
        self._message.update(other._message)


def join_entry(entries: list[JsonObject], entry: JsonObject) -> None:
    """Adds an entry to those before it, or to the one of them that it continues."""
    member = TEXT_MEMBERS.get(text_of(entry.get("type")))
    last = _continued_entry(entries, entry)
    if member is None or last is None:
        entries.append(dict(entry))
        return
    before, more = text_of(last.get(member)), text_of(entry.get(member))
    repeats = bool(entry.get("signature")) and more == before
    known = {name for name, value in last.items() if value not in (None, "")}
    last.update({name: value for name, value in entry.items() if name not in known and name != member})
    if not repeats:
        last[member] = ""  # nobody else holds the text now, so it grows in place: there may be a delta for each word of it
        before += more
        last[member] = before


def _continued_entry(entries: list[JsonObject], entry: JsonObject) -> JsonObject | None:
    """The last one, or before it, among those of its kind, the one with its very index. A signed entry is finished; a member
    that only one of the two has does not tell them apart."""
    index = entry.get("index")
    for at, before in enumerate(reversed(entries[-_IN_TURNS:])):
        if before.get("type") != entry.get("type"):
            return None
        named = at == 0 or (index is not None and before.get("index") == index)
        pairs = ((before.get(name), entry.get(name)) for name in ("index", "id"))
        if named and not before.get("signature") and all(a == b or a is None or b is None for a, b in pairs):
            return before
    return None
