"""Messages as an app keeps them: one plain value for every role, and the maker's own blocks beside the text.

`content` and `tool_calls` are for people and tools to read. `raw_content` is the model's answer, block by block, and the
only source of thinking that is sent back: text cannot become a signed block again. `origin` says who made it, so that
thinking goes only to models that can read it.

`format_response` makes a message of an answer of the Messages API. It keeps the blocks if text and calls could not be turned
into the same answer again: always with thinking, and also with a server's tools, citations, or text after a call.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, Protocol, TypeAlias, TypedDict, cast, runtime_checkable

import msgspec
from msgspec import Struct

from clew.errors import BackendBroken, RequestInvalid
from clew.model.blocks import THINKING_TYPES
from clew.model.json import JsonObject, JsonValue
from clew.model.origin import Origin, Target
from clew.pipeline.builder import copied
from clew.pipeline.stream.answer import AnswerSoFar

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]


class ToolCall(Struct, frozen=True):
    """A call that a model made. `arguments` is the JSON text that the model wrote. If that is no JSON object, `arguments`
    has the text as it is, or its beginning: such a call must not be run.

    >>> ToolCall(id="t1", name="weather", arguments='{"city": "Rome"}').name
    'weather'
    """

    id: str
    name: str
    arguments: str = "{}"


class Message(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message of a conversation, as it is kept and shown.

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
            raise RequestInvalid(f"this is no message: {error}") from None


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
    """The answer as a message to keep: its text, its tool calls, and its own blocks where they must go back as they came.

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
            raise BackendBroken("this is no answer of the Messages API: it has no list of content blocks")
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


# Thinking


class ThinkingBlock(TypedDict, total=False):
    """The part of a thinking block that can be shown. It has no signature, and is never sent."""

    type: Literal["thinking", "redacted_thinking"]
    content: str
    hidden: bool
    """The maker signed the block and does not show its text."""


def extract_thinking_blocks(raw_content: object) -> list[ThinkingBlock]:
    """The thinking blocks among these blocks, in order. What is no list of blocks has none.

    Takes `Message.raw_content`, the content of an answer, or the SDK's blocks. Redacted thinking has nothing to read; a
    block that its maker signed and left empty is `hidden`.

    >>> extract_thinking_blocks([
    ...     {"type": "thinking", "thinking": "Blue scatters most.", "signature": "c2ln"},
    ...     {"type": "redacted_thinking", "data": "ZGF0YQ"},
    ...     {"type": "text", "text": "Because of scattering."},
    ... ])
    [{'type': 'thinking', 'content': 'Blue scatters most.'}, {'type': 'redacted_thinking'}]
    """
    return [_thinking_block(block) for block in objects_from(raw_content) if block.get("type") in THINKING_TYPES]


def _thinking_block(block: JsonObject) -> ThinkingBlock:
    if block["type"] == "redacted_thinking":
        return {"type": "redacted_thinking"}
    text = block.get("thinking")
    if not isinstance(text, str):
        return {"type": "thinking"}
    visible: ThinkingBlock = {"type": "thinking", "content": text}
    return {**visible, "hidden": True} if not text and block.get("signature") else visible
