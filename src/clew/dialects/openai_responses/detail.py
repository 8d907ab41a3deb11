"""What requests and answers of the Responses API say that the canonical ones have no place for.

A request has it in its `native.detail`. The canonical document is the one that backends of the Messages API get as it is, so
nothing of this dialect may stand in it. What the dialect needs again stands here: the client's own items, by the blocks that
were made of them, for backends that speak this dialect too; what its tools are called and of which kind they are, for calls
in the answer; and all its other fields, for the response object, which repeats them.

An answer has it in blocks, on its way from a backend to a client that both speak the dialect. An item of a type that has no
block (a search, a picture) is a block of its own type; an annotation of a text, or that it is a refusal, is a citation of
its own type. Neither ever goes to a client or a backend of another dialect: there the item stands behind a thought without
words, for its maker alone, and the annotation is left out.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Final, Literal, TypeAlias

from msgspec import Raw, Struct

from clew.dialects.openai.fields import renamed_path
from clew.model.json import JsonObject, object_of
from clew.model.request import NativeRequest

DIALECT_NAME: Final = "openai-responses"

SYSTEM: Final = -1
"""Stands for the index of a message in `ResponsesDetail.items`, where the items are the system prompt."""

ToolKind: TypeAlias = Literal["function", "custom"]


class ClientTool(Struct, frozen=True):
    """A tool as the client knows it. A custom tool takes one text; in the canonical request it takes it as `input`."""

    kind: ToolKind = "function"
    namespace: str = ""
    name: str = ""


Taker: TypeAlias = Literal["all", "own items", "tools as offered", "none"]
"""Backends that take an item: all; those that know OpenAI's own items; those that get the client's tools as it offers them;
none, since it has a name or an id that backends refuse."""


class ClientItem(Struct, frozen=True, eq=False):
    """An item of the client's `input`, and the blocks of a canonical message that were made of it."""

    raw: Raw
    path: str
    """Its place in the client's request: `input.3`."""
    first: int = 0
    """The index of its first block in the message."""
    blocks: int = 0
    """How many blocks it became; 0 for an item that the canonical request has no place for."""
    takes: Taker = "all"
    """Which backends of this dialect take it as it is."""


_first = attrgetter("first")


class ResponsesDetail(Struct, frozen=True, kw_only=True, eq=False):
    """What one request says beyond its canonical form."""

    fields: Mapping[str, Raw] = {}
    """Every field of the request but `input`, as the client wrote it. null counts as a value."""
    items: Mapping[int, tuple[ClientItem, ...]] = {}
    """The items by the index of the canonical message that they became a part of; `SYSTEM` for the system prompt. The index
    is that of `Source.body`, so `Source.index_of` and `Source.place_of` lead here from a message or a block."""
    tools: Mapping[str, ClientTool] = {}
    """The tools by their canonical names."""
    tool_kinds: frozenset[str] = frozenset()
    """The types of all tools that the client offers, OpenAI's own among them, and of the items that add some."""
    streams: bool = False
    include: frozenset[str] = frozenset()
    input: tuple[Raw, ...] = ()
    """All items in their order, with what the client named by its id in place of the name."""
    is_whole: bool = True
    """The client sent all of them itself."""

    def client_tool(self, name: str) -> ClientTool:
        """The tool of this canonical name. Models now and then leave out a namespace: the bare name counts where one tool
        alone has it. A plain function for a tool that the client did not declare."""
        if found := self.tools.get(name):
            return found
        alike = [tool for tool in self.tools.values() if tool.name == name]
        return alike[0] if len(alike) == 1 else ClientTool(name=name)


_NONE: Final = ResponsesDetail()


def detail_of(native: NativeRequest | None) -> ResponsesDetail:
    """The detail of a client's request; an empty one where the client speaks another dialect."""
    return native.detail if native is not None and isinstance(native.detail, ResponsesDetail) else _NONE


# Where in the client's own request a place of the canonical request stands, for changes that people read.


_BLOCK: Final = re.compile(r"messages\.(\d+)(?:\.content\.(\d+))?")
_PROMPT: Final = re.compile(r"system(?:\.(\d+))?")
_FIELDS: Final = {
    "output_config.format": "text.format",
    "output_config.effort": "reasoning.effort",
    "tool_choice.disable_parallel_tool_use": "parallel_tool_calls",
    "max_tokens": "max_output_tokens",
    "thinking": "reasoning",
}


def client_path(native: NativeRequest, path: str) -> str:
    """The path of the item that the block was made of; of the first of a message, and of one that has no item of its own."""
    items = detail_of(native).items
    if found := _BLOCK.match(path):
        own = items.get(int(found[1]), ())
        return _item_path(own, int(found[2] or 0)) or (own[-1].path if own else path)
    if found := _PROMPT.match(path):
        return _item_path(items.get(SYSTEM, ()), int(found[1] or 0)) or "instructions"
    return renamed_path(path, _FIELDS)


def _item_path(items: Sequence[ClientItem], block: int) -> str:
    """The path of the item that this block was made of; "" for a block without one. Items are in the order of their blocks;
    before one may stand others that became none."""
    at = bisect_left(items, block, key=_first)
    if at == len(items) or items[at].first != block:
        at -= 1
    found = items[at] if at >= 0 else None
    return found.path if found and block < found.first + max(found.blocks, 1) else ""


ITEM: Final = "responses_item"
"""The type of a block that is an item."""
_ANNOTATION: Final = "responses_annotation"
_REFUSAL: Final = "responses_refusal"


def is_own_client(native: NativeRequest | None) -> bool:
    """Whether the client speaks this dialect."""
    return native is not None and native.dialect == DIALECT_NAME


def item_block(item: JsonObject) -> JsonObject:
    return {"type": ITEM, "item": item}


def item_of(block: JsonObject) -> JsonObject:
    """The item that a block is; {} if it is none."""
    return object_of(block.get("item")) if block.get("type") == ITEM else {}


def annotation_delta(annotation: JsonObject) -> JsonObject:
    return {"type": "citations_delta", "citation": {"type": _ANNOTATION, "annotation": annotation}}


def refusal_delta() -> JsonObject:
    """Says, before any word of a text, that it is a refusal."""
    return {"type": "citations_delta", "citation": {"type": _REFUSAL}}


def is_refusal_mark(citation: JsonObject) -> bool:
    return citation.get("type") == _REFUSAL


def annotation_in(citation: JsonObject) -> JsonObject:
    """The annotation that a citation carries; {} if it carries none."""
    return object_of(citation.get("annotation")) if citation.get("type") == _ANNOTATION else {}
