"""Rules about the content of a block: empty or blank text (R16, R22), summaries (R54), images (R64), cache marks (R58), and
what a newer API version refuses (R2).

*Empty* is "", *blank* is not empty and nothing but white space. Inside a tool result both are legal.

The vendor counts cache marks in the order tools, system, messages. A top-level `cache_control` marks the last block that can
be cached; it does nothing where that block has the same mark already.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from clew.model.json import JsonObject, object_of, text_of
from clew.thinking.compliance.parameters import NEWER
from clew.thinking.compliance.request_view import BlockView, Defect, MessageView, RequestView, RuleTable, at, list_in

RULES = RuleTable()

IMAGE_BYTES = 5 * 1024 * 1024
MOST_MARKS = 4


def _is_empty_text(block: JsonObject) -> bool:
    return block.get("type") == "text" and block.get("text") == ""


def _is_blank_text(block: JsonObject) -> bool:
    return block.get("type") == "text" and text_of(block.get("text")).isspace()


def _listed_pieces(view: RequestView) -> Iterator[BlockView]:
    """Blocks of lists. A string has no block that could be empty on its own."""
    return (block for message in view.messages if isinstance(message.content, list) for block in message.blocks)


# ── messages


@RULES.check("R22.empty-text-cached")
def empty_text_cached(view: RequestView) -> Iterator[Defect]:
    for block in _listed_pieces(view):
        if _is_empty_text(block.value) and block.value.get("cache_control") is not None:
            yield at(f"{block.path}.text")


@RULES.check("R22.empty-text")
def empty_text(view: RequestView) -> Iterator[Defect]:
    return (at(block.path) for block in _listed_pieces(view) if _is_empty_text(block.value))


def _is_all_blank(message: MessageView) -> bool:
    return bool(message.blocks) and all(_is_blank_text(block.value) for block in message.blocks)


@RULES.check("R22.blank-text")
def blank_text(view: RequestView) -> Iterator[Defect]:
    return (at(message.path) for message in view.messages if _is_all_blank(message))


@RULES.check("R22.blank-text-beside")
def blank_text_beside(view: RequestView) -> Iterator[Defect]:
    mixed = (message for message in view.messages if not _is_all_blank(message))
    return (at(block.path) for message in mixed for block in message.blocks if _is_blank_text(block.value))


@RULES.check("R22.user-empty")
def user_empty(view: RequestView) -> Iterator[Defect]:
    return (at(each.path) for each in view.messages if each.role == "user" and each.content in ("", []))


@RULES.check("R54.compaction-empty")
def compaction_empty(view: RequestView) -> Iterator[Defect]:
    for block in view.blocks():
        if block.type == "compaction" and block.value.get("content") == "":
            yield at(f"{block.path}.compaction.content")


# ── system


def _system_blocks(view: RequestView) -> list[JsonObject]:
    return [object_of(block) for block in list_in(view.body.get("system"))]


@RULES.check("R16.empty-text-cached")
def system_empty_cached(view: RequestView) -> Iterator[Defect]:
    for k, block in enumerate(_system_blocks(view)):
        if _is_empty_text(block) and block.get("cache_control") is not None:
            yield at(f"system.{k}")


@RULES.check("R16.empty-text")
def system_empty(view: RequestView) -> Iterator[Defect]:
    return (at(f"system.{k}") for k, block in enumerate(_system_blocks(view)) if _is_empty_text(block))


@RULES.check("R16.blank-text")
def system_blank(view: RequestView) -> Iterator[Defect]:
    blocks = _system_blocks(view)
    if text_of(view.body.get("system")).isspace() or (blocks and all(map(_is_blank_text, blocks))):
        yield at("system")


# ── images


@RULES.check("R64.image-too-large")
def image_too_large(view: RequestView) -> Iterator[Defect]:
    for block in view.blocks():
        images = [(f"{block.path}.image", block.value)]
        if block.type == "tool_result":
            nested = enumerate(list_in(block.value.get("content")))
            images = [(f"{block.path}.tool_result.content.{k}.image", object_of(each)) for k, each in nested]
        for path, image in images:
            source = object_of(image.get("source"))
            size = len(text_of(source.get("data")))
            if image.get("type") == "image" and source.get("type") == "base64" and size > IMAGE_BYTES:
                yield at(f"{path}.source.base64", bytes=size)


# ── cache marks


def _ttl(mark: JsonObject) -> str:
    return text_of(mark.get("ttl")) or "5m"


def _marked(view: RequestView) -> Iterator[tuple[str, JsonObject]]:
    """Every mark with the path of the value that bears it, in the vendor's order."""
    tools = ((f"tools.{k}", tool) for k, tool in enumerate(view.tools))
    system = ((f"system.{k}", block) for k, block in enumerate(_system_blocks(view)))
    messages = chain.from_iterable(map(_bearers, view.blocks()))
    for path, value in chain(tools, system, messages):
        mark = value.get("cache_control")
        if isinstance(mark, dict):
            yield path, mark


def _bearers(block: BlockView) -> Iterator[tuple[str, JsonObject]]:
    """The block, then the blocks inside a tool result. A mark on thinking is R33's."""
    if "cache_control" in block.value and not block.is_thinking:
        yield block.path, block.value
    if block.type == "tool_result":
        for k, nested in enumerate(list_in(block.value.get("content"))):
            yield f"{block.path}.content.{k}", object_of(nested)


def _automatic(view: RequestView) -> tuple[JsonObject, JsonObject] | None:
    """The top-level mark, and the block that it falls on."""
    mark = view.body.get("cache_control")
    if not isinstance(mark, dict):
        return None
    system = view.body.get("system")
    above = [JsonObject(type="text", text=system)] if isinstance(system, str) else _system_blocks(view)
    said = [block.value for block in view.blocks() if block.facts is not None and block.facts.cacheable]
    cacheable = (*view.tools, *(block for block in (*above, *said) if not _is_empty_text(block)))
    return (mark, cacheable[-1]) if cacheable else None


def _adds_a_mark(view: RequestView) -> bool:
    automatic = _automatic(view)
    return automatic is not None and automatic[1].get("cache_control") is None


@RULES.check("R58.too-many-marks")
def too_many_marks(view: RequestView) -> Iterator[Defect]:
    count = sum(1 for _ in _marked(view))
    if count > MOST_MARKS:
        yield at("", count=count + _adds_a_mark(view))


@RULES.check("R58.automatic-fifth")
def automatic_fifth(view: RequestView) -> Iterator[Defect]:
    if _adds_a_mark(view) and sum(1 for _ in _marked(view)) == MOST_MARKS:
        yield at("cache_control")


@RULES.check("R58.automatic-ttl")
def automatic_ttl(view: RequestView) -> Iterator[Defect]:
    automatic = _automatic(view)
    own = automatic and automatic[1].get("cache_control")
    if automatic and isinstance(own, dict) and _ttl(own) != _ttl(automatic[0]):
        yield at("cache_control.ttl")


@RULES.check("R58.ttl-order")
def ttl_order(view: RequestView) -> Iterator[Defect]:
    short_seen = False
    for path, mark in _marked(view):
        if short_seen and _ttl(mark) == "1h":
            yield at(f"{path}.cache_control.ttl")
            return
        short_seen = short_seen or _ttl(mark) == "5m"


# ── the newer API version


def _newer_blocks(view: RequestView, role: str, kind: str) -> Iterator[BlockView]:
    """Blocks of this kind directly in messages of this role; none under the older version."""
    if view.version == NEWER:
        messages = (message for message in view.messages if message.role == role)
        yield from (block for message in messages for block in message.blocks if block.type == kind)


@RULES.check("R2.document-in-assistant")
def document_in_assistant(view: RequestView) -> Iterator[Defect]:
    return (at(block.path) for block in _newer_blocks(view, "assistant", "document"))


@RULES.check("R2.citations-in-user")
def citations_in_user(view: RequestView) -> Iterator[Defect]:
    cited = (block for block in _newer_blocks(view, "user", "text") if list_in(block.value.get("citations")))
    return (at(f"{block.path}.text.citations") for block in cited)
