"""Values of a request that steps share: raw values as plain objects and back, JSON paths, and blank texts.

A step decides on plain values and writes back only the keys that differ, so that every other byte of the object stays as the
client wrote it. Paths say where a value stood in the client's request, not where an earlier step moved it. The checks for
blank text (R22, R16) run over every text of every request, so they look at the raw bytes and decode only what may be blank.
"""

from __future__ import annotations

import msgspec
from msgspec import UNSET, Raw, UnsetType

from clew.errors import RequestInvalid
from clew.model.blocks import Block, filler, string_of
from clew.model.json import JsonObject, JsonValue
from clew.model.request import Content, Request, blocks_of
from clew.wire.splice import apply, edit_object

_array = msgspec.json.Decoder(list[Raw])
_SHOWN = 40


def bytes_of(raw: Raw | UnsetType) -> bytes:
    """The bytes; none if it is absent."""
    return b"" if raw is UNSET else bytes(raw)


def has_items(raw: Raw | UnsetType) -> bool:
    """Whether it is an array with something in it. What that is, is not looked at."""
    try:
        return raw is not UNSET and bool(_array.decode(raw))
    except msgspec.DecodeError:
        return False


def value_of(raw: Raw | UnsetType) -> JsonValue:
    """The plain value; None if it is absent. Raises RequestInvalid for a number that no machine has room for."""
    try:
        return None if raw is UNSET else msgspec.json.decode(raw)
    except msgspec.ValidationError as error:
        raise RequestInvalid(f"{error}: {bytes_of(raw)[:_SHOWN].decode('utf-8', 'replace')}") from None


def object_of(raw: Raw | UnsetType) -> JsonObject | None:
    """The plain object; None if it is absent or another kind of value, which is the vendor's to refuse."""
    value = value_of(raw)
    return value if isinstance(value, dict) else None


def number_of(raw: Raw | UnsetType) -> int | float | None:
    """The plain number; None if it is absent or another kind of value."""
    value = value_of(raw)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def rewrite_object(raw: Raw | UnsetType, after: JsonObject | None, *, path: str) -> Raw | UnsetType:
    """The object as `after` says, with the bytes of every key that is the same; the very same value if all are.

    Raises RequestInvalid if a key that must change is there twice.
    """
    if after is None:
        return UNSET
    before = object_of(raw)
    if before is None or raw is UNSET:
        return Raw(msgspec.json.encode(after))
    put = {key: msgspec.json.encode(value) for key, value in after.items() if key not in before or before[key] != value}
    drop = [key for key in before if key not in after]
    if not put and not drop:
        return raw
    text = bytes(raw)
    return Raw(apply(text, edit_object(text, put=put, drop=drop, path=path)))


def with_changed_fields(request: Request, **fields: object) -> Request:
    """The request with these fields of its body; the very same request if none differs."""
    new = {name: value for name, value in fields.items() if value is not getattr(request.body, name)}
    return request.with_fields(**new) if new else request


def message_path(request: Request, index: int) -> str:
    """The client's index of a message; for one that clew put in, its place now."""
    own = request.source.index_of(request.messages[index])
    return f"messages.{index if own is None else own}"


def block_path(request: Request, index: int, block: Block) -> str:
    """The client's place of a block; for one that clew made, its place in that message now."""
    place = request.source.place_of(block)
    if place is not None:
        return f"messages.{place[0]}.content.{place[1]}"
    position = next((j for j, each in enumerate(blocks_of(request.messages[index])) if each is block), 0)
    return f"{message_path(request, index)}.content.{position}"


MAY_BE_BLANK = frozenset(b' \\"') | frozenset(range(0x80, 0x100))
"""The bytes that a blank text can begin with, after its quote: a space, an escape, its end, or a byte beyond ASCII."""
_QUOTE = ord('"')


def is_empty_text(block: Block) -> bool:
    if block.type != "text" or block.text is UNSET:
        return False
    text = memoryview(block.text)
    return len(text) == 2 and text[0] == _QUOTE


def is_blank_text(block: Block) -> bool:
    """Whether the block is a text of white space, and not empty."""
    if block.type != "text" or block.text is UNSET:
        return False
    text = memoryview(block.text)
    return len(text) > 2 and text[1] in MAY_BE_BLANK and string_of(block.text).isspace()


def is_nothing_but_blank(content: Content) -> bool:
    """Whether content is white space as a whole: a string of it, or only such texts. Empty content is not."""
    if isinstance(content, str):
        return content.isspace()
    return bool(content) and all(is_blank_text(block) for block in content or ())


def or_filler(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """The blocks; the filler where they are none, or white space, which may not stand alone (R22)."""
    return (filler(),) if not blocks or is_nothing_but_blank(blocks) else blocks
