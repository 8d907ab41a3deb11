"""The parts of a client's messages as canonical blocks: texts, images, files, and the cache marks on them."""

from __future__ import annotations

from typing import Final

from clew.dialects.openai.fields import OBJECT, Canonical, RawObject, RequestChanges, invalid
from clew.dialects.openai.media import file_document, image_source
from clew.model.json import JsonObject

NO_DETAIL: Final = "the Messages API has no field for the detail of an image"

_MARKS: Final = ("cache_control", "prompt_cache_breakpoint")
_EPHEMERAL: Final[JsonObject] = {"type": "ephemeral"}


def read_part(part: RawObject, changes: RequestChanges) -> Canonical:
    """The block of a part. Raises RequestInvalid."""
    kind = part.type
    changes.leave_out_others(part, {"type", kind, *_MARKS})
    match kind:
        case "text" | "refusal":
            block: Canonical = {"type": "text", "text": part.string(kind)}
        case "image_url":
            image = part.object("image_url")
            changes.leave_out_others(image, {"url", "detail"})
            if image.string("detail") not in ("", "auto"):
                changes.add_to_group("image.detail", f"{image.path}.detail", "left out", NO_DETAIL)
            block = {"type": "image", "source": image_source(image.string("url"), f"{image.path}.url")}
        case "file":
            file = part.object("file")
            block = file_document(file)
            changes.leave_out_others(file, {"file_data", "filename"})
        case _:
            raise invalid(part.path, f"a part of type {kind!r} cannot be passed on: send text, image_url or file")
    if part.value("cache_control", OBJECT):
        return {**block, "cache_control": part.fields["cache_control"]}
    return {**block, "cache_control": _EPHEMERAL} if part.value("prompt_cache_breakpoint", OBJECT) else block
