"""Reasoning parts as thinking blocks, and where they may stand.

A front end shows reasoning as text; the API wants the block back that it gave, with its proof. So by default a part
becomes a thinking block only if it holds a signature that the target accepts, and otherwise is not sent as thinking at all.
Other rules can be selected: rename every part, and put thinking in front. Claude refuses thinking without a signature,
whatever its name and place. A signed block is never moved, in no mode: its maker may check what comes before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from clew.model.blocks import FILLER
from clew.model.json import JsonObject, JsonValue, object_of, text_of
from clew.pipeline.step import ThinkingFirst
from clew.pipeline.ui.structure import is_call, is_reasoning, is_thinking_part, parts_of, role_of, with_parts
from clew.thinking.seal import is_seal

Conversion: TypeAlias = Literal["signed", "all", "rename"]
"""`signed`: only parts with a proof that the target accepts. `all`: every part with a text or such a proof, with the API's
fields; the signature is empty where there is none. `rename`: every part gets the type `thinking` and keeps its fields."""

Accepts: TypeAlias = Callable[[str], bool]
"""Says whether a target may accept this signature."""


def accepts_native(signature: str) -> bool:
    """Whether a signature may be the vendor's own: it is not empty, and no seal of clew."""
    return signature != "" and not is_seal(signature)


def proofs_in(part: JsonObject) -> tuple[str, str]:
    """The signature and the redacted data that a part carries: in its own fields, as the API has them, or in its provider's.
    "" for each that it lacks."""
    fields = [part]
    for key in ("providerMetadata", "providerOptions"):
        fields.append(object_of(object_of(part.get(key)).get("anthropic")))
    signature = next(filter(None, (text_of(each.get("signature")) for each in fields)), "")
    data = next(filter(None, (text_of(each.get(name)) for each in fields for name in ("data", "redactedData"))), "")
    return signature, data


def convert_reasoning_to_thinking(
    messages: Sequence[JsonObject], *, mode: Conversion = "signed", accepts: Accepts = accepts_native
) -> list[JsonObject]:
    """Return the messages with reasoning parts as thinking. A message without reasoning is the same object, and so is every
    other part.

    >>> part = {"type": "reasoning", "text": "Hm.", "providerMetadata": {"anthropic": {"signature": "c2ln"}}}
    >>> [message] = convert_reasoning_to_thinking([{"id": "1", "role": "assistant", "parts": [part]}])
    >>> message["parts"][0]["type"], message["parts"][0]["thinking"], message["parts"][0]["signature"]
    ('thinking', 'Hm.', 'c2ln')
    >>> unsigned = {"role": "assistant", "parts": [{"type": "reasoning", "text": "Hm."}]}
    >>> convert_reasoning_to_thinking([unsigned], mode="rename")
    [{'role': 'assistant', 'parts': [{'type': 'thinking', 'text': 'Hm.'}]}]
    """
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
                kept += _thinking_of(part, accepts, unsigned=mode == "all")
        converted.append(with_parts(message, kept or [{"type": "text", "text": FILLER}]))
    return converted


def _thinking_of(part: JsonObject, accepts: Accepts, *, unsigned: bool) -> tuple[JsonObject, ...]:
    """The block as its maker gave it: text and signature, or redacted data. Without a proof that counts there is none, or
    (`unsigned`) the text with an empty signature."""
    signature, data = proofs_in(part)
    others = {key: value for key, value in part.items() if key not in ("type", "text", "signature")}
    if data and accepts(data):
        return ({"type": "redacted_thinking", "data": data, **others},)
    is_proven = bool(signature) and accepts(signature)
    if is_proven or (unsigned and part.get("text")):
        text = part.get("text", "")
        return ({"type": "thinking", "thinking": text, "signature": signature if is_proven else "", **others},)
    return ()


def ensure_thinking_block_compliance(
    messages: Sequence[JsonObject], *, thinking_first: ThinkingFirst = "keep"
) -> list[JsonObject]:
    """Return the messages with thinking at the place that `thinking_first` asks for. No thinking is invented: see
    `lacks_leading_thinking`.

    With `keep` nothing is moved. With `reorder` thinking comes first in a message that calls tools; but a message with a
    signed thinking part stays as it is.

    >>> parts = [{"type": "text", "text": "I look."}, {"type": "thinking", "text": "Hm."}, {"type": "tool-call"}]
    >>> [message] = ensure_thinking_block_compliance([{"role": "assistant", "parts": parts}], thinking_first="reorder")
    >>> [part["type"] for part in message["parts"]]
    ['thinking', 'text', 'tool-call']
    """
    if thinking_first != "reorder":
        return list(messages)
    out: list[JsonObject] = []
    for message in messages:
        parts = parts_of(message) or []
        thinking = [part for part in parts if is_thinking_part(part)]
        if not _calls_tools(message) or not thinking or is_thinking_part(parts[0]) or any(map(_is_signed, thinking)):
            out.append(message)
        else:
            out.append(with_parts(message, thinking + [part for part in parts if not is_thinking_part(part)]))
    return out


def lacks_leading_thinking(messages: Sequence[JsonObject]) -> list[int]:
    """Return the indices of the assistant messages that call tools and do not begin with thinking. If there are any, do not
    request thinking with a budget: the API would refuse it.

    >>> lacks_leading_thinking([{"role": "assistant", "parts": [{"type": "tool-call", "toolCallId": "c1"}]}])
    [0]
    """
    return [
        index
        for index, message in enumerate(messages)
        if _calls_tools(message) and not is_thinking_part((parts_of(message) or [None])[0])
    ]


def _calls_tools(message: JsonObject) -> bool:
    return role_of(message) == "assistant" and any(is_call(part) for part in parts_of(message) or ())


def _is_signed(part: JsonValue) -> bool:
    return isinstance(part, dict) and any(proofs_in(part))
