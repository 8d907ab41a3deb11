"""An answer before it is written: its blocks, whole and in deltas (R66), and the numbers at its end.

`AnswerBlock` keeps both forms of a block side by side, because they differ in the cases that matter: a cut tool call has no
stop event, an omitted thought has an empty delta, a redacted one has none. The functions at the end say where an answer is
cut short: by `max_tokens` (R66) and by a stop sequence (R15).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import msgspec

from clew.model.json import JsonObject, JsonValue
from clew.simulator.faults import FaultSpec
from clew.simulator.script import Pause, SendEvent, SendPings


@dataclass(frozen=True, slots=True)
class AnswerBlock:
    """A content block of an answer, with the deltas that stream it."""

    block: JsonObject
    """The whole block, as the client is to send it back."""
    start: JsonObject
    """The block in its start event."""
    deltas: tuple[JsonObject, ...] = ()
    closed: bool = True
    """Whether there is a stop event."""


AnswerItem: TypeAlias = AnswerBlock | Pause | SendPings | SendEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer:
    """The model's answer to one request, before a dialect writes it."""

    items: tuple[AnswerItem, ...]
    stop_reason: str
    stop_sequence: str | None = None
    stop_details: JsonObject | None = None
    output_tokens: int = 0
    thinking_tokens: int = 0
    usage: Mapping[str, int] = field(default_factory=dict[str, int])
    """Numbers of the scenario, in place of the counted ones."""
    padding: int = 0
    faults: tuple[FaultSpec, ...] = ()

    @property
    def content(self) -> list[JsonObject]:
        return [item.block for item in self.items if isinstance(item, AnswerBlock)]


# Blocks.


def whole_block(block: JsonObject) -> AnswerBlock:
    """A block that is complete in its start event."""
    return AnswerBlock(block, block)


def text_block(text: str, chunk: int) -> AnswerBlock:
    return AnswerBlock(
        block={"type": "text", "text": text},
        start={"type": "text", "text": ""},
        deltas=tuple({"type": "text_delta", "text": part} for part in _parts(text, chunk)),
    )


def thinking_block(
    shown: str, signature: str | None, chunk: int, *, empty_delta: bool, estimated_tokens: int | None = None
) -> AnswerBlock:
    """One signature_delta just before the end; none if the block was cut before it was signed.

    A signature of None is for vendors whose blocks have no such key.
    """
    parts = _parts(shown, chunk) or ([""] if empty_delta else [])
    deltas: list[JsonObject] = [{"type": "thinking_delta", "thinking": part} for part in parts]
    if deltas and estimated_tokens is not None:
        deltas[-1]["estimated_tokens"] = estimated_tokens
    if signature:
        deltas.append({"type": "signature_delta", "signature": signature})
    signed: JsonObject = {} if signature is None else {"signature": signature}
    return AnswerBlock(
        block={"type": "thinking", "thinking": shown, **signed},
        start={"type": "thinking", "thinking": "", **dict.fromkeys(signed, "")},
        deltas=tuple(deltas),
    )


def tool_use_block(id_: str, name: str, input_: JsonObject, chunk: int, *, closed: bool = True) -> AnswerBlock:
    """The first partial_json is empty. A call that was cut ends with its last complete member and has no stop event."""
    text = msgspec.json.encode(input_).decode()
    if not closed:
        text = text.removesuffix("}").removesuffix("{")
    parts = [""] if text == "{}" else ["", *_parts(text, chunk)]
    head: JsonObject = {"type": "tool_use", "id": id_, "name": name}
    caller: JsonObject = {"type": "direct"}
    return AnswerBlock(
        block={**head, "input": input_, "caller": caller},
        start={**head, "input": {}, "caller": caller},
        deltas=tuple({"type": "input_json_delta", "partial_json": part} for part in parts),
        closed=closed,
    )


def _parts(text: str, size: int) -> list[str]:
    return [text[place : place + size] for place in range(0, len(text), size)]


# Cuts.


def text_up_to(text: str, budget: int) -> str:
    """The part of a text that fits a budget of tokens, whole characters only."""
    return text.encode("utf-8", "surrogatepass")[: budget * 4].decode("utf-8", "ignore")


def text_up_to_sequence(text: str, sequences: Sequence[str]) -> tuple[str, str | None]:
    """The text before the first stop sequence in it, and that sequence."""
    found = [(place, sequence) for sequence in sequences if (place := text.find(sequence)) >= 0]
    if not found:
        return text, None
    place, sequence = min(found)
    return text[:place], sequence


def input_up_to(value: JsonObject, budget: int) -> JsonObject:
    """The members of a tool's input that are complete within a budget of tokens."""
    kept: JsonObject = {}
    size = 1  # an object has one more brace or comma than it has members
    for key, member in value.items():
        size += len(msgspec.json.encode({key: member})) - 1
        if size > budget * 4:
            break
        kept[key] = member
    return kept


def input_up_to_sequence(value: JsonObject, sequences: Sequence[str]) -> tuple[JsonObject, str | None]:
    """A tool's input, cut inside the first string with a stop sequence. The members after it are left out."""
    kept: JsonObject = {}
    for key, member in value.items():
        kept[key], sequence = _member_up_to(member, sequences)
        if sequence is not None:
            return kept, sequence
    return kept, None


def _member_up_to(member: JsonValue, sequences: Sequence[str]) -> tuple[JsonValue, str | None]:
    if isinstance(member, str):
        return text_up_to_sequence(member, sequences)
    if isinstance(member, dict):
        return input_up_to_sequence(member, sequences)
    if isinstance(member, list):
        kept: list[JsonValue] = []
        for value in member:
            shorter, sequence = _member_up_to(value, sequences)
            kept.append(shorter)
            if sequence is not None:
                return kept, sequence
    return member, None
