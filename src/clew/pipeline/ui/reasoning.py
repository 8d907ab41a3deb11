"""Reasoning parts as thinking blocks, and where they may stand.

A front end shows reasoning as text; what the API wants back is the block that it gave, with its proof. So by default a part
becomes a thinking block only if its provider's metadata holds a signature that the target accepts, and otherwise is not
sent as thinking at all; and no signed block is ever moved. The documents' own rules (rename every part, put all thinking in
front) stay selectable: real Claude refuses what they make.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from clew.model.blocks import FILLER
from clew.model.json import JsonObject, JsonValue
from clew.pipeline.ui.parts import is_call, is_reasoning, is_thinking_part, parts_of, role_of, with_parts
from clew.thinking.seal import is_seal

__all__ = [
    "Conversion",
    "ThinkingFirst",
    "convert_reasoning_to_thinking",
    "ensure_thinking_block_compliance",
    "lacks_leading_thinking",
]

Conversion: TypeAlias = Literal["signed", "rename"]
"""`signed`: only with a proof that the target accepts. `rename`: as documented, every part, text and all."""

ThinkingFirst: TypeAlias = Literal["keep", "reorder"]
"""`keep`: parts stay where they are. `reorder`: as documented, thinking in front of a message that calls tools."""

Accepts: TypeAlias = Callable[[str], bool]


def accepts_native(signature: str) -> bool:
    """A signature that may be the vendor's own: there is one, and it is not our seal."""
    return signature != "" and not is_seal(signature)


def convert_reasoning_to_thinking(
    messages: Sequence[JsonObject], *, mode: Conversion = "signed", accepts: Accepts = accepts_native
) -> list[JsonObject]:
    """The messages with reasoning as thinking. One without reasoning is the same object, and so is every other part."""
    return [_converted(message, mode, accepts) for message in messages]


def _converted(message: JsonObject, mode: Conversion, accepts: Accepts) -> JsonObject:
    parts = parts_of(message)
    if parts is None or not any(is_reasoning(part) for part in parts):
        return message
    kept = [new for part in parts for new in _parts(part, mode, accepts)]
    return with_parts(message, kept or [{"type": "text", "text": FILLER}])


def _parts(part: JsonValue, mode: Conversion, accepts: Accepts) -> tuple[JsonValue, ...]:
    """What a part becomes; nothing for reasoning that may not be sent."""
    if not isinstance(part, dict) or not is_reasoning(part):
        return (part,)
    return ({**part, "type": "thinking"},) if mode == "rename" else _signed(part, accepts)


def _signed(part: JsonObject, accepts: Accepts) -> tuple[JsonObject, ...]:
    """The block as its maker gave it: text and signature, or redacted data; nothing without a proof that counts."""
    metadata = _maker(part)
    signature, data = metadata.get("signature"), metadata.get("redactedData")
    others = {key: value for key, value in part.items() if key not in ("type", "text")}
    if isinstance(data, str) and accepts(data):
        return ({"type": "redacted_thinking", "data": data, **others},)
    if isinstance(signature, str) and accepts(signature):
        return ({"type": "thinking", "thinking": part.get("text", ""), "signature": signature, **others},)
    return ()


def _maker(part: JsonObject) -> JsonObject:
    """What the maker noted: Anthropic's own entry in the provider metadata."""
    metadata = part.get("providerMetadata")
    own = metadata.get("anthropic") if isinstance(metadata, dict) else None
    return own if isinstance(own, dict) else {}


def ensure_thinking_block_compliance(
    messages: Sequence[JsonObject], *, thinking_first: ThinkingFirst = "keep"
) -> list[JsonObject]:
    """The messages with thinking where `thinking_first` wants it. None is invented: see `lacks_leading_thinking`."""
    return [_reordered(message) if thinking_first == "reorder" else message for message in messages]


def _reordered(message: JsonObject) -> JsonObject:
    parts = parts_of(message) or []
    if not _calls_tools(message) or is_thinking_part(parts[0]) or not any(is_thinking_part(part) for part in parts):
        return message
    thinking = [part for part in parts if is_thinking_part(part)]
    return with_parts(message, thinking + [part for part in parts if not is_thinking_part(part)])


def lacks_leading_thinking(messages: Sequence[JsonObject]) -> list[int]:
    """The assistant messages with tool calls that do not begin with thinking: manual mode is then not to be asked for."""
    return [
        index
        for index, message in enumerate(messages)
        if _calls_tools(message) and not is_thinking_part((parts_of(message) or [None])[0])
    ]


def _calls_tools(message: JsonObject) -> bool:
    return role_of(message) == "assistant" and any(is_call(part) for part in parts_of(message) or ())
