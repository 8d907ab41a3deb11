"""Limits on content: cache marks (R58), and the size, type and pages of images and PDFs (R64).

Cache marks are limited in number and ordered by their lifetime; the automatic one falls on the last block that can have one.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from clew.model.facts import blocks
from clew.model.json import JsonObject
from clew.simulator.anthropic.judge.case import BrokenRule, Case
from clew.simulator.values import as_dict, as_list, as_str, text_blocks

# Cache marks.

_MOST = 4


@dataclass(frozen=True, slots=True)
class CacheableItem:
    """A tool, a block or the whole request: all can have a cache mark."""

    path: str
    value: JsonObject
    is_top: bool = True
    """Not inside a tool result."""

    @property
    def is_marked(self) -> bool:
        return self.value.get("cache_control") is not None

    @property
    def ttl(self) -> str:
        return as_str(as_dict(self.value.get("cache_control")).get("ttl")) or "5m"

    @property
    def takes_automatic_mark(self) -> bool:
        """Tools always do; empty texts never."""
        if self.path.startswith("tools."):
            return True
        kind = as_str(self.value.get("type"))
        return kind in blocks() and blocks()[kind].cacheable and not (kind == "text" and self.value.get("text") == "")


def check_marks(case: Case) -> Iterator[BrokenRule]:
    items = [*_cacheable_items(case)]
    marked = [item for item in items if item.is_marked]
    whole = CacheableItem("", case.body)
    automatic = None
    if whole.is_marked:
        automatic = next((item for item in reversed(items) if item.is_top and item.takes_automatic_mark), None)
    one_more = automatic is not None and not automatic.is_marked
    if len(marked) > _MOST:
        yield BrokenRule("R58.too-many-marks", "", {"count": len(marked) + one_more})
    elif len(marked) == _MOST and one_more:
        yield BrokenRule("R58.automatic-fifth", "cache_control")
    if automatic and automatic.is_marked and automatic.ttl != whole.ttl:
        yield BrokenRule("R58.automatic-ttl", "cache_control.ttl")
    short = False
    for item in marked:
        if short and item.ttl == "1h":
            yield BrokenRule("R58.ttl-order", f"{item.path}.cache_control.ttl")
            break
        short = short or item.ttl == "5m"


def _cacheable_items(case: Case) -> Iterator[CacheableItem]:
    """The parts of the request that can have a cache mark, in the order in which the cache is built."""
    for index, tool in enumerate(as_list(case.body.get("tools"))):
        yield CacheableItem(f"tools.{index}", as_dict(tool))
    for index, block in enumerate(text_blocks(case.body.get("system"))):
        yield CacheableItem(f"system.{index}", as_dict(block))
    for message in case.messages:
        for block in message.blocks:
            if not block.is_thinking:
                yield CacheableItem(block.path, block.value)
            if block.type == "tool_result":
                for index, nested in enumerate(as_list(block.value.get("content"))):
                    yield CacheableItem(f"{block.path}.content.{index}", as_dict(nested), is_top=False)


# Images and PDFs.

_MOST_BYTES: Final = 5 * 1024 * 1024
_MANY_IMAGES: Final = 20
_MOST_PIXELS: Final = 2000
_MOST_PAGES: Final = 100
_PAGE: Final = re.compile(rb"/Type\s*/Page(?![s\w])")
"""A page object that shows without a PDF reader; those in compressed streams do not."""

_Size: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Medium:
    """An image or a document with its data inside the request."""

    path: str
    kind: str
    media_type: str
    data: str

    @property
    def bytes(self) -> bytes:
        try:
            return base64.b64decode(self.data.encode(), validate=True)
        except (binascii.Error, ValueError):
            return b""


def check_media(case: Case) -> Iterator[BrokenRule]:
    media = [*_media(case)]
    images = [medium for medium in media if medium.kind == "image"]
    for image in images:
        if len(image.data) > _MOST_BYTES:
            yield BrokenRule("R64.image-too-large", image.path, {"bytes": len(image.data)})
        elif (size := _image_size(image.media_type, image.bytes)) is None:
            yield BrokenRule("R64.image-unreadable", f"{image.path}.data")
        elif len(images) > _MANY_IMAGES and max(size) > _MOST_PIXELS:
            yield BrokenRule("R64.image-dimensions", f"{image.path}.data")
    pdfs = (medium for medium in media if medium.media_type == "application/pdf")
    if sum(len(_PAGE.findall(pdf.bytes)) for pdf in pdfs) > _MOST_PAGES:
        yield BrokenRule("R64.pdf-pages")


def _media(case: Case) -> Iterator[Medium]:
    """Everything with a base64 source, directly in a message or inside a tool result."""
    for message in case.messages:
        for block in message.blocks:
            yield from _medium(block.path, block.value)
            if block.type == "tool_result":
                for index, nested in enumerate(as_list(block.value.get("content"))):
                    yield from _medium(f"{block.path}.tool_result.content.{index}", as_dict(nested))


def _medium(path: str, block: JsonObject) -> Iterator[Medium]:
    kind, source = as_str(block.get("type")), as_dict(block.get("source"))
    if kind in ("image", "document") and source.get("type") == "base64":
        where = f"{path}.{kind}.source.base64"
        yield Medium(where, kind, as_str(source.get("media_type")), as_str(source.get("data")))


def _image_size(media_type: str, data: bytes) -> _Size | None:
    """Width and height from an image's first bytes; None if the data is of another type, or too short."""
    match media_type:
        case "image/png" if len(data) >= 24 and data[:8] == b"\x89PNG\r\n\x1a\n":
            return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
        case "image/gif" if len(data) >= 10 and data[:6] in (b"GIF87a", b"GIF89a"):
            return int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")
        case "image/jpeg":
            # The first frame header (markers C0 to CF, except for three with other meanings) has the size
            at = 2
            while data[:2] == b"\xff\xd8" and len(data) >= at + 9 and data[at] == 0xFF:
                if 0xC0 <= data[at + 1] <= 0xCF and data[at + 1] not in (0xC4, 0xC8, 0xCC):
                    return int.from_bytes(data[at + 7 : at + 9], "big"), int.from_bytes(data[at + 5 : at + 7], "big")
                at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
            return None
        case "image/webp" if len(data) >= 30 and data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            match data[12:16]:
                case b"VP8X":
                    return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
                case b"VP8L":
                    bits = int.from_bytes(data[21:25], "little")
                    return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
                case _:
                    return int.from_bytes(data[26:28], "little") & 0x3FFF, int.from_bytes(data[28:30], "little") & 0x3FFF
        case _:
            return None
