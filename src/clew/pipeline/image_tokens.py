"""About how many tokens an image costs: by its size in pixels, which stands in its first bytes.

Vendors scale an image down to what the model sees and then count areas; the rule here is Anthropic's, and the others are
not far from it. An image that cannot be measured (a link, an unknown format) costs what a screenshot costs.
"""

from __future__ import annotations

import binascii
import struct
from typing import Final

__all__ = ["image_tokens", "size_of"]

USUAL: Final = 1200
"""Tokens of an image of unknown size."""

_AREA: Final = 750
"""Pixels to a token."""
_LONGEST: Final = 1568
_MOST: Final = 1600
_HEAD: Final = 1 << 17
"""Characters of base64 that are looked at: a JPEG may have a preview before it says how large it is."""


def image_tokens(base64: str) -> int:
    """The tokens of an image that is here as data."""
    size = size_of(_head(base64))
    if size is None:
        return USUAL
    width, height = size
    scale = min(1.0, _LONGEST / max(width, height, 1))
    return max(1, min(_MOST, round(width * scale * height * scale / _AREA)))


def size_of(head: bytes) -> tuple[int, int] | None:
    """Width and height of a PNG, GIF, WebP or JPEG; None for anything else, or if they are not among these bytes."""
    if head.startswith(b"\x89PNG") and len(head) >= 24:
        return _two(">II", head, 16)
    if head.startswith(b"GIF8") and len(head) >= 10:
        return _two("<HH", head, 6)
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP" and len(head) >= 30:
        return _webp(head)
    return _jpeg(head) if head.startswith(b"\xff\xd8") else None


def _head(base64: str) -> bytes:
    """The first bytes; none if it is no base64."""
    try:
        return binascii.a2b_base64(base64[: min(_HEAD, len(base64) // 4 * 4)])
    except (binascii.Error, ValueError):
        return b""


def _two(layout: str, head: bytes, at: int) -> tuple[int, int]:
    first, second = struct.unpack_from(layout, head, at)
    return int(first), int(second)


def _webp(head: bytes) -> tuple[int, int] | None:
    kind = head[12:16]
    if kind == b"VP8 ":
        width, height = _two("<HH", head, 26)
        return width & 0x3FFF, height & 0x3FFF
    if kind == b"VP8L":
        bits = int.from_bytes(head[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8X":
        return int.from_bytes(head[24:27], "little") + 1, int.from_bytes(head[27:30], "little") + 1
    return None


def _jpeg(head: bytes) -> tuple[int, int] | None:
    """From segment to segment, up to the one that begins the picture."""
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        marker = head[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = _two(">HH", head, at + 5)
            return width, height
        at += 2 + int.from_bytes(head[at + 2 : at + 4], "big")
    return None
