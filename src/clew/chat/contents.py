"""The content of a user's message: text, pictures, documents, results of tools, and the marks of a compaction.

A compaction is recognised by marks in the text itself, so they are wherever the text is, in exports too.
"""

from __future__ import annotations

import base64
import json
import mimetypes
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias, cast

import msgspec

from clew.errors import RequestInvalid
from clew.model.json import JsonObject, JsonValue, whole_text

Content: TypeAlias = str | Sequence[str | JsonObject]
"""Text, or blocks of the Messages API; a text among blocks is a text block."""

Output: TypeAlias = JsonValue | Exception
"""The output of a tool: text, blocks, any other value (which becomes JSON), or the exception that it raised."""

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
    """The message that is stored and sent. Raises RequestInvalid if it is empty, or cannot be written as JSON."""
    if not content:
        raise RequestInvalid("there is nothing to say: the content is empty")
    if isinstance(content, Mapping):  # its keys would be taken for texts
        raise RequestInvalid("a block alone is no content: put it into a list")
    blocks = content if isinstance(content, str) else [*map(_block, content)]
    try:
        return msgspec.json.encode({"role": "user", "content": blocks})
    except (TypeError, ValueError, RecursionError) as error:
        raise RequestInvalid(f"the content cannot be written as JSON: {error}") from None


def _block(part: object) -> object:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if not isinstance(part, Mapping):
        raise RequestInvalid(f"the content is words and blocks, and this is neither: {part!r}")
    return cast(JsonObject, part)


def result_block(call: str, output: Output) -> JsonObject:
    """The result of a call. Raises RequestInvalid for an output that cannot be written as JSON."""
    result: JsonObject = {"type": "tool_result", "tool_use_id": call}
    if isinstance(output, Exception):
        words = whole_text(str(output)) or type(output).__name__  # file names can have bytes that are no text
        return {**result, "content": words, "is_error": True}
    has_blocks = isinstance(output, list) and all(isinstance(each, Mapping) and "type" in each for each in output)
    if isinstance(output, str) or (output and has_blocks):
        return {**result, "content": output}
    try:
        return {**result, "content": json.dumps(output, ensure_ascii=False, allow_nan=False)}
    except (TypeError, ValueError, RecursionError) as error:
        raise RequestInvalid(f"a tool's result cannot be written as JSON: {error}") from None


# The marks of a compaction

_REQUEST_TAG: Final = "summary-request"
_SUMMARY_TAG: Final = "conversation-summary"
REQUEST: Final = _REQUEST_TAG.encode()
"""Every message that asks for a summary has these bytes."""
_SUMMARY_OF: Final = re.compile(rf'<{_SUMMARY_TAG} of="([^"]*)">')


def marked_request(words: str) -> str:
    """A question for a summary."""
    return f"<{_REQUEST_TAG}>\n{words}\n</{_REQUEST_TAG}>"


def marked_summary(words: str, turn: str) -> str:
    """A summary of the conversation up to a turn."""
    return f'<{_SUMMARY_TAG} of="{turn}">\n{words}\n</{_SUMMARY_TAG}>'


def asks_for_summary(asked: Iterable[JsonObject]) -> bool:
    return any(text.startswith(f"<{_REQUEST_TAG}>") for text in _texts_in(asked))


def summarised_turn(asked: Iterable[JsonObject]) -> str:
    """The last turn that a summary in these messages replaces; "" if there is no summary."""
    return next((found[1] for text in _texts_in(asked) if (found := _SUMMARY_OF.match(text))), "")


def _texts_in(asked: Iterable[JsonObject]) -> Iterable[str]:
    contents = (message.get("content") for message in asked)
    blocks = (block for content in contents if isinstance(content, list) for block in content if isinstance(block, dict))
    return (text for block in blocks if isinstance(text := block.get("text"), str))
