"""What users and tools say, as content parts: texts, images, files, and tool messages made of them.

Documents and search results become the text that they are. A document that is no text (a PDF) is sent as a file where the
backend takes files. Otherwise a text stands in its place, so that the model knows what it was not given; or the request is
refused, as the options say. The same holds for images.

A tool message has no word for failure, so a failed result says so in its text. Most backends take only text in a tool
message: then each image leaves a numbered note where it stood, and follows in the user message after the tool messages,
under the same number and the id of its call. A loaded tool (`tool_reference`) is named in words; its definition is among
the tools.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Final, NamedTuple, TypeAlias

from clew.dialects.openai.fields import BOOLEAN, RawObject, RequestChanges, blocks_in
from clew.dialects.openai_chat.options import ChatRequestOptions
from clew.errors import Unrepresentable

Part: TypeAlias = dict[str, object]

OMITTED: Final = "[An image was left out here: this model cannot see images.]"
OMITTED_DOCUMENT: Final = "[A document was left out here: this model cannot read it.]"
"""What stands where an image or a document was. Constant, so that a prefix with it stays stable."""
FAILED: Final = "Error: "
"""What a failed tool's text begins with."""

AS_TEXT = "a document is sent as its text"
RESULT_AS_TEXT = "a search result is sent as its text"
UNREAD = "this backend does not read documents of this kind"
BLIND = "this backend does not take images"
ONLY_TEXT = "a tool message takes only text: images and files follow in a user message"
LOADED = "a loaded tool is named in words; its definition is among the tools"
NINE = "this backend takes only ids of nine letters and digits"

_WEB = ("http://", "https://", "data:")
_NINE = re.compile(r"[a-zA-Z0-9]{9}")
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


class ToolMessage(NamedTuple):
    """A tool message, and the parts that have to follow it in a user message."""

    message: dict[str, object]
    after: list[Part]


def is_text(part: Part) -> bool:
    return part["type"] == "text"


def content_parts(block: RawObject, options: ChatRequestOptions, changes: RequestChanges) -> list[Part]:
    """One block as the parts that say it. Raises Unrepresentable with its path."""
    match block.type:
        case "text":
            changes.leave_out_unknown(block.path, block.fields, {"type", "text"})
            return [_text(block.string("text"))]
        case "image":
            return [_image(block, options, changes)]
        case "document":
            return _document(block, options, changes)
        case "search_result":
            changes.leave_out_unknown(block.path, block.fields, {"type", "source", "title", "content"})
            changes.add(block.path, "replaced", RESULT_AS_TEXT)
            heading = _heading("Search result", block.string("title"), block.string("source"))
            return [_text(heading), *_parts_in(block, options, changes)]
        case _:
            raise Unrepresentable(
                f"{block.path}: a block of type {block.type!r} cannot be sent to this backend: "
                "take it out, or ask a Claude model"
            )


def _text(text: str) -> Part:
    return {"type": "text", "text": text}


def _parts_in(block: RawObject, options: ChatRequestOptions, changes: RequestChanges) -> list[Part]:
    """The parts for the blocks in an object's `content`."""
    found = blocks_in(block.fields.get("content"), f"{block.path}.content")
    return [part for each in found for part in content_parts(each, options, changes)]


def _heading(kind: str, title: str, more: str) -> str:
    return f"[{': '.join(filter(None, (kind, title)))}]" + (f"\n{more}" if more else "")


def _document(block: RawObject, options: ChatRequestOptions, changes: RequestChanges) -> list[Part]:
    source = block.object("source")
    changes.leave_out_unknown(block.path, block.fields, {"type", "source", "title", "context"})
    changes.leave_out_unknown(source.path, source.fields, {"type", "media_type", "data", "content", "url", "file_id"})
    heading = _heading("Document", block.string("title"), block.string("context"))
    if source.type == "text":
        changes.add(block.path, "replaced", AS_TEXT)
        return [_text(f"{heading}\n{source.string('data')}")]
    if source.type == "content":
        changes.add(block.path, "replaced", AS_TEXT)
        return [_text(heading), *_parts_in(source, options, changes)]
    if options.documents == "file" and source.type == "base64":
        file = {"filename": block.string("title") or "document.pdf", "file_data": _data_url(source)}
        return [_text(heading), {"type": "file", "file": file}]
    if options.documents == "omit":
        changes.add(block.path, "replaced", UNREAD)
        return [_text(heading), _text(OMITTED_DOCUMENT)]
    raise Unrepresentable(f"{block.path}: {UNREAD}: send its text instead, or ask a model that can read it")


def _data_url(source: RawObject) -> str:
    return f"data:{source.string('media_type')};base64,{source.string('data')}"


def _image(block: RawObject, options: ChatRequestOptions, changes: RequestChanges) -> Part:
    """The image, or a text in its place if the options say so."""
    changes.leave_out_unknown(block.path, block.fields, {"type", "source"})
    if options.images == "refuse":
        raise Unrepresentable(f"{block.path}: {BLIND}: take it out, or ask a model that can see")
    if options.images == "omit":
        changes.add(block.path, "replaced", BLIND)
        return _text(OMITTED)
    source = block.object("source")
    changes.leave_out_unknown(source.path, source.fields, {"type", "media_type", "data", "url"})
    url = _data_url(source) if source.type == "base64" else _image_url(source, options)
    return {"type": "image_url", "image_url": {"url": url}}


def _image_url(source: RawObject, options: ChatRequestOptions) -> str:
    """A URL that the backend fetches, not clew. A server on this machine could open any file that it is told to."""
    if source.type != "url":
        raise Unrepresentable(
            f"{source.path}: an image of source type {source.type!r} cannot be sent to this backend: send it as base64 data"
        )
    if not options.image_urls:
        raise Unrepresentable(f"{source.path}: this backend takes images only as base64 data, not by URL")
    url = source.string("url")
    if not url.lower().startswith(_WEB):
        raise Unrepresentable(
            f"{source.path}.url: an image can be fetched from http:// and https:// only: send it as base64 data"
        )
    return url


def tool_message(block: RawObject, options: ChatRequestOptions, changes: RequestChanges) -> ToolMessage:
    """One tool result."""
    changes.leave_out_unknown(block.path, block.fields, {"type", "tool_use_id", "content", "is_error"})
    call = call_id(block, "tool_use_id", options, changes)
    found = blocks_in(block.fields.get("content"), f"{block.path}.content")
    parts: list[Part] = []
    for each in found:
        if each.type == "tool_reference":
            changes.leave_out_unknown(each.path, each.fields, {"type", "tool_name"})
            changes.add(each.path, "replaced", LOADED)
            parts.append(_text(f"Tool loaded: {each.string('tool_name')}"))
        else:
            parts += content_parts(each, options, changes)
    after: list[Part] = []
    if not options.tool_images:
        parts = _without_images(parts, call, after)
        if after:
            changes.add(f"{block.path}.content", "moved", ONLY_TEXT)
    if block.value("is_error", BOOLEAN):
        why = f"a tool message has no such field; its text begins with {FAILED!r}"
        changes.add(f"{block.path}.is_error", "replaced", why)
        if parts and is_text(parts[0]):
            parts = [_text(f"{FAILED}{parts[0]['text']}"), *parts[1:]]
        else:
            parts = [_text(FAILED.rstrip()), *parts]
    # A plain string wherever that says it all: not every server reads lists.
    content = "\n".join(str(part["text"]) for part in parts) if all(map(is_text, parts)) else parts
    return ToolMessage({"role": "tool", "tool_call_id": call, "content": content}, after)


def _without_images(parts: Iterable[Part], call: str, after: list[Part]) -> list[Part]:
    """The parts as text only; images and files are added to `after`, each under its number."""
    texts: list[Part] = []
    for part in parts:
        if is_text(part):
            texts.append(part)
            continue
        number, kind = len(after) // 2 + 1, "Image" if part["type"] == "image_url" else "File"
        texts.append(_text(f"[{kind} {number} of this result follows in the next message.]"))
        after += [_text(f"[{kind} {number} of the result of tool call {call}:]"), part]
    return texts


def call_id(block: RawObject, key: str, options: ChatRequestOptions, changes: RequestChanges) -> str:
    """The id to send of a call or of a result. The same id always becomes the same one, so that the two still meet."""
    given = block.string(key)
    if options.call_ids == "kept" or _NINE.fullmatch(given):
        return given
    changes.add_to_group("call_ids", f"{block.path}.{key}", "replaced", NINE)
    number = int.from_bytes(hashlib.sha256(given.encode()).digest()[:8], "big")
    return "".join(_DIGITS[number // 62**place % 62] for place in range(9))
