"""Reasoning parts as thinking blocks, and where they may stand.

A front end shows reasoning as text; the API wants the block back that it gave, with its proof. So by default a part
becomes a thinking block only if its provider's metadata holds a signature that the target accepts, and otherwise is not
sent as thinking at all; and no signed block is ever moved. The documents' own rules (rename every part, put all thinking in
front) stay selectable: real Claude refuses what they make.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from clew.model.blocks import FILLER
from clew.model.json import JsonObject, JsonValue, object_of
from clew.pipeline.ui.structure import is_call, is_reasoning, is_thinking_part, parts_of, role_of, with_parts
from clew.thinking.seal import is_seal

Conversion: TypeAlias = Literal["signed", "rename"]
"""`signed`: only with a proof that the target accepts. `rename`: as documented, every part, text and all."""

ThinkingFirst: TypeAlias = Literal["keep", "reorder"]
"""`keep`: parts stay where they are. `reorder`: as documented, thinking in front of a message that calls tools."""

Accepts: TypeAlias = Callable[[str], bool]


def accepts_native(signature: str) -> bool:
    """Whether a signature may be the vendor's own: it is not empty, and no seal of clew."""
    return signature != "" and not is_seal(signature)


def convert_reasoning_to_thinking(
    messages: Sequence[JsonObject], *, mode: Conversion = "signed", accepts: Accepts = accepts_native
) -> list[JsonObject]:
    """The messages with reasoning as thinking. One without reasoning is the same object, and so is every other part."""
    converted: list[JsonObject] = []
    for message in messages:
        parts = parts_of(message)
        if parts is None or not any(is_reasoning(part) for part in parts):
            converted.append(message)
            continue
        kept: list[JsonValue] = []
        for part in parts:
            if not isinstance(part, dict) or not is_reasoning(part):
                kept.append(part)
            elif mode == "rename":
                kept.append({**part, "type": "thinking"})
            else:
                kept += _signed(part, accepts)
        converted.append(with_parts(message, kept or [{"type": "text", "text": FILLER}]))
    return converted


def _signed(part: JsonObject, accepts: Accepts) -> tuple[JsonObject, ...]:
    """The block as its maker gave it: text and signature, or redacted data; nothing without a proof that counts."""
    metadata = object_of(object_of(part.get("providerMetadata")).get("anthropic"))
    signature, data = metadata.get("signature"), metadata.get("redactedData")
    others = {key: value for key, value in part.items() if key not in ("type", "text")}
    if isinstance(data, str) and accepts(data):
        return ({"type": "redacted_thinking", "data": data, **others},)
    if isinstance(signature, str) and accepts(signature):
        return ({"type": "thinking", "thinking": part.get("text", ""), "signature": signature, **others},)
    return ()


def ensure_thinking_block_compliance(
    messages: Sequence[JsonObject], *, thinking_first: ThinkingFirst = "keep"
) -> list[JsonObject]:
    """The messages with thinking where `thinking_first` wants it. None is invented: see `lacks_leading_thinking`."""
    if thinking_first != "reorder":
        return list(messages)
    out: list[JsonObject] = []
    for message in messages:
        parts = parts_of(message) or []
        thinking = [part for part in parts if is_thinking_part(part)]
        if not _calls_tools(message) or not thinking or is_thinking_part(parts[0]):
            out.append(message)
        else:
            out.append(with_parts(message, thinking + [part for part in parts if not is_thinking_part(part)]))
    return out


def lacks_leading_thinking(messages: Sequence[JsonObject]) -> list[int]:
    """The assistant messages with tool calls that do not begin with thinking: manual mode is then not to be asked for."""
    return [
        index
        for index, message in enumerate(messages)
        if _calls_tools(message) and not is_thinking_part((parts_of(message) or [None])[0])
    ]


def _calls_tools(message: JsonObject) -> bool:
    return role_of(message) == "assistant" and any(is_call(part) for part in parts_of(message) or ())
