"""Images and files that come with a client's request, as canonical blocks."""

from __future__ import annotations

import re
from typing import Final

from clew.dialects.openai.fields import Canonical, RawObject, invalid
from clew.model.json import JsonObject

_DATA_URL: Final = re.compile(r"data:([^;,]*)((?:;[^;,]+)*),(.*)", re.DOTALL)


def image_source(url: str, path: str) -> JsonObject:
    """A URL as the source of an image; one that holds the data itself becomes that data."""
    data = _DATA_URL.fullmatch(url)
    if data is None:
        if not url.lower().startswith(("http://", "https://")):
            raise invalid(path, "an image is a URL of http:// or https://, or a data: URL")
        return {"type": "url", "url": url}
    if ";base64" not in data[2].lower():
        raise invalid(path, "a data: URL must be base64")
    return {"type": "base64", "media_type": data[1] or "image/png", "data": data[3]}


def file_document(file: RawObject) -> Canonical:
    """A file that comes with the request. One that lies at the vendor can be read by nobody else."""
    url = file.string("file_data")
    if not url:
        raise invalid(
            file.path,
            "only a file with file_data can be passed on: other backends do not have a file that is stored at the vendor",
        )
    data = _DATA_URL.fullmatch(url)
    if data is None or ";base64" not in data[2].lower():
        raise invalid(f"{file.path}.file_data", "it must be a data: URL with base64")
    source: JsonObject = {"type": "base64", "media_type": data[1] or "application/pdf", "data": data[3]}
    title = file.string("filename")
    return {"type": "document", "source": source, **({"title": title} if title else {})}
