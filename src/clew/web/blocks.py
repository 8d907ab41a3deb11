"""Blocks as the pages show them.

They are what a model said, as it is kept; what dialects have in place of blocks is in `web.items`. A block of an unknown
kind is shown by its kind. Long texts are cut for the page; an export has them whole. `read_object` reads
JSON of the store, whatever is in it: a page never fails because of a recorded text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec import Struct, structs

from clew.model.change import Change
from clew.model.json import JsonObject, JsonValue, object_of, text_of
from clew.model.texts import aside_in
from clew.thinking.seal import is_seal

BlockKind: TypeAlias = Literal[
    "text", "thinking", "hidden", "redacted", "call", "result", "failure", "aside", "picture", "other"
]
"""Hidden: thinking whose text its maker does not show. Redacted: thinking that its maker encrypted. An aside is what a
client puts in for the model alone (`model.asides`), or a file that is a text."""

MOST: Final = 20_000
"""Characters of one block on a page."""
MOST_PICTURE: Final = 400_000
"""Characters of a picture's data on a page. A larger one is named, and not shown."""
BLOCK_DOTS: Final = 3
"""In the path of a block: `messages.1.content.0`."""
UNREADABLE: Final = "unreadable"

_HALVES: Final = re.compile("[\ud800-\udfff]")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_PICTURES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
_object = msgspec.json.Decoder(JsonObject)


class ShownBlock(Struct, frozen=True, kw_only=True):
    """A content block, as a page shows it."""

    kind: BlockKind
    label: str = ""
    """A tool's name, or the kind of a block that has no words."""
    text: str = ""
    more: int = 0
    """Characters that are not shown."""
    sealed: bool = False
    call: str = ""
    """The id of a call."""
    result: ShownBlock | None = None
    """The result of a call, where that is known."""
    changes: tuple[Change, ...] = ()

    @property
    def fate(self) -> str:
        """What became of the block as a whole; "altered" if something in it did."""
        whole = [change.what for change in self.changes if change.path.count(".") <= BLOCK_DOTS]
        return whole[0].replace(" ", "-") if whole else "altered" if self.changes else ""


Results: TypeAlias = Mapping[str, JsonObject]
"""The results of tools, by the id of the call."""


def read_object(raw: bytes) -> JsonObject:
    """The object, or one of the type `unreadable`.

    Half a surrogate pair is legal in JSON and no text; it comes from clients that cut a string in the middle of an
    emoji. The strict decoder refuses it, so a lenient one reads it then, with a replacement character in its place.
    """
    try:
        return _object.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass
    try:
        found: object = json.loads(raw.decode("utf-8", "replace"))
        return _object.decode(_HALVES.sub("\ufffd", json.dumps(found, ensure_ascii=False)).encode())
    except (ValueError, RecursionError):
        return {"type": UNREADABLE, "role": UNREADABLE}


def blocks_in(content: JsonValue) -> list[JsonObject]:
    """The blocks of a message's content, which may be a mere text."""
    if isinstance(content, list):
        return [block if isinstance(block, dict) else {"type": "text", "text": str(block)} for block in content]
    return [{"type": "text", "text": content}] if isinstance(content, str) and content else []


def results_in(messages: Sequence[JsonObject]) -> dict[str, JsonObject]:
    """The results of tools in these messages."""
    blocks = (block for message in messages for block in blocks_in(message.get("content")))
    return {str(block.get("tool_use_id")): block for block in blocks if _kind(block).endswith("tool_result")}


def shown_blocks(
    blocks: Sequence[JsonObject], ids: Sequence[str] = (), results: Results | None = None, *, role: str = ""
) -> list[ShownBlock]:
    """Each block for a page. `ids` are the client's names for the calls among them, in order, by which results come back;
    `role` is that of the message."""
    names = iter(ids)
    views: list[ShownBlock] = []
    for block in blocks:
        called = next(names, str(block.get("id"))) if _kind(block) == "tool_use" else str(block.get("id"))
        views.append(structs.replace(_shown_block(block, (results or {}).get(called), role), call=text_of(block.get("id"))))
    return views


def _shown_block(block: JsonObject, result: JsonObject | None = None, role: str = "") -> ShownBlock:
    kind = _kind(block)
    if kind == "text":
        text = text_of(block.get("text"))
        label = aside_in(text, role)
        return cut_block("aside", text.strip(), label=label) if label else cut_block("text", text)
    if kind == "thinking":
        return shown_thinking(text_of(block.get("thinking")), sealed=is_seal(text_of(block.get("signature"))))
    if kind == "redacted_thinking":
        data = text_of(block.get("data"))
        return ShownBlock(kind="redacted", more=len(data), sealed=is_seal(data))
    if kind.endswith("tool_use"):
        answer = _shown_block(result) if result is not None else None
        return cut_block("call", pretty(block.get("input")), label=text_of(block.get("name")) or kind, result=answer)
    if kind.endswith("tool_result"):
        return cut_block("failure" if block.get("is_error") else "result", result_text(block.get("content")))
    if kind in ("image", "document"):
        # A small picture as the address of its data; a text as a text; anything else by its name.
        source = object_of(block.get("source"))
        media, data = text_of(source.get("media_type")), text_of(source.get("data"))
        label = _description(block)
        if source.get("type") == "text":
            return cut_block("aside", data, label=label)
        if media in _PICTURES and len(data) <= MOST_PICTURE and _BASE64.fullmatch(data):
            return ShownBlock(kind="picture", label=label, text=f"data:{media};base64,{data}")
        return ShownBlock(kind="other", label=label)
    return ShownBlock(kind="other", label=_description(block))


def _kind(block: JsonObject) -> str:
    return str(block.get("type"))


def shown_thinking(text: str, *, sealed: bool = False) -> ShownBlock:
    """Thinking, whether its maker shows the text or not."""
    return cut_block("thinking", text, sealed=sealed) if text.strip() else ShownBlock(kind="hidden", sealed=sealed)


def cut_block(
    kind: BlockKind, text: str, *, label: str = "", sealed: bool = False, result: ShownBlock | None = None
) -> ShownBlock:
    """A block with as much of its text as a page shows."""
    more = max(0, len(text) - MOST)
    return ShownBlock(kind=kind, label=label, text=text[:MOST], more=more, sealed=sealed, result=result)


def pretty(value: JsonValue) -> str:
    """JSON for people; "" for nothing."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() if value else ""


def result_text(content: JsonValue) -> str:
    """The result of a tool, as text; the vendors' own tools answer with values."""
    blocks = blocks_in(content)
    if isinstance(content, dict) or any(_kind(block).endswith(("_result", "_error")) for block in blocks):
        return pretty(content)
    return "\n".join(text_of(block.get("text")) or f"({_description(block)})" for block in blocks)


def _description(block: JsonObject) -> str:
    """A block without words, by its kind, its title and what is in it."""
    media = text_of(object_of(block.get("source")).get("media_type"))
    kind, title = _kind(block).replace("_", " "), text_of(block.get("title"))
    return ", ".join(filter(None, (kind, title[:200], media)))
