"""What a user says: words, pictures, documents, and the results of tools."""

from __future__ import annotations

import base64
import json
import mimetypes
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias, cast

import msgspec

from clew.errors import RequestInvalid
from clew.model.json import JsonObject, JsonValue, whole_text

__all__ = ["Content", "Output", "document", "image", "result_block", "user_message"]

Content: TypeAlias = str | Sequence[str | JsonObject]
"""Words, or blocks as the Messages API has them; words among blocks are text blocks."""

Output: TypeAlias = JsonValue | Exception
"""What a tool gave: text, blocks, any other value (which becomes JSON), or the exception that it failed with."""

_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def image(path: str | Path) -> JsonObject:
    """A picture in a file as a block: PNG, JPEG, GIF or WebP. Raises RequestInvalid for another kind.

    >>> image("chart.txt")
    Traceback (most recent call last):
    ...
    clew.errors.RequestInvalid: chart.txt is no picture that models take: PNG, JPEG, GIF, WebP
    """
    kind = mimetypes.guess_type(str(path))[0]
    if kind not in _IMAGES:
        raise RequestInvalid(f"{path} is no picture that models take: PNG, JPEG, GIF, WebP")
    return {"type": "image", "source": _source(path, kind)}


def document(path: str | Path) -> JsonObject:
    """A PDF in a file as a block. Raises RequestInvalid for another kind.

    >>> document("notes.docx")
    Traceback (most recent call last):
    ...
    clew.errors.RequestInvalid: notes.docx is no PDF
    """
    kind = mimetypes.guess_type(str(path))[0]
    if kind != "application/pdf":
        raise RequestInvalid(f"{path} is no PDF")
    return {"type": "document", "source": _source(path, kind)}


def _source(path: str | Path, kind: str) -> JsonObject:
    data = base64.b64encode(Path(path).read_bytes()).decode("ascii")
    return {"type": "base64", "media_type": kind, "data": data}


def user_message(content: Content) -> bytes:
    """The message that is kept and sent. Raises RequestInvalid if there is nothing in it, or nothing that can be said."""
    if not content:
        raise RequestInvalid("there is nothing to say: the content is empty")
    if isinstance(content, Mapping):  # what a block is made of would be taken for words
        raise RequestInvalid("a block alone is no content: put it into a list")
    said = content if isinstance(content, str) else [*map(_block, content)]
    try:
        return msgspec.json.encode({"role": "user", "content": said})
    except (TypeError, ValueError, RecursionError) as error:
        raise RequestInvalid(f"the content cannot be written as JSON: {error}") from None


def _block(part: object) -> object:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if not isinstance(part, Mapping):
        raise RequestInvalid(f"the content is words and blocks, and this is neither: {part!r}")
    return cast(JsonObject, part)


def result_block(call: str, output: Output) -> JsonObject:
    """What a tool gave for a call."""
    if isinstance(output, Exception):
        words = whole_text(str(output)) or type(output).__name__  # names of files hold bytes that are no text
        return {"type": "tool_result", "tool_use_id": call, "content": words, "is_error": True}
    return {"type": "tool_result", "tool_use_id": call, "content": _content(output)}


def _content(output: JsonValue) -> JsonValue:
    if isinstance(output, str) or _is_blocks(output):
        return output
    try:
        return json.dumps(output, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise RequestInvalid(f"a tool's result cannot be written as JSON: {error}") from None


def _is_blocks(output: JsonValue) -> bool:
    return isinstance(output, list) and bool(output) and all(isinstance(each, Mapping) and "type" in each for each in output)
