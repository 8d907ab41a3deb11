"""Files in a UI message as blocks: pictures, PDFs and plain text, as data or by an address, which nobody here fetches."""

from __future__ import annotations

import base64
import binascii
from typing import Final
from urllib.parse import unquote_to_bytes

from clew.errors import RequestInvalid
from clew.model.json import JsonObject

__all__ = ["file_block"]

_PICTURES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
_PDF: Final = "application/pdf"


def file_block(part: JsonObject) -> JsonObject:
    """The block of a file part. Raises RequestInvalid for a kind that models do not take.

    >>> file_block({"type": "file", "mediaType": "image/png", "url": "https://example.org/a.png"})
    {'type': 'image', 'source': {'type': 'url', 'url': 'https://example.org/a.png'}}
    """
    kind, url = str(part.get("mediaType") or ""), str(part.get("url") or "")
    if url.startswith("data:"):
        return _inline(kind or url[5:].partition(";")[0].partition(",")[0], url)
    if not url.startswith(("https://", "http://")):
        raise RequestInvalid("a file needs a url: a data URL, or an address that the vendor can fetch", path="messages")
    return {"type": _block_type(kind), "source": {"type": "url", "url": url}}


def _inline(kind: str, url: str) -> JsonObject:
    data = _bytes(url)
    if kind.startswith("text/"):
        text = data.decode("utf-8", "replace")
        return {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": text}}
    source: JsonObject = {"type": "base64", "media_type": kind, "data": base64.b64encode(data).decode("ascii")}
    return {"type": _block_type(kind), "source": source}


def _block_type(kind: str) -> str:
    if kind in _PICTURES or kind == "image/*":
        return "image"
    if kind == _PDF:
        return "document"
    raise RequestInvalid(f"a file of type {kind[:50]!r} cannot be sent: PNG, JPEG, GIF, WebP, PDF or text", path="messages")


def _bytes(url: str) -> bytes:
    head, _, data = url.partition(",")
    if not head.endswith(";base64"):
        return unquote_to_bytes(data)
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise RequestInvalid("a file's data URL is not base64", path="messages") from None
