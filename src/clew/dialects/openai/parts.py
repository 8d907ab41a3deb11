"""What the system, users and tools say, as content parts of one of OpenAI's dialects; and files as clients send them.

Documents and search results become the text that they are. A document that is no text (a PDF) is sent as a file where the
backend takes files. Otherwise a text stands in its place, so that the model knows what it was not given; or the request is
refused, as the options say. The same holds for images. A loaded tool (`tool_reference`) is named in words; its definition is
among the tools.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterable
from typing import Final, Literal, Protocol, TypeAlias

from msgspec import Struct

from clew.dialects.openai.fields import BOOLEAN, Canonical, RawObject, RequestChanges, blocks_in, invalid
from clew.errors import Unrepresentable
from clew.model.json import JsonObject

Part: TypeAlias = dict[str, object]

Images: TypeAlias = Literal["take", "refuse", "omit"]
"""Images are sent; refused; or left out, with a text in their place (so that an old one does not end a conversation)."""

Documents: TypeAlias = Literal["file", "refuse", "omit"]
"""Documents that are no text (PDFs) are sent as files; refused; or left out, with a text in their place: a conversation that
once had one can still go on elsewhere."""

OMITTED: Final = "[An image was left out here: this model cannot see images.]"
OMITTED_DOCUMENT: Final = "[A document was left out here: this model cannot read it.]"
"""What stands where an image or a document was. Constant, so that a prefix with it stays stable."""
FAILED: Final = "Error: "
"""What a failed tool's text begins with."""

AS_TEXT = "a document is sent as its text"
RESULT_AS_TEXT = "a search result is sent as its text"
UNREAD = "this backend does not read documents of this kind"
BLIND = "this backend does not support images"
LOADED = "a loaded tool is named in a text; its definition is among the tools"
NO_FAILURE = f"a tool result has no such field in this API; its text begins with {FAILED!r}"

_WEB = ("http://", "https://", "data:")


class PartOptions(Protocol):
    """What a dialect's options say about images and documents; they explain themselves there."""

    @property
    def images(self) -> Images: ...
    @property
    def image_urls(self) -> bool: ...
    @property
    def documents(self) -> Documents: ...


class PartForms(Struct, frozen=True):
    """How a dialect writes a part."""

    text: Callable[[str], Part]
    image: Callable[[str], Part]
    """From a URL."""
    file: Callable[[str, str], Part]
    """From a name and a data URL."""


def media_apart(parts: Iterable[Part], call: str, forms: PartForms) -> tuple[list[Part], list[Part]]:
    """The parts of a tool's result as text only; and the images and files, for the next message, each under its number."""
    texts: list[Part] = []
    after: list[Part] = []
    for part in parts:
        if str(part["type"]).endswith("text"):
            texts.append(part)
            continue
        number, kind = len(after) // 2 + 1, "Image" if "image" in str(part["type"]) else "File"
        texts.append(forms.text(f"[{kind} {number} of this result follows in the next message.]"))
        after += [forms.text(f"[{kind} {number} of the result of tool call {call}:]"), part]
    return texts, after


class PartWriter(Struct, frozen=True, eq=False):
    """Writes the parts of one request."""

    forms: PartForms
    options: PartOptions
    changes: RequestChanges

    def parts_of(self, block: RawObject) -> list[Part]:
        """One block as the parts that say it. Raises Unrepresentable with its path."""
        match block.type:
            case "text":
                self.changes.leave_out_unknown(block.path, block.fields, {"type", "text"})
                return [self.forms.text(block.string("text"))]
            case "image":
                self.changes.leave_out_unknown(block.path, block.fields, {"type", "source"})
                if self.options.images == "refuse":
                    raise Unrepresentable(f"{block.path}: {BLIND}: take it out, or ask a model that can see")
                if self.options.images == "omit":
                    self.changes.add(block.path, "replaced", BLIND)
                    return [self.forms.text(OMITTED)]
                source = block.object("source")
                self.changes.leave_out_unknown(source.path, source.fields, {"type", "media_type", "data", "url"})
                return [self.forms.image(_data_url(source) if source.type == "base64" else self._image_url(source))]
            case "document":
                return self._document(block)
            case "search_result":
                self.changes.leave_out_unknown(block.path, block.fields, {"type", "source", "title", "content"})
                self.changes.add(block.path, "replaced", RESULT_AS_TEXT)
                heading = _heading("Search result", block.string("title"), block.string("source"))
                return [self.forms.text(heading), *self._parts_in(block)]
            case _:
                raise Unrepresentable(
                    f"{block.path}: a block of type {block.type!r} cannot be sent to this backend: "
                    "take it out, or ask a Claude model"
                )

    def result_parts(self, block: RawObject) -> list[Part]:
        """What a tool said, without whether it failed."""
        parts: list[Part] = []
        for each in blocks_in(block.fields.get("content"), f"{block.path}.content"):
            if each.type == "tool_reference":
                self.changes.leave_out_unknown(each.path, each.fields, {"type", "tool_name"})
                self.changes.add(each.path, "replaced", LOADED)
                parts.append(self.forms.text(f"Tool loaded: {each.string('tool_name')}"))
            else:
                parts += self.parts_of(each)
        return parts

    def with_failure(self, block: RawObject, parts: list[Part]) -> list[Part]:
        """The same, with a word in front for a tool that failed."""
        if not block.value("is_error", BOOLEAN):
            return parts
        self.changes.add(f"{block.path}.is_error", "replaced", NO_FAILURE)
        if parts and "text" in parts[0]:
            return [self.forms.text(f"{FAILED}{parts[0]['text']}"), *parts[1:]]
        return [self.forms.text(FAILED.rstrip()), *parts]

    def _parts_in(self, block: RawObject) -> list[Part]:
        """The parts for the blocks in an object's `content`."""
        found = blocks_in(block.fields.get("content"), f"{block.path}.content")
        return [part for each in found for part in self.parts_of(each)]

    def _document(self, block: RawObject) -> list[Part]:
        source, changes, text = block.object("source"), self.changes, self.forms.text
        changes.leave_out_unknown(block.path, block.fields, {"type", "source", "title", "context"})
        changes.leave_out_unknown(source.path, source.fields, {"type", "media_type", "data", "content", "url", "file_id"})
        heading = _heading("Document", block.string("title"), block.string("context"))
        if source.type == "text":
            changes.add(block.path, "replaced", AS_TEXT)
            return [text(f"{heading}\n{source.string('data')}")]
        if source.type == "content":
            changes.add(block.path, "replaced", AS_TEXT)
            return [text(heading), *self._parts_in(source)]
        if self.options.documents == "file" and source.type == "base64":
            return [text(heading), self.forms.file(block.string("title") or "document.pdf", _data_url(source))]
        if self.options.documents == "omit":
            changes.add(block.path, "replaced", UNREAD)
            return [text(heading), text(OMITTED_DOCUMENT)]
        raise Unrepresentable(f"{block.path}: {UNREAD}: send its text instead, or ask a model that can read it")

    def _image_url(self, source: RawObject) -> str:
        """A URL that the backend fetches, not clew. A server on this machine could open any file that it is told to."""
        if source.type != "url":
            raise Unrepresentable(
                f"{source.path}: an image of source type {source.type!r} cannot be sent to this backend: "
                "send it as base64 data"
            )
        if not self.options.image_urls:
            raise Unrepresentable(f"{source.path}: this backend takes images only as base64 data, not by URL")
        url = source.string("url")
        if not url.lower().startswith(_WEB):
            raise Unrepresentable(
                f"{source.path}.url: an image can be fetched from http:// and https:// only: send it as base64 data"
            )
        return url


def _heading(kind: str, title: str, more: str) -> str:
    return f"[{': '.join(filter(None, (kind, title)))}]" + (f"\n{more}" if more else "")


def _data_url(source: RawObject) -> str:
    return f"data:{source.string('media_type')};base64,{source.string('data')}"


_TEXT_TYPES: Final = frozenset({"application/json", "application/xml", "application/yaml", "application/x-yaml"})
"""Kinds of files that are text, beside all of `text/`."""
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
    title = file.string("filename")
    return {"type": "document", "source": _file_source(data[1], data[3]), **({"title": title} if title else {})}


def _file_source(kind: str, data: str) -> JsonObject:
    """A file that is text as its text: every model reads that. Bytes that are no text stay what they are."""
    if kind.lower().startswith("text/") or kind.lower() in _TEXT_TYPES:
        try:
            return {"type": "text", "media_type": "text/plain", "data": base64.b64decode(data, validate=True).decode()}
        except (binascii.Error, UnicodeDecodeError):
            pass
    return {"type": "base64", "media_type": kind or "application/pdf", "data": data}


BILLING: Final = "x-anthropic-billing-header:"
"""How the line begins that Claude Code puts before its system prompt: for Anthropic, and another in each conversation."""

FIT_SCHEMA: Final = "Answer with nothing but JSON that fits this JSON schema:"

NOT_OURS = "this line is for Anthropic's billing, and it would make this backend's prefix cache miss"
NOT_TEXT = "a system message holds only text"
AS_USER = "this backend takes a system message only at the start"


def prompt_blocks(parameters: RawObject, changes: RequestChanges) -> list[RawObject]:
    """The blocks of the system prompt, without the line that is not for this backend."""
    blocks: list[RawObject] = []
    for block in blocks_in(parameters.fields.get("system"), "system"):
        if block.string("text").startswith(BILLING):
            changes.leave_out(block.path, NOT_OURS)
        else:
            blocks.append(block)
    return blocks


class SchemaOptions(Protocol):
    """What a backend's options say about schemas of answers."""

    @property
    def schema(self) -> Literal["json_schema", "json_object", "none"]: ...


def schema_words(parameters: RawObject, options: SchemaOptions) -> str:
    """What the answer must fit, where the backend can be told only in words; "" where it is told otherwise, or there is no
    schema. Servers that promise any JSON refuse a prompt that does not speak of JSON."""
    form = parameters.object("output_config").object("format")
    if options.schema != "json_object" or "schema" not in form.fields:
        return ""
    return f"{FIT_SCHEMA}\n{bytes(form.fields['schema']).decode()}"


def text_blocks(blocks: Iterable[RawObject], changes: RequestChanges) -> list[RawObject]:
    """Those of the blocks that are text."""
    texts: list[RawObject] = []
    for block in blocks:
        if block.type == "text":
            texts.append(block)
        else:
            changes.leave_out(block.path, NOT_TEXT)
    return texts


def joined_text(blocks: Iterable[RawObject], changes: RequestChanges) -> str:
    """The texts of these blocks, one paragraph each."""
    texts: list[str] = []
    for block in text_blocks(blocks, changes):
        changes.leave_out_unknown(block.path, block.fields, {"type", "text"})
        texts.append(block.string("text"))
    return "\n\n".join(text for text in texts if text)


def as_user_text(text: str) -> str:
    """A system message where it can only be said by the user."""
    return f"<system-message>\n{text}\n</system-message>"
