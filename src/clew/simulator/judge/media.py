"""Images and PDFs: their size, whether they are what they say, and how many pages (R64)."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from clew.model.json import JsonObject
from clew.simulator.judge.case import Case
from clew.simulator.judge.findings import Finding
from clew.simulator.judge.image_size import image_size
from clew.simulator.judge.values import array, inner, string

__all__ = ["check_media"]

_MOST_BYTES: Final = 5 * 1024 * 1024
_MANY_IMAGES: Final = 20
_MOST_PIXELS: Final = 2000
_MOST_PAGES: Final = 100
_PAGE: Final = re.compile(rb"/Type\s*/Page(?![s\w])")


@dataclass(frozen=True, slots=True)
class Medium:
    """An image or a document with its data inside the request."""

    path: str
    kind: str
    media_type: str
    data: str


def check_media(case: Case) -> Iterator[Finding]:
    media = [*_media(case)]
    images = [medium for medium in media if medium.kind == "image"]
    for image in images:
        yield from _image(image, many=len(images) > _MANY_IMAGES)
    pages = sum(_pages(medium) for medium in media if medium.media_type == "application/pdf")
    if pages > _MOST_PAGES:
        yield Finding("R64.pdf-pages")


def _media(case: Case) -> Iterator[Medium]:
    """Everything with a base64 source, directly in a message or inside a tool result."""
    for message in case.messages:
        for block in message.blocks:
            yield from _medium(block.path, block.value)
            if block.type == "tool_result":
                for index, nested in enumerate(array(block.value.get("content"))):
                    yield from _medium(f"{block.path}.tool_result.content.{index}", inner(nested))


def _medium(path: str, block: JsonObject) -> Iterator[Medium]:
    kind, source = string(block.get("type")), inner(block.get("source"))
    if kind in ("image", "document") and source.get("type") == "base64":
        where = f"{path}.{kind}.source.base64"
        yield Medium(where, kind, string(source.get("media_type")), string(source.get("data")))


def _image(image: Medium, *, many: bool) -> Iterator[Finding]:
    if len(image.data) > _MOST_BYTES:
        yield Finding("R64.image-too-large", image.path, {"bytes": len(image.data)})
        return
    size = image_size(_decoded(image.data), image.media_type)
    if size is None:
        yield Finding("R64.image-unreadable", f"{image.path}.data")
    elif many and max(size) > _MOST_PIXELS:
        yield Finding("R64.image-dimensions", f"{image.path}.data")


def _pages(document: Medium) -> int:
    """Page objects that can be counted without a PDF reader; those in compressed streams are not seen."""
    return len(_PAGE.findall(_decoded(document.data)))


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data.encode(), validate=True)
    except (binascii.Error, ValueError):
        return b""
