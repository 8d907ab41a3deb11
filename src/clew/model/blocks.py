"""Blocks: the pieces of a message, as views on the bytes that came.

A block is not translated into a class of its own kind. What a model said must go back as the bytes that came (law 4), and
types that are not known yet must pass unharmed, so a `Block` reads the few fields that decisions depend on, leaves every
other value as raw bytes, and forgets nothing, because the bytes stay where they are. A block that clew itself puts in (a
restored one, a filler, a text that hands a thought over) is a `Made`: it carries its own bytes.
"""

from __future__ import annotations

from typing import TypeGuard

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from clew.model.json import JsonObject, JsonValue, encoded, read_object
from clew.model.texts import decode_string

THINKING_TYPES = frozenset({"thinking", "redacted_thinking"})
"""The two types that carry a maker's proof. Anything else, unknown types included, is visible content."""

OPAQUE = ""
"""The type of a block that a vendor made and clew cannot read: its signature is a number, for instance. It is visible
content like any other, is kept and goes as it came, and nothing is known of it."""

FILLER = "[No message content]"
"""Stands where an assistant message would otherwise be empty. Constant, so that a prefix with it stays stable."""


class Block(Struct, frozen=True, eq=False, gc=False):
    """One content block. Compared by identity: two equal blocks at two places are two blocks."""

    type: str
    text: Raw | UnsetType = UNSET
    thinking: Raw | UnsetType = UNSET
    signature: str | UnsetType | None = UNSET
    data: str | UnsetType | None = UNSET
    id: str | UnsetType | None = UNSET
    tool_use_id: str | UnsetType | None = UNSET
    input: Raw | UnsetType = UNSET
    content: Raw | UnsetType = UNSET
    cache_control: Raw | UnsetType = UNSET


class Made(Block, frozen=True, eq=False, gc=False):
    """A block that the client did not send in this form. `raw` is exactly what goes out."""

    raw: bytes = b""


_block = msgspec.json.Decoder(Block)


def made(value: bytes | JsonObject) -> Made:
    """A block to put in, from its bytes (a recording's, verbatim) or from a plain object; opaque if it cannot be read."""
    raw = value if isinstance(value, bytes) else encoded(value)
    try:
        return well_made(raw)
    except msgspec.ValidationError:
        return Made(OPAQUE, raw=raw)


def well_made(raw: bytes) -> Made:
    """The same, of a block that may be refused. Raises ValidationError."""
    return Made(*msgspec.structs.astuple(_block.decode(raw)), raw=raw)


def text_block(text: str, **more: JsonValue) -> Made:
    return made({"type": "text", "text": text, **more})


def filler() -> Made:
    """The documented stand-in: a text block with empty citations."""
    return text_block(FILLER, citations=[])


def is_thinking(block: Block) -> bool:
    return block.type in THINKING_TYPES


def is_signed(value: str | UnsetType | None) -> TypeGuard[str]:
    """A signature or redacted data that is there at all. Whether it holds, only its maker knows."""
    return isinstance(value, str) and value != ""


def string_of(value: Raw | UnsetType) -> str:
    """The text of a raw JSON string; "" for an absent value or another kind of value."""
    if value is UNSET:
        return ""
    try:
        return decode_string(value)
    except msgspec.DecodeError:
        return ""


def signature_of(payload: JsonObject) -> str:
    """A payload as it stands in the place of a signature: what a maker outside the realm `anthropic` needs back of a
    thought, and only its own dialect reads. A vendor's own signature is never a JSON object."""
    return msgspec.json.encode(payload).decode()


def payload_of(signature: str) -> JsonObject | None:
    """The same read again; None for a vendor's own signature."""
    return read_object(signature.encode("utf-8", "surrogatepass")) if signature.startswith("{") else None
