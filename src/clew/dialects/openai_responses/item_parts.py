"""What an item of the input says, as canonical blocks: texts, images, files, thoughts and calls.

The proof of a thought is its `encrypted_content`. A seal of clew's stands there as it was given. Anything else is a vendor's
own, from before clew: the block then carries the whole item where others have a signature (`model.blocks.signature_of`), so
that it can go back to a backend of this dialect, and means nothing to any other.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec
from msgspec import Raw

from clew.dialects.openai.fields import OBJECT, OBJECTS, Canonical, RawObject, RequestChanges, blocks_in, invalid
from clew.dialects.openai.parameters import legal_id
from clew.dialects.openai.parts import file_document, image_source
from clew.dialects.openai_responses.detail import DIALECT_NAME
from clew.dialects.openai_responses.tools import ToolNames
from clew.model.blocks import signature_of
from clew.model.json import JsonObject, JsonValue, text_of

NO_DETAIL = "only OpenAI's models have a field for the detail of an image"
BROKEN = "the arguments are not a JSON object: they are passed on as a text inside one"
UNREADABLE = "only the backend that made it can read it"

_TEXTS: Final = {"input_text": "text", "output_text": "text", "text": "text", "summary_text": "text", "refusal": "refusal"}
"""The member that holds the text, by the type of a part."""
_MEMBERS: Final = {
    **{kind: frozenset({"type", member, "prompt_cache_breakpoint"}) for kind, member in _TEXTS.items()},
    "input_image": frozenset({"type", "image_url", "file_id", "detail", "prompt_cache_breakpoint"}),
    "input_file": frozenset({"type", "file_data", "file_url", "file_id", "filename", "detail", "prompt_cache_breakpoint"}),
}
"""What is read of a part, by its type."""
_SEAL: Final = re.compile(r"clew\d+\.")
_LONG_LIFE: Final = "12h"
_any: Final[msgspec.json.Decoder[JsonValue]] = msgspec.json.Decoder()


def content_blocks(holder: RawObject, key: str, changes: RequestChanges) -> list[Canonical]:
    """The content of a message, or the output of a tool: a string, or parts."""
    found: list[Canonical] = []
    for part in blocks_in(holder.fields.get(key), f"{holder.path}.{key}"):
        if part.type == "encrypted_content":
            changes.leave_out(part.path, UNREADABLE)
        else:
            block = _part_block(part, changes)
            mark = part.object("prompt_cache_breakpoint")
            if mark.fields:
                is_long = mark.string("ttl") == _LONG_LIFE
                block["cache_control"] = {"type": "ephemeral", "ttl": "1h"} if is_long else {"type": "ephemeral"}
            found.append(block)
    return found


def _part_block(part: RawObject, changes: RequestChanges) -> Canonical:
    if part.type not in _MEMBERS:
        raise invalid(part.path, f"a part of type {part.type!r} cannot be passed on: send text, images or files")
    changes.leave_out_others(part, _MEMBERS[part.type])
    if member := _TEXTS.get(part.type):
        return {"type": "text", "text": part.string(member)}
    if part.string("detail") not in ("", "auto"):
        changes.add_to_group("detail", f"{part.path}.detail", "left out", NO_DETAIL)
    if part.type == "input_image":
        return {"type": "image", "source": _image_source(part)}
    # A file at the vendor: nobody else can read it, and its backend then says so.
    title: Canonical = {"title": part.string("filename")} if part.string("filename") else {}
    if file := part.string("file_id"):
        return {"type": "document", "source": {"type": "file", "file_id": file}, **title}
    if url := part.string("file_url"):
        return {"type": "document", "source": {"type": "url", "url": url}, **title}
    return file_document(part)


def _image_source(part: RawObject) -> JsonObject:
    if file := part.string("file_id"):
        return {"type": "file", "file_id": file}
    if not (url := part.string("image_url")):
        raise invalid(f"{part.path}.image_url", "Field required")
    return image_source(url, f"{part.path}.image_url")


def thinking_block(item: RawObject) -> Canonical | None:
    """The thought that a reasoning item brings back; None for one that says nothing."""
    text, proof = thought_text(item), item.string("encrypted_content")
    if proof and not _SEAL.match(proof):
        whole: JsonObject = {key: _any.decode(raw) for key, raw in item.fields.items()}
        proof = signature_of({"dialect": DIALECT_NAME, "item": whole})
    return {"type": "thinking", "thinking": text, "signature": proof} if text or proof else None


def thought_text(item: RawObject) -> str:
    """The summary, one paragraph for each part; without one, the thought itself."""
    for key in ("summary", "content"):
        parts = [RawObject("", part).string("text") for part in item.value(key, OBJECTS) or []]
        if text := "\n\n".join(filter(None, parts)):
            return text
    return ""


def call_block(item: RawObject, names: ToolNames, changes: RequestChanges) -> Canonical:
    """A call of a function or of a custom tool."""
    name = item.string("name")
    if not name:
        raise invalid(f"{item.path}.name", "Field required")
    given = {"input": item.string("input")} if item.type == "custom_tool_call" else _arguments(item, changes)
    named = names.find(item.string("namespace"), name)
    return {"type": "tool_use", "id": call_id(item, changes), "name": named, "input": given}


def _arguments(item: RawObject, changes: RequestChanges) -> object:
    """As they are written. What is no object is what a model wrote: to refuse it would end the conversation for good."""
    text = item.string("arguments").strip()
    try:
        is_object = not text or isinstance(_any.decode(text), dict)
    except (msgspec.DecodeError, RecursionError):
        is_object = False
    if is_object:
        return Raw(text.encode() or b"{}")
    changes.add_to_group("arguments", f"{item.path}.arguments", "replaced", BROKEN)
    return {"arguments": text_of(text)}


def call_id(item: RawObject, changes: RequestChanges) -> str:
    """The id of a call or of its output."""
    given = item.string("call_id")
    if not given:
        raise invalid(f"{item.path}.call_id", "Field required")
    return legal_id(given, f"{item.path}.call_id", changes)


def effort_of(item: RawObject) -> str:
    """The effort that a `configuration_update` sets from here on; "" for none."""
    return item.object("reasoning").string("effort") if item.value("reasoning", OBJECT) else ""
