"""What users and tools say, as content parts of Chat Completions, and tool messages made of them.

A tool message has no word for failure, so a failed result says so in its text. Most backends take only text in a tool
message: then each image leaves a numbered note where it stood, and follows in the user message after the tool messages,
under the same number and the id of its call.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final, NamedTuple

from clew.dialects.openai.fields import RawObject, RequestChanges
from clew.dialects.openai.parts import Part, PartForms, PartWriter, media_apart
from clew.dialects.openai_chat.options import ChatRequestOptions

ONLY_TEXT = "a tool message can only have text: images and files follow in a user message"
NINE = "this backend accepts only ids of nine letters and digits"

_NINE = re.compile(r"[a-zA-Z0-9]{9}")
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


class ToolMessage(NamedTuple):
    """A tool message, and the parts that have to follow it in a user message."""

    message: dict[str, object]
    after: list[Part]


def is_text(part: Part) -> bool:
    return part["type"] == "text"


FORMS: Final = PartForms(
    text=lambda text: {"type": "text", "text": text},
    image=lambda url: {"type": "image_url", "image_url": {"url": url}},
    file=lambda name, data: {"type": "file", "file": {"filename": name, "file_data": data}},
)


def content_parts(block: RawObject, options: ChatRequestOptions, changes: RequestChanges) -> list[Part]:
    """One block as the parts that say it. Raises Unrepresentable with its path."""
    return PartWriter(FORMS, options, changes).parts_of(block)


def tool_message(block: RawObject, options: ChatRequestOptions, changes: RequestChanges) -> ToolMessage:
    """One tool result."""
    changes.leave_out_unknown(block.path, block.fields, {"type", "tool_use_id", "content", "is_error"})
    call = call_id(block, "tool_use_id", options, changes)
    writer = PartWriter(FORMS, options, changes)
    parts = writer.result_parts(block)
    after: list[Part] = []
    if not options.tool_images:
        parts, after = media_apart(parts, call, FORMS)
    if after:
        changes.add(f"{block.path}.content", "moved", ONLY_TEXT)
    parts = writer.with_failure(block, parts)
    # A plain string wherever that says it all: not every server reads lists.
    content = "\n".join(str(part["text"]) for part in parts) if all(map(is_text, parts)) else parts
    return ToolMessage({"role": "tool", "tool_call_id": call, "content": content}, after)


def call_id(block: RawObject, key: str, options: ChatRequestOptions, changes: RequestChanges) -> str:
    """The id to send of a call or of a result. The same id always becomes the same one, so that the two still meet."""
    given = block.string(key)
    if options.call_ids == "kept" or _NINE.fullmatch(given):
        return given
    changes.add_to_group("call_ids", f"{block.path}.{key}", "replaced", NINE)
    number = int.from_bytes(hashlib.sha256(given.encode()).digest()[:8], "big")
    return "".join(_DIGITS[number // 62**place % 62] for place in range(9))
