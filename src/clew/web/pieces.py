"""Pieces: what was said, block by block, the way the pages show it.

The blocks may be of any dialect: a page shows what a maker said, and beside it what a backend would get in its own form. A
block that nobody knows is shown by its kind. Long texts are cut for the page; an export has them whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec import Struct

from clew.model.change import Change
from clew.model.json import JsonObject, JsonValue
from clew.model.texts import aside_in
from clew.thinking.seal import is_seal

__all__ = ["Kind", "Piece", "Results", "blocks_in", "pieces_of", "results_in", "sent_pieces"]

Kind: TypeAlias = Literal["text", "thinking", "hidden", "redacted", "call", "result", "failure", "aside", "other"]
"""Hidden: thinking whose text its maker does not show. Redacted: thinking that its maker encrypted. An aside is what a
client puts in for the model alone (`model.asides`)."""

MOST: Final = 20_000
"""Characters of one block on a page."""

BLOCK_DOTS: Final = 3
"""In the path of a block: `messages.1.content.0`."""

_THOUGHTS: Final = ("reasoning_content", "reasoning", "thinking")
"""The fields in which dialects without blocks carry thinking."""


class Piece(Struct, frozen=True, kw_only=True):
    """One block on a page."""

    kind: Kind
    label: str = ""
    """A tool's name, or the kind of a block that has no words."""
    text: str = ""
    more: int = 0
    """Characters that are not shown."""
    sealed: bool = False
    result: Piece | None = None
    """What a call brought, where that is known."""
    changes: tuple[Change, ...] = ()

    @property
    def fate(self) -> str:
        """What became of the block as a whole; "altered" if something in it did."""
        whole = [change.what for change in self.changes if change.path.count(".") <= BLOCK_DOTS]
        return whole[0].replace(" ", "-") if whole else "altered" if self.changes else ""


Results: TypeAlias = Mapping[str, JsonObject]
"""What the tools gave back, by the id of the call."""


def blocks_in(content: JsonValue) -> list[JsonObject]:
    """The blocks of a message's content, which may be a mere text."""
    if isinstance(content, list):
        return [block if isinstance(block, dict) else {"type": "text", "text": str(block)} for block in content]
    return [{"type": "text", "text": content}] if isinstance(content, str) and content else []


def results_in(messages: Sequence[JsonObject]) -> dict[str, JsonObject]:
    """What tools gave back in these messages."""
    blocks = (block for message in messages for block in blocks_in(message.get("content")))
    return {str(block.get("tool_use_id")): block for block in blocks if _kind(block).endswith("tool_result")}


def pieces_of(
    blocks: Sequence[JsonObject], ids: Sequence[str] = (), results: Results | None = None, *, role: str = ""
) -> list[Piece]:
    """Each block as a piece. `ids` are the client's names for the calls among them, in order, by which results come back;
    `role` is whose message it is."""
    names = iter(ids)
    pieces: list[Piece] = []
    for block in blocks:
        called = next(names, str(block.get("id"))) if _kind(block) == "tool_use" else str(block.get("id"))
        pieces.append(_piece(block, (results or {}).get(called), role))
    return pieces


def _piece(block: JsonObject, result: JsonObject | None = None, role: str = "") -> Piece:
    kind = _kind(block)
    if kind == "text":
        return _text(_words(block, "text"), role)
    if kind == "thinking":
        return _thought(_words(block, "thinking"), sealed=is_seal(_words(block, "signature")))
    if kind == "redacted_thinking":
        data = _words(block, "data")
        return Piece(kind="redacted", more=len(data), sealed=is_seal(data))
    if kind.endswith("tool_use"):
        answer = _piece(result) if result is not None else None
        return _cut("call", _pretty(block.get("input")), label=_words(block, "name") or kind, result=answer)
    if kind.endswith("tool_result"):
        return _cut("failure" if block.get("is_error") else "result", _said(block.get("content")))
    return Piece(kind="other", label=_described(block))


def _kind(block: JsonObject) -> str:
    return str(block.get("type"))


def _words(block: JsonObject, name: str) -> str:
    value = block.get(name)
    return value if isinstance(value, str) else ""


def _text(text: str, role: str) -> Piece:
    label = aside_in(text, role)
    return _cut("aside", text.strip(), label=label) if label else _cut("text", text)


def _thought(text: str, *, sealed: bool = False) -> Piece:
    return _cut("thinking", text, sealed=sealed) if text.strip() else Piece(kind="hidden", sealed=sealed)


def _cut(kind: Kind, text: str, *, label: str = "", sealed: bool = False, result: Piece | None = None) -> Piece:
    more = max(0, len(text) - MOST)
    return Piece(kind=kind, label=label, text=text[:MOST], more=more, sealed=sealed, result=result)


def _pretty(value: JsonValue) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() if value else ""


def _said(content: JsonValue) -> str:
    """What a tool answered, as text; the vendors' own tools answer with values."""
    blocks = blocks_in(content)
    if isinstance(content, dict) or any(_kind(block).endswith(("_result", "_error")) for block in blocks):
        return _pretty(content)
    return "\n".join(_words(block, "text") or f"({_described(block)})" for block in blocks)


def _described(block: JsonObject) -> str:
    """A block without words, by its kind and what is in it."""
    source = block.get("source")
    media = _words(source, "media_type") if isinstance(source, dict) else ""
    kind = _kind(block).replace("_", " ")
    return f"{kind}, {media}" if media else kind


# What a backend gets, in the dialects that have no blocks


def sent_pieces(message: JsonObject) -> list[Piece]:
    """A message of any dialect: thinking, then words, then calls."""
    if message.get("role") == "tool":
        return [_cut("result", _said(message.get("content")) or str(message.get("content") or ""))]
    said = pieces_of(blocks_in(message.get("content")), role=str(message.get("role")))
    return [*_thoughts(message), *said, *_calls(message.get("tool_calls"))]


def _thoughts(message: JsonObject) -> Iterator[Piece]:
    for name in _THOUGHTS:
        if isinstance(text := message.get(name), str):
            yield _thought(text) if text.strip() else Piece(kind="other", label=f"{name} is there, and empty")
            return
    if details := message.get("reasoning_details"):
        yield _cut("thinking", _pretty(details))


def _calls(calls: JsonValue) -> Iterator[Piece]:
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            yield _cut("call", _formatted(_words(function, "arguments")), label=_words(function, "name"))


def _formatted(arguments: str) -> str:
    try:
        return msgspec.json.format(arguments, indent=2)
    except msgspec.DecodeError:
        return arguments
