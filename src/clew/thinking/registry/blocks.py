"""Thinking blocks as the registry sees them: in a request, with keys and places, and in an answer while it streams.

The registry's document hashes the first and the last 256 bytes of the content and its length (`documented_key`). That is
kept as it is written, with a stable hash in place of one that changes from build to build. It has two limits: equal ends and
equal length are equal, and so are the same words of two makers. `exact_block_key` has neither: SHA-256 over the whole text
and the signature. One thing is fixed in both: since models leave the text of their thinking out, an empty text names
nothing, and the signature names the block. A block with neither has no key.

The body is plain JSON that a client sent, so anything may be missing or of another kind; a body without a list of messages
with lists of blocks has no thinking in it. Nothing is edited in place.

In a streamed answer, thinking arrives in pieces, several blocks may be open at once, and a signature may be sent more than
once (the last one counts, as for every client). A block is registered at its stop event, before anybody can send it back; a
redacted one at its start, since it comes whole. What is still open when the answer ends was cut: it is registered as
incomplete.

The session is that of the request: a switch while the answer streams does not adopt it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b, sha256
from typing import Protocol, TypeAlias

import msgspec
from msgspec import Struct

from clew.model.blocks import FILLER
from clew.model.json import JsonArray, JsonObject, JsonValue, object_of, text_of

WINDOW = 256
"""Bytes from each end that the document's hash looks at."""

_SEPARATOR = b"\xff"
"""Occurs in no UTF-8, so the parts of a key cannot run together."""
_FIELDS = {"thinking": "thinking", "redacted_thinking": "data"}


def claims_thinking(block: JsonObject) -> bool:
    """Whether this says that it is a thinking block, well-formed or not."""
    return text_of(block.get("type")) in _FIELDS


def content_of(block: JsonObject) -> str | None:
    """The text of a thinking block, the data of a redacted one; None for a malformed one and for anything else."""
    field = _FIELDS.get(text_of(block.get("type")))
    content = block.get(field) if field else None
    return content if isinstance(content, str) else None


def documented_key(block: JsonObject) -> bytes | None:
    content = content_of(block)
    if content is None:
        return None
    named = content or text_of(block.get("signature"))
    return fast_hash(named).to_bytes(8, "big") if named else None


def exact_block_key(block: JsonObject) -> bytes | None:
    """Return SHA-256 over type, text and signature. The same text from another maker has another key. None for a block
    without anything that identifies it, and for anything but thinking.

    >>> mine = {"type": "thinking", "thinking": "Let me think.", "signature": "EqQB"}
    >>> exact_block_key(mine) == exact_block_key({**mine, "signature": "other"})
    False
    """
    content = content_of(block)
    parts = (text_of(block.get("type")), content or "", text_of(block.get("signature")))
    if content is None or not any(parts[1:]):
        return None
    return sha256(_SEPARATOR.join(part.encode("utf-8", "surrogatepass") for part in parts)).digest()


def fast_hash(content: str) -> int:
    """The hash of the registry's document: 64 bits over the first 256 bytes, the last 256 bytes and the length in bytes.

    Both ends are cut between characters. Two texts that differ only in the middle have the same hash: `exact_block_key`
    tells them apart.

    >>> fast_hash("Let me analyze...")
    14326405147182174617
    >>> ends = "a" * 256, "z" * 256
    >>> fast_hash("one".join(ends)) == fast_hash("two".join(ends))
    True
    """
    raw = content.encode("utf-8", "surrogatepass")
    parts = (prefix_of(raw), suffix_of(raw), len(raw).to_bytes(8, "big"))
    return int.from_bytes(blake2b(_SEPARATOR.join(parts), digest_size=8).digest(), "big")


def prefix_of(raw: bytes) -> bytes:
    """The first 256 bytes at most, cut before a character that would be torn."""
    end = min(WINDOW, len(raw))
    while end < len(raw) and _inside_character(raw[end]):
        end -= 1
    return raw[:end]


def suffix_of(raw: bytes) -> bytes:
    """The last 256 bytes at most, begun after a character that would be torn."""
    start = max(0, len(raw) - WINDOW)
    while start < len(raw) and _inside_character(raw[start]):
        start += 1
    return raw[start:]


def _inside_character(byte: int) -> bool:
    return byte & 0b1100_0000 == 0b1000_0000


Place: TypeAlias = tuple[int, int]
"""Message and block index."""


def thinking_in(body: JsonValue) -> Iterator[tuple[Place, JsonObject]]:
    """Every thinking block of every message, malformed ones too."""
    for i, message in enumerate(_messages_of(body)):
        for j, block in enumerate(_content_of(message)):
            if isinstance(block, dict) and claims_thinking(block):
                yield (i, j), block


def has_answer(body: JsonValue) -> bool:
    """Whether the request holds anything that a model said."""
    return any(message.get("role") == "assistant" for message in objects_in(_messages_of(body)))


def path_of(place: Place) -> str:
    return f"messages.{place[0]}.content.{place[1]}"


def without(body: JsonValue, gone: Iterable[Place]) -> JsonValue:
    """A copy along the path of what is removed; everything else is shared with the client's body."""
    places: dict[int, set[int]] = {}
    for i, j in gone:
        places.setdefault(i, set()).add(j)
    if not places or not isinstance(body, dict):
        return body
    messages = list(_messages_of(body))
    for i, blocks in places.items():
        message = messages[i]
        assert isinstance(message, dict), "only an object has blocks"
        kept = [block for j, block in enumerate(_content_of(message)) if j not in blocks]
        # Never empty: vendors refuse that.
        messages[i] = {**message, "content": kept or [{"type": "text", "text": FILLER, "citations": []}]}
    return {**body, "messages": messages}


def objects_in(values: JsonArray) -> Iterator[JsonObject]:
    return (value for value in values if isinstance(value, dict))


def _messages_of(body: JsonValue) -> JsonArray:
    messages = body.get("messages") if isinstance(body, dict) else None
    return messages if isinstance(messages, list) else []


def _content_of(message: JsonValue) -> JsonArray:
    content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, list) else []


class Registered(Struct, frozen=True):
    """A block that was not in the table, or not in this session. The preview is text of the model: not for every log."""

    key: bytes
    session: int
    preview: str
    complete: bool = True


class Registration(Struct, frozen=True):
    """What an answer brought; `note` says why it brought nothing, if it could not be read."""

    blocks: tuple[Registered, ...] = ()
    note: str = ""


_NOTHING = Registration()


class _Table(Protocol):
    def register_blocks(
        self, blocks: Iterable[JsonObject], now: float, *, session: int | None = None, complete: bool = True
    ) -> Registration: ...


class _Open:
    """A thinking block that has begun."""

    def __init__(self, block: JsonObject) -> None:
        self.pieces = [text_of(block.get("thinking"))]
        self.signature = text_of(block.get("signature"))

    def block(self) -> JsonObject:
        return {"type": "thinking", "thinking": "".join(self.pieces), "signature": self.signature}


class AnswerWatch:
    """`event` reads one event, `end` the end of the answer; both return what was registered."""

    def __init__(self, table: _Table, session: int) -> None:
        self._table = table
        self._session = session
        self._open: dict[int, _Open] = {}

    def event(self, data: bytes, now: float) -> Registration:
        """Reads one event's data. An event that is not a JSON object, or out of place, registers nothing."""
        try:
            event: JsonValue = msgspec.json.decode(data)
        except (ValueError, RecursionError) as error:
            return Registration(note=f"the event is not JSON: {error}")
        index = event.get("index") if isinstance(event, dict) else None
        if not isinstance(event, dict) or not isinstance(index, int):
            return _NOTHING
        match event.get("type"):
            case "content_block_start":
                # An index that is used again before its stop was cut there
                block = object_of(event.get("content_block"))
                cut = [self._open.pop(index).block()] if index in self._open else []
                interrupted = self._table.register_blocks(cut, now, session=self._session, complete=False)
                if block.get("type") == "thinking":
                    self._open[index] = _Open(block)
                    return interrupted
                whole = self._register(block, now)
                return Registration(interrupted.blocks + whole.blocks)
            case "content_block_delta" if index in self._open:
                delta, block = object_of(event.get("delta")), self._open[index]
                if delta.get("type") == "thinking_delta":
                    block.pieces.append(text_of(delta.get("thinking")))
                elif delta.get("type") == "signature_delta":
                    block.signature = text_of(delta.get("signature"))
            case "content_block_stop" if index in self._open:
                return self._register(self._open.pop(index).block(), now)
            case _:
                pass
        return _NOTHING

    def end(self, now: float) -> Registration:
        """Register the blocks that are still open: the answer is over, whole or cut, or the client has left."""
        cut = [each.block() for each in self._open.values()]
        self._open.clear()
        return self._table.register_blocks(cut, now, session=self._session, complete=False)

    def _register(self, block: JsonObject, now: float) -> Registration:
        return self._table.register_blocks([block], now, session=self._session)
