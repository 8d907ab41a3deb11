"""What users and tools say, as content parts of the Responses API; and outputs of tools made of them.

An output has no word for failure, so a failed one says so in its text. It may hold images and files, where the backend takes
them there. A mark of Anthropic's that says up to where a prompt is to be kept becomes OpenAI's, on the same part.
"""

from __future__ import annotations

import hashlib
from typing import Final, NamedTuple

from clew.dialects.openai.fields import RawObject, RequestChanges
from clew.dialects.openai.parameters import LONGEST_ID
from clew.dialects.openai.parts import Part, PartForms, PartWriter, media_apart
from clew.dialects.openai_responses.options import ResponsesOptions

ONLY_TEXT = "a tool output can only be text here: images and files follow in a user message"
TOO_LONG = "this backend accepts ids of at most 64 characters"
TOO_MANY = "this backend accepts fewer cache marks"

_BREAKPOINT: Final = {"mode": "explicit"}
_LONG_LIFE: Final = {"mode": "explicit", "ttl": "12h"}


class ToolOutput(NamedTuple):
    """What a tool gave, and the parts that have to follow it in a user message."""

    output: str | list[Part]
    after: list[Part]


FORMS: Final = PartForms(
    text=lambda text: {"type": "input_text", "text": text},
    image=lambda url: {"type": "input_image", "image_url": url},
    file=lambda name, data: {"type": "input_file", "filename": name, "file_data": data},
)


class InputPartWriter:
    """Writes the parts of one request."""

    def __init__(self, options: ResponsesOptions, changes: RequestChanges) -> None:
        self._options = options
        self._changes = changes
        self._parts = PartWriter(FORMS, options, changes)
        self._marks_left = options.cache_marks

    def parts_of(self, block: RawObject) -> list[Part]:
        """One block as the parts that say it. Raises Unrepresentable with its path."""
        plain, mark = self._split_mark(block)
        return self._with_mark(self._parts.parts_of(plain), mark)

    def output_of(self, block: RawObject, call: str) -> ToolOutput:
        """The result of this call."""
        plain, mark = self._split_mark(block)
        self._changes.leave_out_unknown(plain.path, plain.fields, {"type", "tool_use_id", "content", "is_error"})
        parts = self._parts.with_failure(plain, self._parts.result_parts(plain))
        after: list[Part] = []
        if not self._options.tool_images:
            parts, after = media_apart(parts, call, FORMS)
        if after:
            self._changes.add(f"{block.path}.content", "moved", ONLY_TEXT)
        if mark and parts:
            return ToolOutput(self._with_mark(parts, mark), after)
        # A plain string wherever that says it all: not every server reads lists.
        only_text = all(part["type"] == "input_text" for part in parts)
        return ToolOutput("\n".join(str(part["text"]) for part in parts) if only_text else parts, after)

    def _split_mark(self, block: RawObject) -> tuple[RawObject, Part | None]:
        """The block without its cache mark, and the mark; where the backend takes none, it is for others to report."""
        if not self._options.cache_marks or "cache_control" not in block.fields:
            return block, None
        rest = {key: value for key, value in block.fields.items() if key != "cache_control"}
        if not block.object("cache_control").fields:
            return RawObject(block.path, rest), None
        if not self._marks_left:
            self._changes.leave_out(f"{block.path}.cache_control", TOO_MANY)
            return RawObject(block.path, rest), None
        self._marks_left -= 1
        is_long = block.object("cache_control").string("ttl") == "1h"
        return RawObject(block.path, rest), dict(_LONG_LIFE if is_long else _BREAKPOINT)

    def _with_mark(self, parts: list[Part], mark: Part | None) -> list[Part]:
        if mark is None or not parts:
            return parts
        return [*parts[:-1], {**parts[-1], "prompt_cache_breakpoint": mark}]


def sent_id(given: str, path: str, changes: RequestChanges) -> str:
    """The id to send of a call or of a result. The same id always becomes the same one, so that the two still meet."""
    if len(given) <= LONGEST_ID:
        return given
    changes.add_to_group("call_ids", path, "replaced", TOO_LONG)
    return f"call_{hashlib.sha256(given.encode('utf-8', 'surrogatepass')).hexdigest()[:40]}"
