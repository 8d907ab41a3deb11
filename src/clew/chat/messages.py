"""Messages as an app keeps them: one plain value for every role, and the maker's own blocks beside the text.

`content` and `tool_calls` are for people and tools to read. `raw_content` is the model's answer, block by block, and the
only source of thinking that is sent back: text cannot become a signed block again. `origin` says who made it, so that
thinking goes only to models that can read it.

`format_response` makes a message of an answer of the Messages API. It keeps the blocks if text and calls could not be turned
into the same answer again: always with thinking, and also with a server's tools, citations, or text after a call.

`user_message` makes a message of what a user says: text, pictures, documents, results of tools. The marks of a compaction
are in the text itself, so they are wherever the text is, in exports too.
"""

from __future__ import annotations

import base64
import json
import mimetypes
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, Protocol, TypeAlias, cast, runtime_checkable

import msgspec
from msgspec import Struct

from clew.errors import BackendBroken, RequestInvalid
from clew.model.json import JsonObject, JsonValue, whole_text
from clew.model.origin import Origin, Target
from clew.pipeline.stream.answer import AnswerSoFar
from clew.pipeline.trailing_thinking import copied

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]


class ToolCall(Struct, frozen=True):
    """A call that a model made. `arguments` is the JSON text that the model wrote. If that is not a JSON object, `arguments`
    has the text as it is, or its beginning: such a call must not be run.

    >>> ToolCall(id="t1", name="weather", arguments='{"city": "Rome"}').name
    'weather'
    """

    id: str
    name: str
    arguments: str = "{}"


class Message(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message of a conversation, in the form in which it is stored and shown.

    A `tool` message answers the call `tool_call_id`. `raw_content` is a list of blocks where text and calls do not say all;
    on a user's or a tool's message it may hold pictures and the like. `to_json` and `from_json` lose nothing.

    >>> asked = Message(role="user", content="Why is the sky blue?")
    >>> asked.to_json()
    '{"role": "user", "content": "Why is the sky blue?"}'
    >>> Message.from_json(asked.to_json()) == asked
    True
    """

    role: Role
    content: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    is_error: bool = False
    """Of a tool message: the tool failed, and `content` says why."""
    raw_content: JsonValue = None
    origin: Origin | None = None
    """Who made it; None if that is not known."""
    stop_reason: str | None = None
    usage: JsonObject | None = None

    def to_json(self) -> str:
        """As JSON text, on one line. Raises RequestInvalid for what JSON cannot say."""
        try:
            return json.dumps(msgspec.to_builtins(self), allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise RequestInvalid(f"the message cannot be written as JSON: {error}") from None

    @classmethod
    def from_json(cls, text: str | bytes) -> Message:
        """The message that `to_json` wrote. Raises RequestInvalid."""
        try:
            return msgspec.convert(json.loads(text), cls)
        except (ValueError, RecursionError) as error:  # a wrong shape is a ValueError too
            raise RequestInvalid(f"this is not a message: {error}") from None


# Answers


@runtime_checkable
class SdkObject(Protocol):
    """An object of an Anthropic SDK, which can return its JSON."""

    def to_dict(self) -> dict[str, object]: ...


ObjectLike: TypeAlias = Mapping[str, object] | SdkObject
"""A JSON object, or an SDK's object for it."""


def object_from(value: object) -> JsonObject | None:
    """The JSON object of a value; None for any other value."""
    if isinstance(value, SdkObject):
        return cast("JsonObject", value.to_dict())
    return dict(cast("JsonObject", value)) if isinstance(value, Mapping) else None


def objects_from(values: object) -> list[JsonObject]:
    """The JSON objects in a list; none for any other value."""
    if not isinstance(values, list | tuple):
        return []
    found = (object_from(value) for value in cast("Iterable[object]", values))
    return [value for value in found if value is not None]


def format_response(response: ObjectLike | AnswerSoFar, *, target: Target | None = None) -> Message:
    """Convert the answer to a message to keep: its text, its tool calls, and its own blocks where they must be sent back
    unchanged.

    Takes the JSON of an answer, the `Message` of an Anthropic SDK, or an `Answer` of clew's. `target` is who gave it: with
    that noted, `format_messages` keeps thinking from those who cannot read it. Raises BackendBroken for what is no answer.

    >>> message = format_response(
    ...     {
    ...         "role": "assistant",
    ...         "content": [
    ...             {"type": "thinking", "thinking": "Blue scatters most.", "signature": "c2ln"},
    ...             {"type": "text", "text": "Because of scattering."},
    ...         ],
    ...         "stop_reason": "end_turn",
    ...     }
    ... )
    >>> message.content
    'Because of scattering.'
    >>> message.raw_content[0]["signature"]
    'c2ln'
    """
    if isinstance(response, AnswerSoFar):
        whole, blocks = copied(response.message), [copied(block) for block in response.blocks]
    else:
        given = object_from(response)
        if given is None or not isinstance(given.get("content"), list):
            raise BackendBroken("this is not an answer of the Messages API: it has no list of content blocks")
        whole, blocks = copied(given), [copied(block) for block in objects_from(given["content"])]
    texts = "".join(text for block in blocks if block.get("type") == "text" and (text := _text(block.get("text"))))
    calls = tuple(
        ToolCall(_text(block.get("id")), _text(block.get("name")), json.dumps(block.get("input", {}), ensure_ascii=False))
        for block in blocks
        if block.get("type") == "tool_use"
    )
    stop_reason, usage = whole.get("stop_reason"), whole.get("usage")
    return Message(
        role="assistant",
        content=texts or (None if calls else ""),
        tool_calls=calls,
        raw_content=None if _says_all(blocks) else [*blocks],
        origin=Origin(target.realm, target.backend, target.model, target.account) if target else None,
        stop_reason=stop_reason if isinstance(stop_reason, str) else None,
        usage=usage if isinstance(usage, dict) else None,
    )


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


_ORDER = ("text", "tool_use")
_USED = {"text": {"type", "text"}, "tool_use": {"type", "id", "name", "input"}}
_AS_ABSENT: tuple[JsonValue, ...] = (None, [], {"type": "direct"})
"""Values that mean as much as an absent field: no citations, a call that the model made itself."""


def _says_all(blocks: Sequence[JsonObject]) -> bool:
    """Can text and calls be turned into these blocks again: texts first, then calls, without other fields?"""
    types = [_text(block.get("type")) for block in blocks]
    if any(kind not in _ORDER for kind in types) or types != sorted(types, key=_ORDER.index):
        return False
    more = [
        value for kind, block in zip(types, blocks, strict=True) for name, value in block.items() if name not in _USED[kind]
    ]
    return all(value in _AS_ABSENT for value in more)


# The content of a user's message

Content: TypeAlias = str | Sequence[str | JsonObject]
"""Text, or blocks of the Messages API; a text among blocks is a text block."""
Output: TypeAlias = JsonValue | Exception
"""The output of a tool: text, blocks, any other value (which becomes JSON), or the exception that it raised."""
_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def image(path: str | Path) -> JsonObject:
    """Read an image file as a block: PNG, JPEG, GIF or WebP. Raises RequestInvalid for other kinds of files.

    >>> image("chart.txt")
    Traceback (most recent call last):
    ...
    clew.errors.RequestInvalid: chart.txt is not an image that models read (PNG, JPEG, GIF, WebP)
    """
    kind = mimetypes.guess_type(str(path))[0]
    if kind not in _IMAGES:
        raise RequestInvalid(f"{path} is not an image that models read (PNG, JPEG, GIF, WebP)")
    return {"type": "image", "source": _source(path, kind)}


def document(path: str | Path) -> JsonObject:
    """Read a PDF or a text file as a block. The name of a text file becomes the title. A text must be valid UTF-8 without
    zero bytes; its file extension does not matter. Raises RequestInvalid for other kinds of files.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     notes = Path(folder) / "notes.txt"
    ...     _ = notes.write_text("Buy milk.")
    ...     document(notes)["source"], document(notes)["title"]
    ({'type': 'text', 'media_type': 'text/plain', 'data': 'Buy milk.'}, 'notes.txt')
    """
    kind, title = mimetypes.guess_type(str(path))[0], Path(path).name
    if kind == "application/pdf":
        return {"type": "document", "source": _source(path, kind)}
    try:
        text = Path(path).read_bytes().decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise RequestInvalid(f"{path} is neither a PDF nor a text")
    return {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": text}, "title": title}


def _source(path: str | Path, kind: str) -> JsonObject:
    data = base64.b64encode(Path(path).read_bytes()).decode("ascii")
    return {"type": "base64", "media_type": kind, "data": data}


def user_message(content: Content) -> bytes:
    """The message that is stored and sent. Raises RequestInvalid if it is empty, or cannot be written as JSON."""
    if not content:
        raise RequestInvalid("the content is empty: there is nothing to send")
    if isinstance(content, Mapping):  # its keys would be taken for texts
        raise RequestInvalid("a single block is not a content: put it into a list")
    blocks: list[object] = []
    for part in () if isinstance(content, str) else cast("Sequence[object]", content):
        if not isinstance(part, str | Mapping):
            raise RequestInvalid(f"the content consists of texts and blocks, and this is neither: {part!r}")
        blocks.append({"type": "text", "text": part} if isinstance(part, str) else cast(JsonObject, part))
    try:
        return msgspec.json.encode({"role": "user", "content": blocks or content})
    except (TypeError, ValueError, RecursionError) as error:
        raise RequestInvalid(f"the content cannot be written as JSON: {error}") from None


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


def blocks_in(message: JsonObject) -> list[JsonObject]:
    """The blocks of a message; a content that is a string is one text."""
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


# The marks of a compaction

_REQUEST_TAG: Final = "summary-request"
_SUMMARY_TAG: Final = "conversation-summary"
REQUEST: Final = _REQUEST_TAG.encode()
"""Every message that asks for a summary has these bytes."""
_SUMMARY_OF: Final = re.compile(rf'<{_SUMMARY_TAG} of="([^"]*)">')


def marked_request(words: str) -> str:
    """The text of a message that asks for a summary."""
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
